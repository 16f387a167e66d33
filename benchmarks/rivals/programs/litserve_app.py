"""LitServe: one worker, no batching. ``litserve_app.py PORT``; $MODEL: the .onnx."""

import os
import sys

import litserve
import numpy as np
import onnxruntime


class Mlp(litserve.LitAPI):
    def setup(self, device):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        model = os.environ["MODEL"]
        self.session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])

    def decode_request(self, request):
        return np.array(request["x"], np.float32)

    def predict(self, x):
        return self.session.run(["y"], {"x": x})[0]

    def encode_response(self, output):
        return {"y": output.tolist()}


if __name__ == "__main__":
    server = litserve.LitServer(Mlp(), accelerator="cpu")
    server.run(host="127.0.0.1", port=int(sys.argv[1]), log_level="warning", generate_client_file=False)
