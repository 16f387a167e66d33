"""Makes the models beside this file: two small encoders, each by both of PyTorch's exporters.

    pip install torch onnxscript
    python tests/passes/exported/make.py

`torch_layers` is ``torch.nn.TransformerEncoder``; `by_hand` spells attention, normalisation and Gelu out as
the first BERTs did. Weights are seeded: torch 2.13.0 and onnxscript 0.7.2 made the files that are here.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import onnx
import torch
from torch import nn

HERE = Path(__file__).parent
WORDS, WIDTH, HEADS, LAYERS = 50, 64, 4, 2


class TorchLayers(nn.Module):
    """ids, mask: int64[rows, length]; 0 in the mask: padding."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(WORDS, WIDTH)
        layer = nn.TransformerEncoderLayer(WIDTH, HEADS, 2 * WIDTH, activation="gelu", batch_first=True)
        self.layers = nn.TransformerEncoder(layer, LAYERS, enable_nested_tensor=False)
        for weight in self.layers.parameters():  # it copies one layer: all would be equal
            nn.init.normal_(weight, std=0.2)

    def forward(self, ids: Any, mask: Any) -> Any:
        return self.layers(self.words(ids), src_key_padding_mask=mask == 0)


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.query, self.key, self.value, self.out = (nn.Linear(WIDTH, WIDTH) for _ in range(4))
        self.norm = nn.LayerNorm(WIDTH)

    def split(self, x: Any) -> Any:
        return x.view(x.shape[0], x.shape[1], HEADS, WIDTH // HEADS).permute(0, 2, 1, 3)

    def forward(self, x: Any, far: Any) -> Any:
        query, key, value = (self.split(one(x)) for one in (self.query, self.key, self.value))
        scores = query @ key.transpose(-1, -2) / math.sqrt(WIDTH // HEADS) + far
        mixed = (scores.softmax(-1) @ value).permute(0, 2, 1, 3).contiguous()
        return self.norm(self.out(mixed.view(x.shape[0], x.shape[1], WIDTH)) + x)


class Feed(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.wide, self.narrow = nn.Linear(WIDTH, 2 * WIDTH), nn.Linear(2 * WIDTH, WIDTH)
        self.norm = nn.LayerNorm(WIDTH)

    def forward(self, x: Any) -> Any:
        wide = self.wide(x)
        return self.norm(self.narrow(wide * 0.5 * (1.0 + torch.erf(wide / math.sqrt(2.0)))) + x)


class ByHand(nn.Module):
    """ids, mask: int64[rows, length]; 0 in the mask: padding."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(WORDS, WIDTH), nn.Embedding(32, WIDTH)
        self.norm = nn.LayerNorm(WIDTH)
        self.layers = nn.ModuleList(nn.ModuleList((Attention(), Feed())) for _ in range(LAYERS))

    def forward(self, ids: Any, mask: Any) -> Any:
        far = (1.0 - mask[:, None, None, :].to(torch.float32)) * -10000.0
        places = torch.arange(ids.shape[1], device=ids.device)
        x = self.norm(self.words(ids) + self.places(places)[None])
        for attention, feed in self.layers:
            x = feed(attention(x, far))
        return x


def export(name: str, module: nn.Module) -> None:
    """By the exporter that traces (``legacy``) and by the one that captures (``dynamo``)."""
    given = (torch.randint(0, WORDS, (3, 7)), torch.ones(3, 7, dtype=torch.int64))
    names: dict[str, Any] = {"input_names": ["ids", "mask"], "output_names": ["y"]}
    axes = {0: "rows", 1: "length"}
    legacy = {"ids": axes, "mask": axes, "y": axes}
    torch.onnx.export(
        module,
        given,
        HERE / f"{name}_legacy.onnx",
        dynamo=False,
        opset_version=17,
        dynamic_axes=legacy,
        **names,
    )
    rows, length = torch.export.Dim("rows"), torch.export.Dim("length")
    shapes = ({0: rows, 1: length}, {0: rows, 1: length})
    torch.onnx.export(
        module, given, HERE / f"{name}_dynamo.onnx", dynamo=True, external_data=False, dynamic_shapes=shapes,
        **names,
    )  # fmt: skip
    without_traces(HERE / f"{name}_dynamo.onnx")


def without_traces(path: Path) -> None:
    """Leave out what the exporter notes about this very machine: paths of Python files."""
    model = onnx.load(path)
    for part in (*model.graph.node, *model.graph.value_info, *model.graph.input, *model.graph.output):
        del part.metadata_props[:]
    del model.graph.metadata_props[:]
    onnx.save(model, path)


def main() -> None:
    torch.backends.mha.set_fastpath_enabled(False)
    for name, kind in (("torch_layers", TorchLayers), ("by_hand", ByHand)):
        torch.manual_seed(0)
        export(name, kind().eval())


if __name__ == "__main__":
    main()
