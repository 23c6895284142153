# SPDX-License-Identifier: Apache-2.0
"""Which cases are measured beside which neighbours, and on which CPUs these work."""

from types import SimpleNamespace

import pytest

from steelyard.errors import UsageError
from steelyard.lab.neighbours import beside
from steelyard.measure.neighbours import conditions
from tests.making import a_case, a_machine
from tests.unit.measure.test_neighbours import FOUND


def a_lab(*cpus: int):
    said: list[str] = []
    return SimpleNamespace(host=a_machine(cpus=cpus), found=FOUND, messages=SimpleNamespace(say=said.append), said=said)


def test_each_case_is_measured_alone_and_beside_each_condition_in_one_group():
    case = a_case()
    found = beside(a_lab(0, 1), [case], conditions(["sleeper,memory=64MiB@same"]))
    names = [case.name, f"{case.name}~beside sleeper", f"{case.name}~beside memory=64MiB@same"]
    assert [one.name for one in found.cases] == names
    assert dict(found.groups) == dict.fromkeys(names, case.name)
    assert found.pairs == [(case.name, name) for name in names[1:]]
    assert [[one.where for one in variant.beside] for variant in found.variants] == [["other"], ["same"]]


def test_a_case_that_leaves_no_cpu_shares_its_own_and_that_is_said():
    lab = a_lab(0, 1)
    found = beside(lab, [a_case(), a_case(placement="free")], conditions(["sleeper"]))
    assert [variant.label for variant in found.variants] == ["beside sleeper", "beside sleeper@same"]
    assert lab.said == ["@free leaves none of 2 CPUs to a neighbour: there it works on the same"]


def test_on_one_cpu_neighbours_work_on_it_and_that_is_said():
    lab = a_lab(0)
    [variant] = beside(lab, [a_case()], conditions(["sleeper+memory"])).variants
    assert variant.label == "beside sleeper@same+memory@same"
    assert lab.said == ["@same leaves none of 1 CPU to a neighbour: there it works on the same"]


def test_the_same_neighbour_twice_is_refused():
    with pytest.raises(UsageError, match="two neighbours are the same"):
        beside(a_lab(0, 1), [a_case()], conditions(["sleeper+sleeper"]))
