"""What a rule may look at: `Case`. Everything here is read-only, and gathered before the first rule runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hotlap.model.anatomy import Anatomy
    from hotlap.model.external import ExternalProblem
    from hotlap.model.walk import Walk
    from hotlap.model.weights import WeightStats
    from hotlap.plan import Facts

__all__ = ["Case", "Ran", "Range", "Runtime"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Runtime:
    """What is to run the model.

    Attributes:
        ort: version of ONNX Runtime that is judged for: the installed one, or the one named by the user.
        named: the user named it (then nothing is concluded from the installed one).
        max_ir, max_opset: what that version reads at most; None: unknown (newer than our table).
        max_ml_opset: the same of the domain ``ai.onnx.ml``.
        features: the CPU's instruction sets as `hotlap.machine` names them; None: unknown.
        cpu_named: the user named the CPU (``--target-cpu``), it is not this machine's.
        providers: short names, first choice first: ``("cpu",)``.
    """

    ort: str
    named: bool = False
    max_ir: int | None = None
    max_opset: int | None = None
    max_ml_opset: int | None = None
    features: frozenset[str] | None = None
    cpu_named: bool = False
    providers: tuple[str, ...] = ("cpu",)


@dataclass(frozen=True, slots=True)
class Range:
    """What a value held over all inputs that were run, in float32 arithmetic.

    Attributes:
        low, high: of its finite elements.
        finite: every element was.
    """

    low: float
    high: float
    finite: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """What was learned by loading and running the model, in a process of its own.

    Attributes:
        refusal: why ORT did not load it, or how the process ended; "" where it loaded.
        failure: why no input could be made that runs; "" where one ran.
        facts: what probing learned; None where nothing ran.
        executed: the graph that ORT really runs on this host (optimised at its highest level); None where
            it was not to be had.
        placement: provider (short name) to its nodes' operators (as `Node.op`), one for each node, as ORT
            recorded the assignment.
        copies: copies between providers in the executed graph.
        provider_refusals: provider to the reason why it does not load.
        ranges: value of the file's graph (root scope) to what it held; only where asked for (half
            precision). Empty: not measured.
        data: "generated" or "yours": what inputs the above was learned from.
    """

    refusal: str = ""
    failure: str = ""
    facts: Facts | None = None
    executed: Walk | None = None
    placement: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    copies: int = 0
    provider_refusals: Mapping[str, str] = field(default_factory=dict)
    ranges: Mapping[str, Range] = field(default_factory=dict)
    data: str = "generated"


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One model, before the rules.

    Attributes:
        anatomy: the file in numbers.
        walk: its graph.
        weights: of each stored tensor (initializers, constants, attributes), read in pieces; by
            ``WeightStats.name``, unique in the model.
        external: what is wrong with its files of external weights.
        runtime: what it is judged for.
        ran: None where it was not to be run.
    """

    anatomy: Anatomy
    walk: Walk
    weights: Mapping[str, WeightStats]
    external: tuple[ExternalProblem, ...] = ()
    runtime: Runtime
    ran: Ran | None = None
