# SPDX-License-Identifier: Apache-2.0
import io

import pytest

from steelyard.judge.comparisons import Compared, Comparisons
from steelyard.show import comparison
from steelyard.show.console import Console


def compared(verdict: str = "different", **more) -> Compared:
    fields = {
        "case": "example/steady@same",
        "metric": "operation",
        "unit": "s",
        "better": "lower",
        "a": 100e-9,
        "b": 110e-9,
        "n": 8,
        "ratio": 1.1,
        "low": 1.08,
        "high": 1.12,
        "worse": verdict == "different",
    }
    return Compared(verdict=verdict, **{**fields, **more})


def comparisons(*cases: Compared, **more) -> Comparisons:
    fields = {
        "kind": "paired",
        "a": "one [side]",
        "b": "the other",
        "margin": 0.02,
        "confidence": 0.95,
        "left_out": (),
        "caveats": (),
    }
    return Comparisons(cases=cases, **{**fields, **more})


def test_medians_that_point_the_other_way_than_the_ratio_are_explained():
    """18.0 µs, 13.0 µs, +3.1 %: the ratio is made block by block."""
    assert "the medians point the other way" in shown(compared(a=18e-6, b=13e-6, ratio=1.031))
    assert "the medians point the other way" not in shown(compared())
    assert "the medians point the other way" not in shown(compared(a=18e-6, b=13e-6, ratio=0.8))


def shown(*cases: Compared, **more) -> str:
    out = io.StringIO()
    comparison.show(comparisons(*cases, **more), Console(file=out, width=160))
    return out.getvalue()


@pytest.mark.parametrize(
    ("case", "words"),
    [
        (compared(), "different by +10.0 % [+8.0, +12.0]"),
        (compared("equivalent"), "equivalent within 2 %"),
        (compared("undecided"), "undecided"),
        (compared("undecided", more_blocks=12, more_minutes=2.0), "undecided: 12 more blocks, about 2 min 00 s"),
        (compared("undecided", more_blocks=1, more_minutes=0.1), "undecided: 1 more block, about 6.0 s"),
        (compared("undecided", more_blocks=3, counted="machines"), "undecided: 3 more machines"),
        (compared("undecided", more_blocks=3, counted="runs"), "undecided: 3 more runs of each"),
        (
            compared("undecided", tells_from=0.083, counted="runs"),
            "undecided: here only differences from 8.3 % on can be told",
        ),
        (compared("undecided", tells_from=0.03), "undecided: too near the margin of 2 % for any number of blocks"),
    ],
)
def test_a_verdict_is_said_in_words(case, words):
    assert comparison.verdict(case, 0.02) == words
    assert words in shown(case)


def test_where_there_are_too_few_blocks_for_an_interval_none_is_printed():
    """Six times "[−100, ∞]" says nothing; how many blocks are missing stands in the verdict."""
    text = shown(compared("undecided", low=0.0, high=None, more_blocks=3, more_minutes=0.1))
    assert "∞" not in text
    assert "undecided: 3 more blocks, about 6.0 s" in text


def test_the_metric_that_was_asked_for_is_named():
    assert "\nby p99\n" in shown(compared(), metric="p99")
    assert "\nby " not in shown(compared())


def test_words_that_look_like_markup_are_printed_as_they_are():
    text = shown(compared(), left_out=("[a] case",), caveats=("[/b] doubt",), void="[/red] drift")
    assert all(words in text for words in ("one [side]", "[a] case", "[/b] doubt", "VOID", "[/red] drift"))


def test_for_programs_figures_are_in_base_units():
    [case] = comparison.as_json(comparisons(compared("undecided", more_blocks=12, more_minutes=2.0)))
    assert (case["a"], case["ratio"], case["more_seconds"]) == (100e-9, 1.1, 120.0)


def test_a_case_has_the_title_of_its_mechanism_beside_its_name():
    text = shown(compared(), compared(case="vdso against syscall"), titles={"example/steady": "steady example"})
    assert "steady example (example/steady@same)" in text
    assert "vdso against syscall" in text
