"""Hands over tensors in shared memory to a model that `hotlap serve` serves on this machine (Linux).

    pip install 'tritonclient[http]==2.73.0' 'protobuf<7'
    hotlap serve model.onnx                                  # in another terminal
    python examples/ask_over_shared_memory.py 127.0.0.1:8000 model

For a model with one input x and one output y of numbers. Nothing but names and offsets goes over the socket.
"""

from __future__ import annotations

import os
import sys

import numpy as np
import tritonclient.http as triton
import tritonclient.utils.shared_memory as shm

ROWS = 8


def main(address: str, model: str) -> None:
    with triton.InferenceServerClient(address) as client:
        declared = client.get_model_metadata(model)
        source, target = declared["inputs"][0], declared["outputs"][0]
        x = np.ones([ROWS, *source["shape"][1:]], np.float32)
        y_shape = [ROWS, *target["shape"][1:]]
        y_size = 4 * int(np.prod(y_shape))

        # One region for both: the input, and behind it room for the answer.
        name = f"example-{os.getpid()}"
        region = shm.create_shared_memory_region(name, f"/{name}", x.nbytes + y_size)
        try:
            client.register_system_shared_memory(name, f"/{name}", x.nbytes + y_size)
            shm.set_shared_memory_region(region, [x])
            given = triton.InferInput(source["name"], list(x.shape), "FP32")
            given.set_shared_memory(name, x.nbytes)
            wanted = triton.InferRequestedOutput(target["name"])
            wanted.set_shared_memory(name, y_size, offset=x.nbytes)
            client.infer(model, [given], outputs=[wanted])
            y = shm.get_contents_as_numpy(region, np.float32, y_shape, offset=x.nbytes)
            print(target["name"], y.tolist())
        finally:
            client.unregister_system_shared_memory(name)
            shm.destroy_shared_memory_region(region)


if __name__ == "__main__":
    main(*sys.argv[1:])
