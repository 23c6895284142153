# SPDX-License-Identifier: Apache-2.0
import gzip

import msgspec
import pytest

from steelyard.errors import PublishError
from steelyard.judge import plausible
from steelyard.judge.findings import judge
from steelyard.judge.publication import prepare
from steelyard.keep import publication as kept
from steelyard.keep import session as sessions
from steelyard.records import Imported
from tests.publishing import COSTS, ENVIRONMENT, FACTS, a_publication, a_session, known, prepared
from tests.reporting import CONTROLS, GOLDEN


def test_it_has_the_figures_of_every_case_with_their_intervals():
    session = a_session()
    of = prepared(session).publication
    assert [case.case for case in of.cases] == list(COSTS)
    for case, found in zip(of.cases, judge(session).cases, strict=False):
        figure = case.figures["operation"]
        assert figure.median == pytest.approx(found.main.median, rel=1e-5)
        assert (figure.low, figure.high) == pytest.approx((found.main.low, found.main.high), rel=1e-5)
        assert figure.n == found.main.n == 8


def test_a_cost_with_an_overhead_is_also_there_without_it():
    cases = {case.case: case for case in a_publication().cases}
    assert cases["call/direct@same"].net.median == pytest.approx(1.1e-9, rel=0.02)
    assert cases["call/loop@same"].net is None


def test_it_says_how_it_was_measured_and_on_what():
    of = a_publication(instance="n2d-standard-2", usd_an_hour=0.1)
    assert (of.steelyard, of.date, of.seed, of.blocks) == ("0.1.0", "2026-01-02", 7, 8)
    assert (of.instance, of.usd_an_hour) == ("n2d-standard-2", 0.1)
    assert of.facts["cpu"] == FACTS["cpu"]
    assert of.facts["microcode"] == ENVIRONMENT["microcode"]
    assert {control.name for control in of.controls} == {"identical copies", "planted difference"}
    assert of.digest == of.checksum


def test_it_says_what_is_left_out():
    session = a_session()
    ours = {name: found for name, found in known(session).items() if name != "switch/yield"}
    found = prepare(session, ours)
    assert found.strangers == ("switch/yield[contexts=2,kind=thread]@same",)
    assert found.unlisted == ("kernel version", "boot id")
    assert all("yield" not in case.case for case in found.publication.cases)


@pytest.mark.parametrize(
    "change",
    [
        {"placements": ("free",)},
        {"parameters": ()},
        {"metrics": ()},
    ],
)
def test_a_case_that_its_probe_does_not_know_is_left_out(change):
    session = a_session()
    ours = known(session)
    name = "switch/yield"
    changed = msgspec.structs.replace(ours[name], **change)
    if not changed.metrics:
        other = msgspec.structs.replace(ours[name].metrics[0], name="other")
        changed = msgspec.structs.replace(ours[name], metrics=(other,))
    found = prepare(session, ours | {name: changed})
    assert found.strangers == ("switch/yield[contexts=2,kind=thread]@same",)


def test_a_choice_that_its_probe_does_not_offer_is_left_out():
    session = a_session()
    ours = known(session)
    parameters = tuple(
        msgspec.structs.replace(one, choices=("process",)) if one.name == "kind" else one
        for one in ours["switch/yield"].parameters
    )
    changed = msgspec.structs.replace(ours["switch/yield"], parameters=parameters)
    assert prepare(session, ours | {"switch/yield": changed}).strangers


def test_controls_are_no_cases_of_it():
    assert not {case.case for case in a_publication().cases} & CONTROLS.keys()


def timeless(session):
    """The same session whose null probe took no time: it is void."""
    runs = tuple(
        msgspec.structs.replace(run, values=tuple(msgspec.structs.replace(value, wall_ns=0) for value in run.values))
        if run.case in CONTROLS
        else run
        for run in session.runs
    )
    return msgspec.structs.replace(session, runs=runs)


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (timeless, "is void"),
        (lambda session: msgspec.structs.replace(session, end=None), "not complete"),
        (
            lambda session: msgspec.structs.replace(
                session, runs=tuple(run for run in session.runs if run.case not in CONTROLS)
            ),
            "has no controls",
        ),
        (
            lambda session: msgspec.structs.replace(
                session,
                header=msgspec.structs.replace(
                    session.header, imported=Imported(tool="x", path="y", sha256="z", processes_known=True)
                ),
            ),
            "from another tool",
        ),
    ],
)
def test_a_session_that_nobody_should_rely_on_is_refused(spoil, why):
    with pytest.raises(PublishError, match=why):
        prepared(spoil(a_session()))


def test_a_session_without_a_probe_of_ours_is_refused():
    with pytest.raises(PublishError, match="no case that may be published"):
        prepare(a_session(), {})


def test_a_first_session_is_at_most_50_kb_and_can_be_true():
    contents = gzip.decompress((GOLDEN / "first.session.jsonl.gz").read_bytes())
    session = sessions.decode(contents, "first")
    found = prepared(session)
    text = found.publication.text.encode()
    assert len(text) <= 50_000
    assert kept.decode(text, "first") == found.publication
    assert plausible.objection(found.publication, "2026-12-31") is None
    assert found.strangers == ()
    assert len(found.publication.cases) == len([case for case in judge(session).cases if not case.control])
