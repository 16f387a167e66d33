"""FastAPI: an async function, pydantic on both ends. $MODEL: the .onnx; ``/mlp`` or ``/minilm`` answers."""

import os

import numpy as np
import onnxruntime
from fastapi import FastAPI
from pydantic import BaseModel

options = onnxruntime.SessionOptions()
options.intra_op_num_threads = 1
session = onnxruntime.InferenceSession(os.environ["MODEL"], options, providers=["CPUExecutionProvider"])
app = FastAPI()


class Features(BaseModel):
    x: list[list[float]]


class Scores(BaseModel):
    y: list[list[float]]


class Tokens(BaseModel):
    input_ids: list[list[int]]
    attention_mask: list[list[int]]


@app.post("/mlp")
async def mlp(features: Features) -> Scores:
    (y,) = session.run(["y"], {"x": np.array(features.x, np.float32)})
    return Scores(y=y.tolist())


@app.post("/minilm")
async def minilm(tokens: Tokens) -> Scores:
    feed = {name: np.array(ids, np.int64) for name, ids in tokens.model_dump().items()}
    (y,) = session.run(["461"], feed)
    return Scores(y=y.tolist())
