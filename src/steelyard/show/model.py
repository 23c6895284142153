# SPDX-License-Identifier: Apache-2.0
"""Which model should serve a load, on one screen and as an object for programs."""

from __future__ import annotations

import math
from typing import Any

from steelyard.judge.choose import Chosen
from steelyard.judge.model import Predicted, Predictions, verified
from steelyard.show import choose as shown
from steelyard.show import reasons, void
from steelyard.show.console import Console, grid, words
from steelyard.units import format_bytes, format_interval, format_quantity

_MOST = 10


def show(predictions: Predictions, chosen: Chosen | None, console: Console) -> None:
    """The recommendation, how it was predicted, what was measured of it, and where it flips."""
    console.print(words((shown.described(predictions.load), "bold")), soft_wrap=True)
    console.print(words(predictions.machine, style="dim"))
    wrong = chosen.void if chosen else predictions.void
    void.show(wrong, console)
    if wrong is None:
        for sentence in sentences(predictions, chosen):
            console.print(words((sentence, "bold")), soft_wrap=True)
    console.print()
    _predicted(predictions, console)
    if chosen is not None:
        console.print()
        _verified(predictions, chosen, console)
    shown.left_out(predictions.cannot, console)
    console.print(f"predicted from {predictions.path}", style="dim", soft_wrap=True)
    if chosen is not None:
        console.print(f"verified in {chosen.path}", style="dim", soft_wrap=True)


def sentences(predictions: Predictions, chosen: Chosen | None) -> list[str]:
    """What to take, and up to which rate."""
    if chosen is not None:
        said = [shown.answer(chosen.choices[0], chosen)]
        best = next(iter(chosen.choices[0].able), None)
        taken = next((model for model in predictions.models if best and model.way == best.way), None)
    else:
        taken = next(iter(predictions.able), None)
        said = [_recommended(predictions)]
    if taken is not None and math.isfinite(taken.keeps_until):
        goal = "keeps the goal" if predictions.load.at_most is not None else "keeps up"
        others = [model for model in predictions.models if model.keeps_until > taken.keeps_until and model.fits]
        longest = max(others, key=lambda model: model.keeps_until, default=None)
        beyond = f"; {longest.title} until {longest.keeps_until:,.0f}" if longest else "; no other does so for longer"
        said.append(f"By prediction {taken.title} {goal} until {taken.keeps_until:,.0f} requests a second{beyond}.")
    if taken is not None and taken.fits_until is not None:
        said.append(f"{taken.title} fits into the memory until about {taken.fits_until:,} connections.")
    return said


def _recommended(predictions: Predictions) -> str:
    able = predictions.able
    if not able:
        return "none would serve this load: the reasons stand below"
    best, *others = able
    if not others:
        return f"take {best.title}, the only one, by prediction"
    times = others[0].cpu_s / best.cpu_s
    if others[0].low_s <= best.high_s:
        worst = 100 * (best.high_s / min(other.low_s for other in others) - 1)
        return (
            f"take {best.title} or {others[0].title}: the prediction cannot tell which is cheaper; at worst "
            f"{best.title} costs {worst:.0f} % more than the cheapest"
        )
    return f"take {best.title}, by prediction; {others[0].title} is next, at {times:.2f} times its CPU a request"


def _predicted(predictions: Predictions, console: Console) -> None:
    numbers = ["CPU a request", "90 %", "of it the model", "could do", "p99", "memory"]
    table = grid(["predicted", *numbers, "", "probe"], numbers)
    for model in predictions.models[:_MOST]:
        table.add_row(words(model.title, style="dim" if model.lacks else "cyan"), *_figures(model))
    console.print(table)


def _figures(model: Predicted) -> list[str]:
    return [
        _seconds(model.cpu_s),
        format_interval(model.low_s, model.high_s, model.cpu_s, "s"),
        _seconds(model.beside_s),
        format_quantity(model.capacity, "1/s"),
        "–" if model.p99_s is None else _seconds(model.p99_s),
        "–" if model.memory_bytes is None else format_bytes(model.memory_bytes),
        ", ".join(model.lacks),
        model.way,
    ]


def _verified(predictions: Predictions, chosen: Chosen, console: Console) -> None:
    shown.ways(chosen.choices[0], chosen.load, console)
    for one in verified(predictions, chosen.choices[0].ways):
        within = "within" if one.within else "outside of"
        figures = f"predicted {_seconds(one.predicted_s)}, measured {_seconds(one.measured_s)}"
        console.print(f"{one.title}: {figures}, {within} the interval", style="dim")


def _seconds(value: float) -> str:
    return format_quantity(value, "s")


def as_json(predictions: Predictions, chosen: Chosen | None) -> dict[str, Any]:
    """Everything, figures in base units."""
    able = predictions.able
    return {
        "predicted": reasons.builtins(predictions),
        "recommended_by_prediction": able[0].way if able and predictions.void is None else None,
        "verified": None if chosen is None else shown.as_json(chosen),
        "checked": [] if chosen is None else reasons.builtins(verified(predictions, chosen.choices[0].ways)),
    }
