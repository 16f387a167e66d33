"""One file = one claim, measured with hotlap's own bench as a ratio in one run.

    python -m benchmarks                 all of them; results under benchmarks/results/ (make bench)
    python -m benchmarks honesty         one of them
    python -m benchmarks honesty --part itself   one part of one that has parts; may be given again
    python -m benchmarks --quick         a smoke run of a few seconds each; writes nothing
    python -m benchmarks.render          the tables in README.md, docs/ and benchmarks/README.md
    python -m benchmarks.render --check  exit 1 when one of them is not what the results say

Each file of `NAMES` has

    CLAIM: str                 one sentence
    METHOD: str                how it is measured, a few sentences
    main(quick) -> data        measures; data is what json can hold. One that takes long has parts,
                               main(quick, parts), and takes up where it was interrupted
    table(data) -> str         the same as a Markdown table
    VIEWS: {name: (data) -> str}   optional: more that pages may want of the data, as Markdown
    picture(data) -> str       optional: the same as an SVG, rendered to docs/NAME.svg
"""

from __future__ import annotations

NAMES: tuple[str, ...] = (
    "container", "findings", "footprint", "gates", "honesty", "inspections", "laps", "optimise", "overhead",
    "serve",
)  # fmt: skip
