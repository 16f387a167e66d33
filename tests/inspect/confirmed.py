"""One finding about each of the twelve real models that was confirmed by other means: what was seen, as data.

`test_confirmed.py` sees it again, without hotlap; the page about the models tells it.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["CONFIRMED", "Confirmed"]


@dataclass(frozen=True, slots=True)
class Confirmed:
    """What one finding, or one fact, was confirmed by.

    Attributes:
        finding: how it begins, after its code; or a fact: ``"rows independent"``, ``"axis 1 of logits"``.
        by: what was seen by other means, with places for `seen`.
        seen: the numbers and names that were seen.
    """

    finding: str
    by: str
    seen: tuple[int | float | str, ...]

    @property
    def said(self) -> str:
        return self.by.format(*self.seen)


CONFIRMED: dict[str, Confirmed] = {
    "ocr-det": Confirmed(
        "HL202 850 of 9,216 numbers of conv2d_96.w_0 are denormal",
        "numpy counts {:,} denormal numbers among the {:,} of conv2d_96.w_0",
        (850, 9216),
    ),
    "ocr-cls": Confirmed(
        "HL106 padding along x[3] changes the answers",
        "16 columns of zeros beside a line of text move its first score from {:.2f} to {:.2f}",
        (0.99, 0.93),
    ),
    "ocr-rec": Confirmed(
        "HL202 12,970 of 57,600 numbers of conv2d_117.w_0 are denormal",
        "numpy finds denormal numbers in {} weights and in no other, {:,} of them in conv2d_117.w_0",
        (10, 12970),
    ),
    "ocr6-rec": Confirmed(
        'HL515 Add "Add.168" and the layer normalisation "Add.173" did not become one '
        'SkipLayerNormalization: second reader: Add "Add.178" reads "Add.169" too',
        "in a copy of the file in which Add.178 reads something else than Add.169, ONNX Runtime makes {} "
        "SkipLayerNormalization more",
        (1,),
    ),
    "magika": Confirmed(
        "rows independent",
        "{} files in one call get the types that each gets alone, of {} kinds, with scores within 0.0001",
        (8, 8),
    ),
    "silero": Confirmed(
        "HL407 LSTM makes an optional output that nobody reads (4 nodes)",
        "{} of its {} LSTM nodes give out the whole sequence, and no node and no graph reads it",
        (4, 4),
    ),
    "minilm": Confirmed(
        'HL405 output "output" is the input "input_ids"',
        "in a run, the outputs {} and {} are the inputs number by number",
        ("output", "463"),
    ),
    "minilm-int8": Confirmed(
        'HL516 The Gelu around Erf "node_Erf_109" that makes "gelu" did not become one Gelu: '
        "written in another way",
        "in a copy of the file in which that one is written as x * (1 + erf) * 0.5, ONNX Runtime makes {} "
        "Gelu, and before {}",
        (1, 0),
    ),
    "ddddocr-old": Confirmed(
        'HL209 MatMulInteger "Gemm_220_MatMul_quant" multiplies unsigned 8-bit activations by unsigned 8-bit',
        "its weights 135_quantized are stored as {}, and what they meet is made by {}, which gives uint8 by "
        "definition",
        ("uint8", "DynamicQuantizeLinear"),
    ),
    "ddddocr": Confirmed(
        "HL104 output 387 is declared [1, seqlen], and is [?, 1, 8210]",
        "where the file declares {} axes, ONNX Runtime gives {}: {} by 1 by 8210",
        (2, 3, 22),
    ),
    "ddddocr-det": Confirmed(
        "HL103 axis 0 of input images is fixed at 1",
        "ONNX Runtime refuses two pictures in one call: it got {} and expected {}",
        (2, 1),
    ),
    "captcha": Confirmed(
        "axis 1 of logits",
        "{} pictures in one call give logits of {} by {} by {}, and at each place of axis 1 those of that "
        "picture alone",
        (3, 20, 3, 37),
    ),
}
