"""BentoML: one service of one worker, without its access log. $MODEL: the .onnx."""

import os

import bentoml
import numpy as np
import onnxruntime


@bentoml.service(workers=1, logging={"access": {"enabled": False}})
class Mlp:
    def __init__(self) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        model = os.environ["MODEL"]
        self.session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])

    @bentoml.api
    def predict(self, x: np.ndarray) -> np.ndarray:
        y: np.ndarray = self.session.run(["y"], {"x": x.astype(np.float32)})[0]
        return y
