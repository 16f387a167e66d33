"""MLServer: a custom runtime with its own numpy codec. The model's uri is the .onnx."""

import onnxruntime
from mlserver import MLModel
from mlserver.codecs import NumpyCodec
from mlserver.types import InferenceRequest, InferenceResponse
from mlserver.utils import get_model_uri


class Onnx(MLModel):
    async def load(self) -> bool:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        path = await get_model_uri(self.settings)
        self.session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        return True

    async def predict(self, payload: InferenceRequest) -> InferenceResponse:
        feed = {tensor.name: NumpyCodec.decode_input(tensor) for tensor in payload.inputs}
        wanted = [output.name for output in payload.outputs or []]
        found = self.session.run(wanted, feed)
        return InferenceResponse(
            model_name=self.name,
            outputs=[NumpyCodec.encode_output(n, a) for n, a in zip(wanted, found, strict=True)],
        )
