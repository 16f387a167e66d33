"""The session alone: ``bare.py MODEL FEED.npz OUTPUT`` reads spans in seconds, a line each, and answers each
with its calls' p50 in seconds."""

import sys
from time import perf_counter

import numpy as np
import onnxruntime

model, feeds, output = sys.argv[1:]
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = 1
session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
feed = dict(np.load(feeds))


def times(span: float) -> list[float]:
    found = []
    end = perf_counter() + span
    while perf_counter() < end:
        start = perf_counter()
        session.run([output], feed)
        found.append(perf_counter() - start)
    return found


for line in sys.stdin:
    print(np.median(times(float(line))), flush=True)
