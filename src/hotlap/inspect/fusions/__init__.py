"""Fusions that ORT could have made and did not, and what was in the way.

One file for each fusion: a function from `Running` to the places where its pattern still stands in the graph
that ORT executes, each with what blocked it. A pattern that ORT would leave alone anyway is none.
"""

from __future__ import annotations

from hotlap.inspect.fusions.attention import attention
from hotlap.inspect.fusions.blockers import Blocked, Blocker, Kind
from hotlap.inspect.fusions.conv_activation import conv_activation
from hotlap.inspect.fusions.conv_batchnorm import conv_batchnorm
from hotlap.inspect.fusions.gelu import gelu
from hotlap.inspect.fusions.layer_norm import layer_norm
from hotlap.inspect.fusions.matmul_add import matmul_add
from hotlap.inspect.fusions.running import Running, running
from hotlap.inspect.fusions.skip_layer_norm import skip_layer_norm
from hotlap.inspect.fusions.telling import tell

__all__ = [
    "Blocked", "Blocker", "Kind", "Running", "attention", "conv_activation", "conv_batchnorm", "gelu",
    "layer_norm", "matmul_add", "running", "skip_layer_norm", "tell",
]  # fmt: skip
