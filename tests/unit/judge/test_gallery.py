# SPDX-License-Identifier: Apache-2.0
import pytest

from steelyard.judge.findings import judge
from steelyard.judge.gallery import among, gallery, name_of
from tests.publishing import a_publication, a_session

CALL = "call/direct@same"
OTHER = {"cpu": "Intel(R) Xeon(R) CPU @ 2.20GHz"}


@pytest.fixture(scope="module")
def two():
    """A slower machine, whose name comes first, and a quicker one, which was measured twice."""
    return [
        a_publication(seed=2, factor=0.5, started="2026-01-03T00:00:00+00:00", **OTHER),
        a_publication(seed=1, usd_an_hour=0.36),
        a_publication(seed=3, factor=3.0, **OTHER),
    ]


def test_machines_stand_in_the_order_of_their_names_whatever_they_cost(two):
    names = [machine.name for machine in gallery(two).machines]
    assert names == ["AMD EPYC 7B13, 2 CPUs, 8 GiB", "Intel(R) Xeon(R) CPU @ 2.20GHz, 2 CPUs, 8 GiB"]
    assert [machine.name for machine in gallery(two[::-1]).machines] == names


def test_the_newest_session_stands_for_a_machine(two):
    intel = gallery(two).machines[1]
    assert [one.seed for one in intel.sessions] == [2, 3]
    assert intel.newest.seed == 2


def test_a_mechanism_has_its_cases_over_all_machines(two):
    found = {one.probe.probe: one for one in gallery(two).mechanisms}
    [row] = found["call/direct"].rows
    assert row.case == CALL
    assert [entry.figure.median for entry in row.entries] == pytest.approx([1.4e-9, 0.7e-9], rel=0.01)
    assert found["call/direct"].called == "function call"
    assert [one.called for one in gallery(two).mechanisms] == sorted(one.called for one in found.values())


def test_a_price_is_shared_by_the_cpus_and_stands_for_what_one_of_them_does(two):
    rows = {row.case: row for one in gallery(two).mechanisms for row in one.rows}
    priced, other = rows[CALL].entries
    # 1.4 ns times 10⁹ is 1.4 s of one of two CPUs, at 0.36 USD an hour for both.
    assert priced.usd == pytest.approx(1.4 * 0.36 / 3600 / 2, rel=0.01)
    assert other.usd is None
    assert rows["message/latency_pipe[size=1,kind=process]@cross"].entries[0].usd is None


def test_a_machine_is_called_by_what_it_is_hired_as():
    assert name_of({"cpu": "AMD EPYC", "logical cpus": "2"}, "m7a.large") == "m7a.large, AMD EPYC, 2 CPUs"
    assert name_of({"instance type": "c7g.large", "cpu": "unknown"}, "") == "c7g.large, ? CPUs"


def test_a_session_lies_among_the_machines_by_whether_the_intervals_overlap(two):
    found = {one.case.case: one for one in among(judge(a_session(factor=0.5, seed=9)), two)}
    call = found[CALL]
    assert call.machines == 2
    assert (call.below, call.above) == ((), ("AMD EPYC 7B13, 2 CPUs, 8 GiB",))
    assert call.overlapping == ("Intel(R) Xeon(R) CPU @ 2.20GHz, 2 CPUs, 8 GiB",)
    assert (call.least, call.most) == pytest.approx((0.7e-9, 1.4e-9), rel=0.01)
    assert not [name for name in found if name.startswith("null/")]


def test_a_session_is_not_set_against_itself(two):
    [only] = [one for one in among(judge(a_session(seed=1)), two) if one.case.case == CALL]
    assert only.machines == 1
    assert only.below == ("Intel(R) Xeon(R) CPU @ 2.20GHz, 2 CPUs, 8 GiB",)


def test_without_an_interval_nothing_tells_machines_apart(two):
    session = a_session(seed=9, factor=100.0)
    few = judge(type(session)(**{f: getattr(session, f) for f in session.__struct_fields__} | {
        "runs": tuple(run for run in session.runs if run.block <= 3)
    }))  # fmt: skip
    [call] = [one for one in among(few, two) if one.case.case == CALL]
    assert (call.below, call.above, len(call.overlapping)) == ((), (), 2)
