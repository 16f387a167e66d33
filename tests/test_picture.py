from __future__ import annotations

from xml.etree import ElementTree

from benchmarks.picture import Bar, chart

SVG = "{http://www.w3.org/2000/svg}"


def test_equal_lies_on_the_line_of_one_and_faster_to_its_right() -> None:
    drawn = ElementTree.fromstring(
        chart(
            "a < b", [Bar("equal", 1.0, 0.99, 1.01, "no difference"), Bar("twice", 2.0, 1.9, 2.1, "faster")]
        )
    )
    one = next(line for line in drawn.iter(f"{SVG}line") if line.get("stroke") == "#1d2733")
    equal, twice = (float(c.get("cx") or 0) for c in drawn.iter(f"{SVG}circle"))
    assert equal == float(one.get("x1") or 0)
    assert twice > equal
    assert {t.text for t in drawn.iter(f"{SVG}text")} >= {"a < b", "equal", "2.00x faster", "1x"}
