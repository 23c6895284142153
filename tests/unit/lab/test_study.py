# SPDX-License-Identifier: Apache-2.0
"""Which cases a study's needs come to here, and what is said of those that can't be measured."""

from pathlib import Path

import msgspec
import pytest

from steelyard.errors import StudyError
from steelyard.judge import studies
from steelyard.judge.claims import Operand, Sweep
from steelyard.judge.replication import Need
from steelyard.lab import study
from steelyard.lab.messages import Silent
from steelyard.measure.catalog import Catalog, Probe
from steelyard.records import Skip
from tests.making import a_case, a_choice, a_descriptor, a_planned, an_integer

POWERS = tuple(2**n for n in range(15))
SWEPT = a_descriptor(
    "question/a",
    parameters=(an_integer("n", *POWERS, maximum=POWERS[-1], brief=(1, 64)), a_choice("kind", "thread", "process")),
    placements=("same", "free"),
)
FOUND = Catalog(
    probes={"question/a": Probe(path=Path("a"), descriptor=SWEPT)},
    skips=(Skip(subject="question/b", reason="no Go compiler"),),
)


def chosen(*needs):
    cases, missing = study.choose(FOUND, needs)
    return [case.name for case in cases], {skip.subject: skip.reason for skip in missing}


def test_a_case_is_taken_as_it_stands_and_what_it_leaves_open_as_a_first_session_has_it():
    assert chosen(Need(case="question/a[n=3,kind=process]@free")) == (["question/a[n=3,kind=process]@free"], {})
    assert chosen(Need(case="question/a")) == (["question/a[n=1,kind=thread]@same"], {})


def test_a_sweep_has_its_ends_and_no_more_points_than_it_needs():
    along = Sweep(of=Operand(case="question/a[kind=thread]@same"), parameter="n", smallest=2, largest=4096)
    names, _ = chosen(Need(case=along.of.case, along=along, points=5))
    points = [int(name.split("n=")[1].split(",")[0]) for name in names]
    assert len(points) == 5
    assert (points[0], points[-1]) == (2, 4096)
    assert points == sorted(set(points))


def test_any_case_will_do_for_a_figure_that_leaves_it_open():
    exact, loose = Need(case="question/a[n=8,kind=process]@free"), Need(case="question/a[kind=process]", whatever=True)
    assert chosen(loose, exact) == (["question/a[n=8,kind=process]@free"], {})
    assert chosen(loose) == (["question/a[n=1,kind=process]@same"], {})


@pytest.mark.parametrize(
    ("case", "subject", "reason"),
    [
        ("question/b@same", "question/b", "no Go compiler"),
        ("question/c@same", "question/c", "no such probe"),
        ("question/a[n=2,kind=thread]@cross", "question/a[n=2,kind=thread]@cross", "cross"),
        ("question/a[n=99999,kind=thread]@same", "question/a[n=99999,kind=thread]@same", "99999"),
    ],
    ids=["not built", "no probe", "no such placement", "no such value"],
)
def test_what_cannot_be_measured_here_has_a_reason(case, subject, reason):
    cases, missing = chosen(Need(case=case))
    assert cases == []
    assert reason in missing[subject]


def test_a_case_that_a_statement_and_a_table_have_is_in_as_many_blocks_as_the_statement_needs():
    both, table = Need(case="question/a[n=3,kind=process]@free"), Need(case="question/a[n=4,kind=process]@free")
    blocks, _ = study.choose(FOUND, [both, table, msgspec.structs.replace(both, blocks=17)])
    assert {case.name: number for case, number in blocks.items()} == {both.case: 17, table.case: 6}


def test_what_a_probe_lacks_here_is_missing_with_what_to_install():
    lacking = msgspec.structs.replace(SWEPT, lacks="wrk is not installed: apt-get install wrk")
    found = Catalog(probes={"question/a": Probe(path=Path("a"), descriptor=lacking)}, skips=())
    cases, [skip] = study.choose(found, [Need(case="question/a")])
    assert cases == {}
    assert (skip.subject, skip.reason) == ("question/a", "wrk is not installed: apt-get install wrk")


class Said(Silent):
    """What the lab says, kept."""

    def __init__(self):
        self.sentences = []

    def say(self, sentence):
        self.sentences.append(sentence)


WANTED = {"question/a": 20, "question/b": 6}


@pytest.mark.parametrize(("left_s", "blocks"), [(None, 20), (40, 20), (20, 11), (7, 2), (0.1, 1)])
def test_a_budget_has_as_many_blocks_as_it_has_room_for_and_no_more_than_the_verdicts_need(left_s, blocks):
    said = Said()
    wanted = {a_case(name): number for name, number in WANTED.items()}
    asked = study.PlannedBlocks(wanted, said, None)
    assert asked.plan([a_planned(case, run_s=1.0) for case in wanted], {}, left_s).blocks == blocks
    assert [f"room for {blocks} of 20 blocks" in one for one in said.sentences] == [True] * (blocks < 20)
    assert [asked.enough(block) for block in (blocks - 1, blocks)] == [False, True]


def test_a_study_is_meant_by_its_name_or_the_beginning_of_its_id():
    library = studies.library()
    assert [one.source.name for one in study.meant(library, ["linux-ipc"])] == ["linux-ipc"]
    assert {one.source.name for one in study.meant(library, ["wzxue"])} >= {"cache-tuning", "code-tuning"}
    with pytest.raises(StudyError, match="did you mean linux-ipc"):
        study.meant(library, ["linux-ipcs"])


@pytest.mark.parametrize("most", [2, 5, 8, 40])
def test_thinned_values_keep_both_ends(most):
    found = study.thinned(POWERS, most)
    assert (found[0], found[-1], len(found)) == (POWERS[0], POWERS[-1], min(most, len(POWERS)))
    assert sorted(set(found)) == found
