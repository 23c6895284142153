# SPDX-License-Identifier: Apache-2.0
"""Whatever somebody sends to a gallery is refused in one sentence, or stands on pages in which nothing acts.

Files are broken where it hurts: a value somewhere in a good file is replaced, and the digest made anew, so that what
lies behind the digest is reached. A minute a part in `make test-all`, ten in all; some hundred files in `make test`.
"""

import copy
import hashlib
import itertools
import json
import random
import time

import pytest

from steelyard.errors import GalleryError
from steelyard.judge.findings import judge
from steelyard.judge.gallery import among, gallery
from steelyard.lab.publication import check
from steelyard.show.page.gallery import pages
from tests.long import LONG
from tests.publishing import a_publication, a_session
from tests.reporting import ACTS, MARKUP

_PARTS, _PART_S, _FILES = (10, 60, 0) if LONG else (1, 0, 300)
NUMBERS = (0, -1, 1, 5, 6, 7, 8, 9, 1e-300, 1e-12, 1e-9, 0.5, 1e60, -1e60, 1e308, 2**31, 2**63 - 1, 2**63, 10**30)
TEXTS = (
    *("", "s", "B", "1", "lower", "higher", "passed", "failed", "sentinel", "operation", "2026-01-02", "2999-12-31"),
    *(
        "call/direct@same",
        "call/direct",
        "call/direct[a=1]@cross",
        "x/y@free",
        "…",
        "AMD EPYC",
        "a" * 2000,
        "\n",
        "\ud7ff",
    ),
    *(MARKUP, ACTS, "../../etc/passwd", "%s%n", "m7a.large"),
)


@pytest.fixture(scope="module")
def good():
    return [
        json.loads(a_publication(instance="m7a.large", usd_an_hour=0.1).text),
        json.loads(a_publication(seed=8).text),
    ]


@pytest.fixture(scope="module")
def other():
    return a_publication(seed=3)


@pytest.fixture(scope="module")
def here():
    return judge(a_session(seed=99))


def places(node, path=()):
    """Every place in a file, by the keys that lead there."""
    yield path
    inner = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, value in inner:
        yield from places(value, (*path, key))


def broken(whole: dict, draw: random.Random) -> bytes:
    """A good file in which one to three values are others, were moved, or are gone."""
    data = copy.deepcopy(whole)
    for _ in range(draw.randint(1, 3)):
        *way, last = draw.choice([path for path in places(data) if path])
        parent = data
        for key in way:
            parent = parent[key]
        match draw.randrange(12):
            case 0:
                parent[last] = draw.choice((*NUMBERS, *TEXTS))
            case 1:
                parent[last] = copy.deepcopy(parent[draw.choice(list(parent) if isinstance(parent, dict) else [0])])
            case 2:
                parent[last] = draw.choice((None, [], {}, True, [[]] * 50, {"x": 1}))
            case 3:
                del parent[last]
            case 4:
                other = data
                for key in draw.choice(list(places(data))):
                    other = other[key]
                parent[last] = copy.deepcopy(other)
            case 5 if isinstance(parent, dict):
                parent[draw.choice(TEXTS)] = copy.deepcopy(parent[last])
            case 5:
                parent.append(copy.deepcopy(parent[last]))
            case _:  # of the same kind, so that more than the types are looked at
                parent[last] = alike(parent[last], draw)
    return written(data, draw)


def alike(value: object, draw: random.Random) -> object:
    """Another value of the kind that stands there."""
    match value:
        case str():
            return draw.choice(TEXTS)
        case float():
            return draw.choice((value * draw.choice((0.0, -1.0, 1e-6, 0.5, 2.0, 1e9)), float(draw.choice(NUMBERS))))
        case int():
            return draw.choice((value + 1, max(0, value - 1), int(draw.choice(NUMBERS))))
        case list():
            return value[: draw.randrange(len(value) + 1)]
        case dict():
            return {name: value[name] for name in draw.sample(sorted(value), draw.randrange(len(value) + 1))}
        case _:
            return value


def written(data: dict, draw: random.Random) -> bytes:
    """As `publish` would lay it out, mostly with a digest that fits; now and then cut or with other bytes in it."""
    if isinstance(data, dict) and draw.random() < 0.95:
        data.pop("digest", None)
        canonical = json.dumps(data, sort_keys=True, separators=(",", ":"))
        data["digest"] = hashlib.sha256(canonical.encode()).hexdigest()
    lines = []
    for name, value in sorted(data.items(), key=lambda item: str(item[0])):
        inner = "[\n  " + ",\n  ".join(map(compact, value)) + "\n ]" if isinstance(value, list) else compact(value)
        lines.append(f" {compact(name)}: {inner}")
    contents = ("{\n" + ",\n".join(lines) + "\n}\n").encode()
    if draw.random() < 0.05:
        at = draw.randrange(len(contents))
        contents = contents[:at] + draw.randbytes(draw.randint(0, 8)) + contents[at + draw.randint(0, 9) :]
    return contents


def compact(value: object) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


@pytest.mark.parametrize("part", range(_PARTS))
def test_a_broken_file_is_refused_in_a_sentence_or_shown_without_harm(good, other, here, part):
    draw = random.Random(part)
    end = time.monotonic() + _PART_S
    accepted = 0
    for number in itertools.count():
        if number >= _FILES and time.monotonic() >= end:
            break
        contents = broken(draw.choice(good), draw)
        try:
            found = check(contents, "a file")
        except GalleryError as error:
            said = str(error)
            assert said.startswith("a file ")
            assert "\n" not in said
            assert len(said) < 1000
            continue
        accepted += 1
        several = [found, other]
        among(here, several)
        for text in pages(gallery(several)).values():
            assert "<script" not in text
            assert "\x1b" not in text
    assert accepted, "nothing came past the checks: the fuzz looks at one of them only"
