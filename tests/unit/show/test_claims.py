# SPDX-License-Identifier: Apache-2.0
"""Claims as a person reads them: the verdict is a word, and statement, evidence, source and mistake stand beside it."""

import io

import msgspec
import pytest

from steelyard.judge import studies
from steelyard.judge.claims import ClaimVerdict
from steelyard.judge.verdicts import judge_claims
from steelyard.show import claims
from steelyard.show.console import Console
from steelyard.show.visible import json_text
from tests.unit.judge.sessions import noisy, steady, weighed

CALLS = {"call/syscall@same": steady(150e-9), "call/direct@same": steady(1.4e-9)}


def printed(session, width=150, *, every=True):
    stream = io.StringIO()
    claims.show(judge_claims(session), Console(file=stream, width=width), every=every)
    return stream.getvalue()


def entry(text, name):
    """The lines of one claim, joined."""
    lines = text.splitlines()
    start = next(number for number, line in enumerate(lines) if line.endswith(f"  {name}"))
    end = next((number for number in range(start, len(lines)) if not lines[number].strip()), len(lines))
    return " ".join(" ".join(lines[start:end]).split())


def test_a_claim_that_fails_says_why_and_where_the_source_was_wrong():
    text = entry(printed(weighed(CALLS)), "system-call-negligible")
    assert text.startswith("FAILS system-call-negligible claim Entering the kernel costs at most 2.5 times")
    assert "here 107 times [" in text
    assert "(call/syscall@same over call/direct@same, 8 blocks); claimed: at most 2.50" in text
    assert "call/syscall@same operation 150 ns [" in text
    assert "said getpid() takes 4.36 ns" in text
    assert "but It is the study's own first reading" in text


def test_the_verdict_is_told_by_a_word():
    text = printed(weighed(CALLS | {"call/cached@same": noisy(2.6e-9)}, skips={"switch/sleep": "no such clock"}))
    assert entry(text, "system-call-order-of-magnitude").startswith("HOLDS ")
    assert entry(text, "remembered-pid-twice-a-call").startswith("UNDECIDED ")
    assert entry(text, "usleep-zero-50-us").startswith("NOT COMPARABLE ")
    assert "why switch/sleep: no such clock" in entry(text, "usleep-zero-50-us")
    assert entry(text, "mutex-flat").startswith("NOT MEASURED ")
    assert "why the session has no lock/mutex" in entry(text, "mutex-flat")


def test_the_answered_come_first_in_each_source_and_are_counted():
    text = printed(weighed(CALLS))
    words = {verdict.value.upper() for verdict in ClaimVerdict}
    claims = {item.claim.id: item.source.id for item in studies.library().claims}
    by_source = {}
    for verdict, name in (line.split("  ", 1) for line in text.splitlines() if line.split("  ")[0] in words):
        by_source.setdefault(claims[name.strip()], []).append(not verdict.startswith("NOT "))
    assert all(answered == sorted(answered, reverse=True) for answered in by_source.values())
    found = judge_claims(weighed(CALLS)).findings
    holds, fails = (
        sum(one.verdict is verdict and not one.simulated for one in found)
        for verdict in (ClaimVerdict.HOLDS, ClaimVerdict.FAILS)
    )
    assert f"{holds} holds, {fails} fails, 0 undecided, 0 not comparable, " in text


def test_only_what_was_answered_is_printed_and_the_rest_is_counted():
    """Four answers among 300 claims are some 60 lines, and not 2,060."""
    text = printed(weighed(CALLS), every=False)
    assert "FAILS  system-call-negligible" in text
    assert "NOT MEASURED  " not in text
    assert len(text.splitlines()) < 100
    kept = sum(line.startswith(("HOLDS  ", "FAILS  ", "UNDECIDED  ")) for line in text.splitlines())
    unanswered = len(studies.library().claims) - kept
    assert f"{unanswered} claims that this session does not answer are left out: `steelyard claims --all`" in text


def test_the_method_stands_below():
    text = " ".join(printed(weighed(CALLS)).split())
    assert "sign flips of whole blocks" in text
    assert "one wrong verdict is held at 4%" in text


def test_an_undecided_claim_says_what_would_decide():
    text = entry(printed(weighed({case: costs[:4] for case, costs in CALLS.items()})), "system-call-negligible")
    assert "without an interval" in text
    assert "to tell 2 blocks more give the first interval, under a minute" in text


@pytest.mark.parametrize("width", [60, 150])
def test_growth_is_put_in_words(width):
    costs = {f"depth/yield_from[depth={n}]@same": steady(1e-6 + n * 1e-7) for n in (1, 3, 10, 30, 100)}
    text = entry(printed(weighed(costs), width), "yield-from-linear")
    assert text.startswith("HOLDS ")
    assert "grows as n over depth" in text


def test_many_doubts_are_cut():
    session = weighed(CALLS)
    runs = tuple(msgspec.structs.replace(run, caveats=(f"doubt {number}",)) for number, run in enumerate(session.runs))
    text = entry(printed(msgspec.structs.replace(session, runs=runs)), "system-call-negligible")
    assert "doubt 2" in text
    assert "doubt 3" not in text
    assert "and 13 more" in text


def test_objects_hold_everything_for_programs():
    objects = claims.as_json(judge_claims(weighed(CALLS)))
    by_id = {one["id"]: one for one in msgspec.json.decode(json_text(objects))}
    found = by_id["system-call-negligible"]
    assert found["verdict"] == "fails"
    assert found["ranges"][0]["value"] == pytest.approx(107, rel=0.01)
    assert found["source"]["year"] == 2014
    assert found["void"] is None
    assert by_id["mutex-flat"]["verdict"] == "not measured"


def test_the_short_form_has_a_line_for_each_answered_claim_and_no_evidence():
    shown = io.StringIO()
    claims.show_short(judge_claims(weighed(CALLS)), Console(file=shown, width=170))
    text = shown.getvalue()
    assert "FAILS" in text
    assert "Entering the kernel costs at most 2.5 times a function call" in text
    assert "NOT MEASURED  " not in text
    assert "not measured" in text
    assert "claimed:" not in text


def test_what_a_verdict_rests_on_is_said_in_words_beside_the_names_of_cases():
    session = weighed(CALLS, titles={"call/syscall": "system call", "call/direct": "function call"})
    text = entry(printed(session), "system-call-negligible")
    assert "(system call, one CPU over function call, one CPU, 8 blocks); claimed: at most 2.50" in text
    assert "system call (call/syscall@same) operation 150 ns [" in text
