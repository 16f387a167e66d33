"""All that tritonclient does over HTTP, asked of the server at argv[1]; prints what it was told, as JSON."""

import json
import sys

import ml_dtypes
import numpy as np
import tritonclient.http as http
from tritonclient.utils import InferenceServerException


def main(client):
    told = {
        "live": client.is_server_live(),
        "ready": client.is_server_ready(),
        "mlp ready": client.is_model_ready("mlp", "1"),
        "nobody ready": client.is_model_ready("nobody"),
        "server": client.get_server_metadata(),
        "metadata": client.get_model_metadata("mlp"),
        "config": client.get_model_config("mlp"),
        "index": client.get_model_repository_index(),
        "log": client.update_log_settings({"log_verbose_level": 0, "log_info": True}),
        "log settings": client.get_log_settings(),
        "trace": client.update_trace_settings("mlp", {"trace_level": ["TIMESTAMPS"], "trace_rate": "9"}),
        "trace settings": client.get_trace_settings("mlp"),
        "regions": client.get_system_shared_memory_status(),
        "gpu regions": client.get_cuda_shared_memory_status(),
    }
    x = np.linspace(-2, 2, 48, dtype=np.float32).reshape(3, 16)
    for binary_in in (True, False):
        for binary_out in (True, False):
            told[f"mlp {binary_in} {binary_out}"] = mlp(client, x, binary_in, binary_out)
    for packed in ("gzip", "deflate"):
        told[f"mlp {packed}"] = mlp(
            client, x, request_compression_algorithm=packed, response_compression_algorithm=packed
        )
    told["mlp with all options"] = mlp(
        client,
        x,
        request_id="seven",
        model_version="1",
        priority=1,
        timeout=30_000_000,
        parameters={"mine": 1},
    )
    told["id"] = infer(client, "mlp", [("x", "FP32", x)], request_id="seven").get_response()["id"]
    asked = [client.async_infer("mlp", [tensor("x", "FP32", x)]) for _ in range(32)]
    told["many"] = [a.get_result().as_numpy("y").tobytes().hex() for a in asked]
    told["classes"] = (
        infer(client, "mlp", [("x", "FP32", x)], outputs=[http.InferRequestedOutput("y", class_count=2)])
        .as_numpy("y")
        .tolist()
    )
    told["classes"] = [[c.decode() for c in row] for row in told["classes"]]
    told["two"] = {
        name: both.as_numpy(name).tolist()
        for both in [infer(client, "two", [(n, "FP32", np.float32([1, 2])) for n in "ab"])]
        for name in ("total", "product")
    }
    told["types"] = dict(types(client))
    told["errors"] = dict(errors(client, x))
    told["statistics"] = client.get_inference_statistics("mlp")
    return told


def tensor(name, datatype, array, binary=True):
    made = http.InferInput(name, list(array.shape), datatype)
    made.set_data_from_numpy(array, binary_data=binary)
    return made


def infer(client, model, inputs, outputs=None, **more):
    return client.infer(model, [tensor(*i) for i in inputs], outputs=outputs, **more)


def mlp(client, x, binary_in=True, binary_out=True, **more):
    outputs = [http.InferRequestedOutput("y", binary_data=binary_out)]
    return infer(client, "mlp", [("x", "FP32", x, binary_in)], outputs, **more).as_numpy("y").tobytes().hex()


def types(client):
    """Whether each type comes back as it was sent, as bytes and, where the client can, as JSON."""
    cases = {
        "BOOL": np.array([True, False]),
        "FP16": np.array([-1.5, 65504], np.float16),
        "BF16": np.array([-1.5, 3.0], ml_dtypes.bfloat16),
        "FP32": np.array([-1.5, np.inf], np.float32),
        "FP64": np.array([-1.5, 0.1]),
        "BYTES": np.array(["drei: ü".encode(), b""], np.object_),
    }
    for bits in (8, 16, 32, 64):
        for kind in ("int", "uint"):
            limits = np.iinfo(f"{kind}{bits}")
            cases[f"{kind.upper()}{bits}"] = np.array([limits.min, limits.max], f"{kind}{bits}")
    for datatype, array in cases.items():
        for binary in (True, False):
            if not binary and datatype in ("FP16", "BF16", "FP32"):
                continue  # not in JSON, as the client sees it; infinity is no JSON
            outputs = [http.InferRequestedOutput("y", binary_data=binary)]
            answer = infer(client, f"identity_{datatype}", [("x", datatype, array, binary)], outputs)
            got = answer.as_numpy("y").tolist()
            if datatype == "BYTES":
                got = [g if isinstance(g, bytes) else g.encode() for g in got]
            yield f"{datatype} {'bytes' if binary else 'JSON'}", got == array.tolist()


def errors(client, x):
    """Status and text of what cannot be."""
    for name, call in {
        "unknown model": lambda: mlp_of(client, "nobody", x),
        "unknown version": lambda: mlp(client, x, model_version="9"),
        "unknown input": lambda: infer(client, "mlp", [("z", "FP32", x)]),
        "unknown output": lambda: infer(
            client, "mlp", [("x", "FP32", x)], outputs=[http.InferRequestedOutput("z")]
        ),
        "shape": lambda: infer(client, "mlp", [("x", "FP32", x[:, :3])]),
        "type": lambda: infer(client, "mlp", [("x", "FP64", x.astype(np.float64))]),
        "load": lambda: client.load_model("mlp"),
        "unload": lambda: client.unload_model("mlp"),
    }.items():
        try:
            call()
            yield name, None
        except InferenceServerException as error:
            yield name, [error.status(), error.message()]


def mlp_of(client, model, x):
    return infer(client, model, [("x", "FP32", x)])


if __name__ == "__main__":
    with http.InferenceServerClient(sys.argv[1], concurrency=8) as client:
        json.dump(main(client), sys.stdout)
