"""A large tensor in and out over two ways, in turn: ``tensors.py PORT MODEL FEED.npz SECONDS``.

Over HTTP as binary tensors, and through shared memory of the system; both by tritonclient, from an array to
an array, the copy into the shared memory included. Prints the p50 of each in seconds.
"""

import json
import sys
import uuid
from time import perf_counter

import numpy as np
import tritonclient.http as triton
import tritonclient.utils.shared_memory as shared

port, model, feeds, seconds = sys.argv[1:]
x = np.load(feeds)["x"]
expected = np.maximum(x, 0)
client = triton.InferenceServerClient(f"127.0.0.1:{port}")
key = f"/hotlap-{uuid.uuid4().hex[:12]}"
region = shared.create_shared_memory_region("tensors", key, 2 * x.nbytes)


def over_http():
    tensor = triton.InferInput("x", x.shape, "FP32")
    tensor.set_data_from_numpy(x, binary_data=True)
    wanted = triton.InferRequestedOutput("y", binary_data=True)
    return client.infer(model, [tensor], outputs=[wanted]).as_numpy("y")


def through_memory():
    shared.set_shared_memory_region(region, [x])
    tensor = triton.InferInput("x", x.shape, "FP32")
    tensor.set_shared_memory("tensors", x.nbytes)
    wanted = triton.InferRequestedOutput("y")
    wanted.set_shared_memory("tensors", x.nbytes, offset=x.nbytes)
    client.infer(model, [tensor], outputs=[wanted])
    return shared.get_contents_as_numpy(region, np.float32, x.shape, offset=x.nbytes)


def measured(span):
    found = {over_http: [], through_memory: []}
    end = perf_counter() + span
    while perf_counter() < end:
        for way in found:
            for _ in range(20):
                start = perf_counter()
                way()
                found[way].append(perf_counter() - start)
    return [float(np.median(times)) for times in found.values()]


try:
    client.register_system_shared_memory("tensors", key, 2 * x.nbytes)
    for way in (over_http, through_memory):
        assert np.array_equal(way(), expected), way.__name__
    measured(float(seconds) / 3)
    http_s, memory_s = measured(float(seconds))
    print(json.dumps({"http_s": http_s, "memory_s": memory_s}))
finally:
    client.unregister_system_shared_memory("tensors")
    shared.destroy_shared_memory_region(region)
