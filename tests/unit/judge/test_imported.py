# SPDX-License-Identifier: Apache-2.0
"""How imported sessions are judged: as files, because nothing pairs their runs."""

import math

import msgspec
import pytest

from steelyard.judge import comparisons
from steelyard.judge.imported import as_file, with_only
from steelyard.judge.studies import library
from steelyard.judge.verdicts import ClaimVerdict, judge_claims
from steelyard.records import Imported, Session
from steelyard.show.reasons import said
from tests.unit.judge.sessions import steady, weighed

COSTS = {"call/direct@same": steady(1e-6), "call/indirect@same": steady(1.4e-6)}


def an_import(costs: dict[str, list[float]] = COSTS, *, processes: bool = True) -> Session:
    """A session that says that it was imported."""
    session = weighed(costs)
    origin = Imported(tool="pyperf", path="file.json", sha256="00", processes_known=processes)
    return msgspec.structs.replace(session, header=msgspec.structs.replace(session.header, imported=origin))


def test_a_file_has_the_samples_without_controls_and_failures():
    session = weighed({**COSTS, "call/syscall@same": [None] * 8})
    file = as_file(session)
    assert [sample.name for sample in file.samples] == list(COSTS)
    assert file.samples[0].runs == pytest.approx(COSTS["call/direct@same"])
    assert all(sample.processes_known for sample in file.samples)


def test_samples_are_chosen_and_renamed():
    assert [sample.name for sample in with_only(as_file(weighed(COSTS)), {"call/direct@same": "a"}).samples] == ["a"]


def test_two_imports_are_compared_as_their_files_would_be():
    a, b = an_import(), an_import({name: [1.3 * cost for cost in costs] for name, costs in COSTS.items()})
    found = comparisons.compare_sessions(a, b, margin=0.02)
    files = comparisons.compare_files(as_file(a), as_file(b), margin=0.02)
    assert found.kind == "files"
    assert found.cases == files.cases
    assert {case.verdict for case in found.cases} == {"different"}


def test_repetitions_of_one_process_get_a_wider_interval_than_processes():
    widths = []
    for processes in (True, False):
        a, b = an_import(processes=processes), an_import(processes=processes)
        case = comparisons.compare_sessions(a, b, margin=0.02).cases[0]
        widths.append(math.log(case.high / case.low))
    assert widths[1] > 1.2 * widths[0]


def test_an_import_against_a_session_counts_as_two_files():
    found = comparisons.compare_sessions(weighed(COSTS), an_import(), margin=0.02)
    assert found.kind == "files"
    assert any("not interleaved" in said(caveat) for caveat in found.caveats)


def test_two_cases_of_an_import_are_not_paired_by_blocks():
    pair = [("direct", "call/indirect@same", "call/direct@same")]
    own = comparisons.compare_cases(weighed(COSTS), pair, ("a", "b"), margin=0.02)
    foreign = comparisons.compare_cases(an_import(), pair, ("a", "b"), margin=0.02)
    assert (own.kind, foreign.kind) == ("blocks", "files")
    assert (foreign.a, foreign.b, foreign.cases[0].case) == ("a", "b", "direct")
    assert foreign.cases[0].high - foreign.cases[0].low > own.cases[0].high - own.cases[0].low


def test_no_claim_is_judged_by_an_import():
    found = judge_claims(an_import(), library().claims).findings
    verdicts = {finding.verdict for finding in found if not finding.simulated}
    assert verdicts <= {ClaimVerdict.NOT_COMPARABLE, ClaimVerdict.NOT_MEASURED}
