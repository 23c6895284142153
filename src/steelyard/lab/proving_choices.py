# SPDX-License-Identifier: Apache-2.0
"""The sessions behind the error rates of choices: each load is decided from one and measured again in another."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from steelyard.errors import SelectionError
from steelyard.judge import choose
from steelyard.judge.choose import Load
from steelyard.judge.model import Serving, predict, verified
from steelyard.judge.proving_choices import ChoiceMade, draw, judge_choice, judge_prediction
from steelyard.lab.choose import measure_ways
from steelyard.lab.messages import Messages
from steelyard.lab.model import languages, to_predict, to_verify
from steelyard.lab.session import Lab
from steelyard.settings import Settings
from steelyard.show.choose import described

#: How long each of the two sessions of a load takes, and how long a value is, by the kind of load.
_MEASURED = {
    "message": Settings(budget="8s", quick=True),
    "message at a rate": Settings(budget="14s", quick=True, target="20ms"),
    "lock": Settings(budget="8s", quick=True, target="10ms"),
    "model": Settings(budget="36s", quick=True, target="60ms"),
}
#: Languages whose models start within a tenth of a second: a load is to take seconds.
_QUICK = ("c", "go", "rust")


def prove(seed: int, loads: int, messages: Messages) -> Iterator[ChoiceMade]:
    """What becomes of so many loads, one after the other, each told when it is done."""
    lab = Lab(selectors=["message", "lock", "serve"])
    for number, (kind, load) in enumerate(draw(seed, loads), start=1):
        with TemporaryDirectory(prefix="steelyard-prove-") as folder:
            try:
                made = _one(lab, kind, load, Path(folder))
            except SelectionError as error:
                messages.say(f"{number} of {loads}: {described(load)}: {error}")
                continue
        dearer = "" if made.dearer is None else f", {100 * made.dearer:+.0f} % against {made.best}"
        messages.say(f"{number} of {loads}: {described(load)}: {made.said}, {made.recommended}{dearer}")
        yield made


def _one(lab: Lab, kind: str, load: Load, folder: Path) -> ChoiceMade:
    settings = _MEASURED[kind]
    if isinstance(load, Serving):
        written = languages()
        allowed = tuple(name for name in _QUICK if name in written.values())
        predictions = predict(
            to_predict(lab, msgspec.structs.replace(load, languages=allowed), settings, folder / "a.session.jsonl"),
            load,
            written,
        )
        truth = to_verify(lab, predictions, settings, folder / "b.session.jsonl", whole=True)
        if truth is None:
            raise SelectionError("no model could be predicted and built")
        return judge_prediction(kind, predictions, truth, verified(predictions, truth.choices[0].ways))
    first, second = (
        choose.choose(measure_ways(lab, load, replace(settings, seed=seed), folder / f"{seed}.session.jsonl"), load)
        for seed in (1, 2)
    )
    return judge_choice(kind, first, second)
