# SPDX-License-Identifier: Apache-2.0
"""Hostile session files, by what is wrong with them, and mutations of a whole one.

    python -m tests.hostile.corpus FOLDER

writes them all, each as a small file; none of them was measured.
"""

from __future__ import annotations

import copy
import json
import os
import random
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from steelyard.keep.session import SUFFIX
from tests.many import WHOLE

Lines = list[dict[str, Any]]


def whole() -> Lines:
    """The lines of a session that is as it should be."""
    return [json.loads(line) for line in WHOLE.read_text().splitlines()]


def _first(lines: Lines, kind: str) -> dict[str, Any]:
    return next(line for line in lines if line["type"] == kind)


def _run(lines: Lines) -> dict[str, Any]:
    """A run of a block that has values."""
    return next(line for line in lines if line["type"] == "run" and line["role"] == "block" and line["values"])


def _set(kind: str, name: str, to: object) -> Callable[[Lines], None]:
    def change(lines: Lines) -> None:
        (_run(lines) if kind == "run" else _first(lines, kind))[name] = to

    return change


def _value(name: str, to: object) -> Callable[[Lines], None]:
    def change(lines: Lines) -> None:
        _run(lines)["values"][0][name] = to

    return change


def _without_a_probe(lines: Lines) -> None:
    lines[0]["probes"].pop("example/swept")


def _without_metrics(lines: Lines) -> None:
    lines[0]["probes"]["example/swept"]["descriptor"]["metrics"] = []


def _metrics_of_one_name(lines: Lines) -> None:
    lines[0]["probes"]["example/swept"]["descriptor"]["metrics"] *= 2


def _twice(kind: str, **changed: object) -> Callable[[Lines], None]:
    def change(lines: Lines) -> None:
        lines.append({**_first(lines, kind), **changed})

    return change


def _a_case_twice(lines: Lines) -> None:
    _first(lines, "plan")["cases"] *= 2


#: What must be refused, by the sentence that says so.
REFUSED: dict[str, tuple[Callable[[Lines], None], str]] = {
    "no probe": (_without_a_probe, "is of a probe that the header does not describe"),
    "no metrics": (_without_metrics, "has no metric"),
    "metrics of one name": (_metrics_of_one_name, "two of one name"),
    "time that runs back": (_value("wall_ns", -5), "values[0].wall_ns"),
    "no operations": (_value("operations", 0), "values[0].operations"),
    "more than was counted": (_value("counts", {"checked": 2**63}), "values[0].counts"),
    "less than nothing": (_value("counts", {"checked": -1}), "values[0].counts"),
    "beyond all readings": (_value("readings", {"x": 1e300}), "values[0].readings"),
    "a billion blocks": (_set("run", "block", 1_000_000_000), "$.block"),
    "blocks that fill the memory": (_set("run", "block", 900_000), "900000 blocks"),
    "a run before the first block": (_set("run", "block", 0), "block 0"),
    "a run of no case": (_set("run", "case", "no/body@same"), "not in its plan"),
    "a run that took no time at all": (_set("run", "wall_s", -1.0), "$.wall_s"),
    "a run of the far future": (_set("run", "started", 1e300), "$.started"),
    "two headers": (_twice("session"), "two lines of type session"),
    "a header of another": (_twice("session", id="ffffffffffffffff"), "two lines of type session"),
    "two plans": (_twice("plan"), "two lines of type plan"),
    "two ends": (_twice("end"), "two lines of type end"),
    "more after the end": (_twice("skip"), "goes on after its end"),
    "a case twice": (_a_case_twice, "twice in its plan"),
    "begun at no moment": (_set("session", "started", "yesterday"), "not a moment"),
    "begun without a time zone": (_set("session", "started", "2026-01-02T03:04:05"), "not a moment"),
}


def _empty_machine(lines: Lines) -> None:
    lines[0]["machine"] |= {"facts": {}, "environment": {}, "cpus": []}


def _no_words(lines: Lines) -> None:
    for line in lines:
        for name, item in line.items():
            if isinstance(item, str) and name not in ("type", "case", "role", "status", "started", "moment", "reason"):
                line[name] = ""


def _no_runs(lines: Lines) -> None:
    lines[:] = [line for line in lines if line["type"] != "run"]


def _no_values(lines: Lines) -> None:
    for line in lines:
        if line["type"] == "run":
            line["values"] = []


def _no_time(lines: Lines) -> None:
    for line in lines:
        for value in line.get("values", []) if line["type"] == "run" else []:
            value |= {"wall_ns": 0, "cpu_ns": 0}


def _as_much_as_can_be(lines: Lines) -> None:
    for line in lines:
        for value in line.get("values", []) if line["type"] == "run" else []:
            value |= {"wall_ns": 2**63 - 1, "operations": 1, "lanes": 2**63 - 1}


def _parameters_that_nobody_knows(lines: Lines) -> None:
    lines[0]["probes"]["example/swept"]["descriptor"]["parameters"] = []


#: What is odd, and may be read: whatever a command makes of it, it ends in order.
ODD: dict[str, Callable[[Lines], None]] = {
    "nothing known of the machine": _empty_machine,
    "no words": _no_words,
    "no runs": _no_runs,
    "no values": _no_values,
    "no time": _no_time,
    "as much as can be": _as_much_as_can_be,
    "parameters that nobody knows": _parameters_that_nobody_knows,
}


def written(path: Path, lines: Lines) -> Path:
    """The file of these lines."""
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def changed(change: Callable[[Lines], None]) -> Lines:
    """The whole session after a change."""
    lines = whole()
    change(lines)
    return lines


# --- mutations --------------------------------------------------------------------------------------------------------

_POOL: tuple[object, ...] = (
    *(
        None,
        True,
        0,
        -1,
        1,
        2**31,
        2**63 - 1,
        2**63,
        1e-320,
        1e308,
        -0.0,
        0.5,
        "",
        " ",
        "\x1b[31m\u202e\x00",
        "x" * 5000,
    ),
    *(
        [],
        {},
        [[]],
        {"": {}},
        [None] * 20,
        {"x": 1},
        "2026-01-02T03:04:05+00:00",
        "example/swept[n=1,kind=thread]@same",
    ),
)


def _places(item: object, inside: tuple[int | str, ...] = ()) -> Iterator[tuple[int | str, ...]]:
    """Where everything stands in a line."""
    parts = item.items() if isinstance(item, dict) else enumerate(item) if isinstance(item, list) else ()
    for name, part in parts:
        yield (*inside, name)
        yield from _places(part, (*inside, name))


def mutation(random_: random.Random) -> Lines:
    """The whole session with one to three changes of its structure."""
    lines = copy.deepcopy(_WHOLE)
    for _ in range(random_.randint(1, 3)):
        number = random_.randrange(len(lines)) if random_.random() < 0.7 else random_.randrange(4)
        if (kind := random_.random()) < 0.08:
            lines.insert(random_.randrange(len(lines) + 1), lines[number])
        elif kind < 0.16:
            del lines[number]
        elif kind < 0.2:
            random_.shuffle(lines)
        else:
            mutate(lines[number], random_)
    return lines


def mutate(line: dict[str, Any], random_: random.Random) -> None:
    """Change or remove one thing in a line, which has at least one."""
    *path, last = random_.choice(list(_places(line)))
    inside: Any = line
    for name in path:
        inside = inside[name]
    if random_.random() < 0.2:
        del inside[last]
    elif isinstance(inside[last], int | float) and random_.random() < 0.3:
        inside[last] *= random_.choice([-1, 0, 10**6, 1e-9])
    else:
        inside[last] = random_.choice(_POOL)


_WHOLE = whole()


def main(folder: Path) -> None:
    """Write the corpus."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, (change, _) in REFUSED.items():
        written(folder / f"{name}{SUFFIX}", changed(change))
    for name, change in ODD.items():
        written(folder / f"{name}{SUFFIX}", changed(change))
    (folder / f"random{SUFFIX}").write_bytes(os.urandom(1000))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
