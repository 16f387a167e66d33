"""What kserve's client does over HTTP; prints what it was told, as JSON."""

import asyncio
import json
import sys

import numpy as np
from kserve import InferenceRESTClient, InferInput, InferRequest, RESTConfig


async def main(url):
    client = InferenceRESTClient(RESTConfig(protocol="v2", retries=1))
    x = np.linspace(-2, 2, 48, dtype=np.float32).reshape(3, 16)
    told = {
        "live": await client.is_server_live(url),
        "ready": await client.is_server_ready(url),
        "mlp ready": await client.is_model_ready(url, "mlp"),
        "nobody ready": await client.is_model_ready(url, "nobody"),
    }
    for binary in (True, False):
        source = InferInput("x", [3, 16], "FP32")
        source.set_data_from_numpy(x, binary_data=binary)
        request = InferRequest("mlp", [source], request_id="seven", parameters={"binary_data_output": binary})
        answer = await client.infer(url, request, model_name="mlp")
        told["bytes" if binary else "JSON"] = {
            "id": answer.id,
            "model": answer.model_name,
            "y": answer.outputs[0].as_numpy().tobytes().hex(),
        }
    await client.close()
    return told


if __name__ == "__main__":
    json.dump(asyncio.run(main(sys.argv[1])), sys.stdout)
