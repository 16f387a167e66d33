"""Tensors in system shared memory by tritonclient; prints what it was told, as JSON."""

import json
import os
import sys

import numpy as np
import tritonclient.http as http
import tritonclient.utils.shared_memory as shm
from tritonclient.utils import InferenceServerException, serialize_byte_tensor


def main(client):
    told = {}
    x = np.linspace(-2, 2, 48, dtype=np.float32).reshape(3, 16)
    key = f"/hotlap-client-{os.getpid()}"
    region = shm.create_shared_memory_region("data", key, x.nbytes + 1024)
    try:
        client.unregister_system_shared_memory()
        client.unregister_cuda_shared_memory()
        shm.set_shared_memory_region(region, [x])
        client.register_system_shared_memory("data", key, x.nbytes + 1024)
        told["status"] = client.get_system_shared_memory_status()
        told["status of one"] = client.get_system_shared_memory_status("data")
        told["key"] = key

        source = http.InferInput("x", [3, 16], "FP32")
        source.set_shared_memory("data", x.nbytes)
        target = http.InferRequestedOutput("y")
        target.set_shared_memory("data", 48, offset=x.nbytes)
        told["answer"] = client.infer("mlp", [source], outputs=[target]).get_response()
        read = shm.get_contents_as_numpy(region, np.float32, [3, 4], offset=x.nbytes)
        told["in shared memory"] = read.tobytes().hex()
        told["input left as it was"] = bool(
            (shm.get_contents_as_numpy(region, np.float32, [3, 16]) == x).all()
        )
        told["input there, output in the reply"] = client.infer("mlp", [source]).as_numpy("y").tobytes().hex()
        told["texts"] = texts(client, region, x.nbytes + 256)

        target.set_shared_memory("data", 16, offset=x.nbytes)
        told["no room"] = refused(lambda: client.infer("mlp", [source], outputs=[target]))
        os.truncate(f"/dev/shm{key}", 64)
        told["cut short"] = refused(lambda: client.infer("mlp", [source]))
        told["lives on"] = client.is_server_live()
        client.unregister_system_shared_memory("data")
        told["unregistered"] = refused(lambda: client.infer("mlp", [source]))
        told["nothing left"] = client.get_system_shared_memory_status()
        told["nowhere"] = refused(lambda: client.register_system_shared_memory("n", "/hotlap-none", 64))
        told["outside"] = refused(lambda: client.register_system_shared_memory("n", "/../etc/passwd", 64))
        told["gpu"] = refused(lambda: client.register_cuda_shared_memory("g", b"AAAA", 0, 64))
    finally:
        client.unregister_system_shared_memory()
        shm.destroy_shared_memory_region(region)
    return told


def texts(client, region, offset):
    """Texts there and back."""
    words = np.array([b"one", "drei: ü".encode(), b""], np.object_)
    packed = serialize_byte_tensor(words)
    size = len(packed.item())
    shm.set_shared_memory_region(region, [packed], offset=offset)
    source = http.InferInput("x", [3], "BYTES")
    source.set_shared_memory("data", size, offset=offset)
    target = http.InferRequestedOutput("y")
    target.set_shared_memory("data", size, offset=offset + 64)
    client.infer("identity_BYTES", [source], outputs=[target])
    read = shm.get_contents_as_numpy(region, np.object_, [3], offset=offset + 64)
    return [w.decode() for w in read]


def refused(call):
    try:
        call()
    except InferenceServerException as error:
        return [error.status(), error.message()]
    return None


if __name__ == "__main__":
    with http.InferenceServerClient(sys.argv[1]) as client:
        json.dump(main(client), sys.stdout)
