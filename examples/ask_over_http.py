"""Asks a model that `hotlap serve` serves, with Triton's client.

    pip install 'tritonclient[http]==2.73.0' 'protobuf<7'
    hotlap serve model.onnx                                  # in another terminal
    python examples/ask_over_http.py 127.0.0.1:8000 model

Works for every model whose inputs are numbers: it makes up an input of each shape that the model declares.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import tritonclient.http as triton
from tritonclient.utils import triton_to_np_dtype


def made_up(tensor: Any) -> Any:
    """An array for an input; axes of any size get one row."""
    shape = [1 if size < 0 else size for size in tensor["shape"]]
    return np.ones(shape, triton_to_np_dtype(tensor["datatype"]))


def main(address: str, model: str) -> None:
    with triton.InferenceServerClient(address) as client:
        declared = client.get_model_metadata(model)
        inputs = []
        for tensor in declared["inputs"]:
            array = made_up(tensor)
            inputs.append(triton.InferInput(tensor["name"], list(array.shape), tensor["datatype"]))
            inputs[-1].set_data_from_numpy(array)  # as bytes: numbers as text are slow to read
        answer = client.infer(model, inputs)
        for tensor in declared["outputs"]:
            print(tensor["name"], answer.as_numpy(tensor["name"]).tolist())
        counted = client.get_inference_statistics(model)["model_stats"][0]["inference_stats"]
        print("answered so far:", counted["success"]["count"])


if __name__ == "__main__":
    main(*sys.argv[1:])
