# SPDX-License-Identifier: Apache-2.0
"""What the texts of `--beside` stand for."""

import pytest

from steelyard.errors import SelectionError, UsageError
from steelyard.measure.catalog import Catalog, Probe
from steelyard.measure.neighbours import conditions, known, neighbour, probes_of
from steelyard.records import Skip
from tests.making import a_choice, a_descriptor, an_integer

BANDWIDTH = a_descriptor(
    "cache/bandwidth", parameters=(a_choice("way", "read", "write", "copy"), an_integer("size", 64, maximum=1 << 33))
)
FOUND = Catalog(
    probes={
        one.probe: Probe(path=None, descriptor=one)
        for one in (
            BANDWIDTH,
            a_descriptor("beside/sleeper"),
            a_descriptor("lock/two", placements=("cross",)),
            a_descriptor("switch/gosched"),
        )
    },
    skips=(Skip(subject="beside/disk", reason="beside/disk: no compiler"),),
)


def one(text: str):
    [[wanted]] = conditions([text]).values()
    return wanted


def made(text: str):
    wanted = one(text)
    return neighbour(wanted, wanted.where or "other", FOUND)


def test_a_name_stands_for_a_case_with_a_default_for_what_is_not_said():
    found = made("sleeper")
    assert (found.case.name, found.where, found.does) == ("beside/sleeper@same", "other", "sleeps")
    assert made("cache/bandwidth").case.name == "cache/bandwidth[way=read,size=64]@same"


def test_a_size_and_a_place_belong_to_the_neighbour():
    found = made("memory=64MiB@same")
    assert (found.case.name, found.where) == ("cache/bandwidth[way=copy,size=67108864]@same", "same")
    assert one("memory").where is None


def test_commas_part_conditions_and_a_plus_joins_neighbours_but_for_those_in_a_case():
    found = conditions(["sleeper,memory=1MiB+sleeper@same", "cache/bandwidth[way=copy,size=128]@other"])
    assert list(found) == ["sleeper", "memory=1MiB+sleeper@same", "cache/bandwidth[way=copy,size=128]@other"]
    assert [len(wanted) for wanted in found.values()] == [1, 2, 1]
    assert probes_of(found) == ["beside/sleeper", "cache/bandwidth"]
    assert made("cache/bandwidth[way=copy,size=128]").does == "runs cache/bandwidth[way=copy,size=128]"


@pytest.mark.parametrize(
    ("text", "error", "words"),
    [
        ("memroy", UsageError, 'no neighbour is called "memroy"; did you mean memory?'),
        ("xyz", UsageError, "there is sleeper, memory"),
        ("sleeper=4KiB", UsageError, "sleeper has no size"),
        ("memory=much", UsageError, '"much" is not a size'),
        ("", UsageError, "--beside takes NAME"),
        ("memory@elsewhere", UsageError, "--beside takes NAME"),
        ("memory=100GiB", SelectionError, "size is from 0 to 8589934592"),
        ("cache/bandwidth[ways=copy]", SelectionError, "has no parameter 'ways'"),
        ("switch/gosched", SelectionError, "is written in go, and a neighbour in C or C++"),
        ("lock/two", SelectionError, "needs several CPUs"),
        ("disk", SelectionError, "beside/disk cannot work here: no compiler"),
        ("no/probe", SelectionError, "there is no probe of that name"),
    ],
)
def test_what_is_no_neighbour_is_refused_in_a_sentence(text, error, words):
    with pytest.raises(error) as raised:
        made(text)
    assert words in str(raised.value)
    assert "\n" not in str(raised.value)


def test_every_short_name_has_words_that_fit_behind_a_neighbour_that():
    assert {"cache", "memory", "switch", "syscall", "disk", "network", "sleeper"} <= known().keys()
    for entry in known().values():
        assert entry.does.split()[0].endswith("s")
