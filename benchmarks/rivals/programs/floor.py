"""What any server must take: ``floor.py MODEL FEED.npz OUTPUT PORT`` waits for bytes, runs the session on the
feed that it has, and writes the answer that it wrote before. It reads nothing of what it is asked."""

import json
import socket
import sys
from contextlib import suppress

import numpy as np
import onnxruntime

model, feeds, output, port = sys.argv[1:]
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = 1
session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
feed = dict(np.load(feeds))
found = session.run([output], feed)[0].ravel().tolist()
body = json.dumps({"outputs": [{"name": output, "data": found}]}, separators=(",", ":")).encode()
answer = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body) + body


def serve(client: socket.socket) -> None:
    client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    while client.recv(65536):
        session.run([output], feed)
        client.sendall(answer)


with socket.create_server(("127.0.0.1", int(port))) as listening:
    while True:
        with listening.accept()[0] as client, suppress(ConnectionError):  # a client may go before its answer
            serve(client)
