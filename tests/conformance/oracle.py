"""Triton, serving the models of `asks`, through nvidia-pytriton. Runs in an environment of its own.

    python oracle.py FOLDER PORT

`FOLDER` holds mlp.onnx. Prints "ready", and serves until its standard input ends.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
from pytriton.decorators import batch
from pytriton.model_config import ModelConfig, Tensor
from pytriton.triton import Triton, TritonConfig, TritonSecurityConfig

_TYPES: dict[str, Any] = {
    "BOOL": np.bool_,
    "UINT8": np.uint8,
    "UINT16": np.uint16,
    "UINT32": np.uint32,
    "UINT64": np.uint64,
    "INT8": np.int8,
    "INT16": np.int16,
    "INT32": np.int32,
    "INT64": np.int64,
    "FP16": np.float16,
    "FP32": np.float32,
    "FP64": np.float64,
    "BYTES": np.bytes_,
}


def main(folder: Path, port: int) -> None:
    session = onnxruntime.InferenceSession(folder / "mlp.onnx")

    @batch
    def mlp(x: Any) -> Any:
        return {"y": session.run(None, {"x": x})[0]}

    def two(requests: Any) -> Any:
        feeds = [request.data for request in requests]
        return [{"total": f["a"] + f["b"], "product": f["a"] * f["b"]} for f in feeds]

    def identity(requests: Any) -> Any:
        return [{"y": request.data["x"]} for request in requests]

    config = TritonConfig(http_port=port, grpc_port=port + 1, metrics_port=port + 2, http_address="127.0.0.1")
    with Triton(config=config, security_config=TritonSecurityConfig(restricted_endpoints=[])) as triton:
        vector = {"dtype": np.float32, "shape": (-1,)}
        alone = ModelConfig(batching=False)
        triton.bind(
            model_name="mlp",
            infer_func=mlp,
            inputs=[Tensor(name="x", dtype=np.float32, shape=(16,))],
            outputs=[Tensor(name="y", dtype=np.float32, shape=(4,))],
            config=ModelConfig(max_batch_size=32),
        )
        triton.bind(
            model_name="two",
            infer_func=two,
            inputs=[Tensor(name="a", **vector), Tensor(name="b", **vector)],
            outputs=[Tensor(name="total", **vector), Tensor(name="product", **vector)],
            config=alone,
        )
        for name, dtype in _TYPES.items():
            triton.bind(
                model_name=f"identity_{name}",
                infer_func=identity,
                inputs=[Tensor(name="x", dtype=dtype, shape=(-1,))],
                outputs=[Tensor(name="y", dtype=dtype, shape=(-1,))],
                config=alone,
            )
        triton.run()
        print("ready", flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
