# SPDX-License-Identifier: Apache-2.0
import io

import msgspec
import pytest

from steelyard.records import Placed, TokenStatus
from steelyard.show import fleet
from steelyard.show.console import Console
from steelyard.show.fleet import Board
from tests.making import a_case, a_header, a_machine


def one(state="queued", token="n1.1", **more) -> TokenStatus:
    return TokenStatus(token=token, node=token.rpartition(".")[0], state=state, **more)


@pytest.fixture
def told():
    """A board that writes into a text, and what it has written."""
    out = io.StringIO()
    board = Board(Console(file=out, width=200))
    return board, lambda: out.getvalue().splitlines()


def a_head(node: str, key="0123456789ab", **facts: str):
    machine = a_machine(key=key)
    machine = msgspec.structs.replace(machine, facts={**machine.facts, **facts})
    return a_header(a_case(), machine=machine, placed=Placed(plan="p", token=f"{node}.1", node=node))


def test_a_summary_counts_what_is_there_and_what_is_not():
    found = [one("delivered"), one("measuring"), one("queued"), one("queued"), one("failed")]
    assert fleet.summary(found) == "1 of 5 sessions are there; 1 measuring, 2 queued, 1 failed"
    assert fleet.summary([one("delivered")]) == "1 of 1 sessions are there"


def test_what_goes_wrong_is_said_once_and_for_a_node_once(told):
    board, lines = told
    found = [
        one("failed", said="no room in /tmp"),
        one("missing", token="n2.1", said="n2 is drained"),
        one("missing", token="n2.2", said="n2 is drained"),
        one("missing", token="n3.1"),
    ]
    board.show(found)
    board.show(found)
    assert [line for line in lines() if "sessions are there" not in line] == [
        "n1.1: failed: no room in /tmp",
        "n2: left out: n2 is drained",
    ]


def test_a_node_that_hangs_is_said_once_however_long_it_does(told):
    board, lines = told
    for minutes in (5, 6, 7):
        board.show([one("silent", said=f"no heartbeat for {minutes} minutes")])
    assert lines()[0] == "n1.1: silent: no heartbeat for 5 minutes"
    assert sum("no heartbeat" in line for line in lines()) == 1


def test_a_session_that_is_begun_again_is_told(told):
    board, lines = told
    for attempts in (1, 1, 2, 2):
        board.show([one("measuring", attempts=attempts, of=9)])
    assert lines().count("n1.1: begun again, attempt 2") == 1


def test_a_log_says_how_far_it_is_but_not_over_and_over(told):
    board, lines = told
    for done in (1, 1, 2):
        board.show([one("measuring", done=done, of=9, left_s=65)])
    assert lines() == ["0 of 1 sessions are there; 1 measuring; n1.1: 1 of 9 runs, about 1 min 05 s to go"]


def test_a_terminal_has_a_bar():
    out = io.StringIO()
    with Board(Console(file=out, width=100, force_terminal=True)) as board:
        board.show([one("delivered"), one("queued", token="n2.1")])
    assert "1 of 2 sessions are there; 1 queued" in out.getvalue()


def test_an_engine_that_is_away_is_said_once_and_that_it_is_back(told):
    board, lines = told
    for _ in range(2):
        board.away("Slurm's controller does not answer")
    board.back()
    board.back()
    assert len(lines()) == 2
    assert "what was placed goes on" in lines()[0]


def test_other_hardware_is_said_with_what_is_other_a_line_a_node():
    headers = {
        "n1.1": a_head("n1"),
        "n2.1": a_head("n2"),
        "n3.1": a_head("n3", "ffffffffffff", memory="4 GiB"),
        "n3.2": a_head("n3", "ffffffffffff", memory="4 GiB"),
    }
    [line] = fleet.other_hardware(headers)
    assert line == "n3: other hardware, judged apart: memory 4 GiB (machine key ffffffffffff)"
    assert fleet.other_hardware({"n1.1": a_head("n1")}) == []


def test_a_status_lists_what_is_not_there_and_prints_what_was_written_as_it_is():
    out = io.StringIO()
    console = Console(file=out, width=100)
    fleet.show_status([one("delivered"), one("failed", token="n2.1", said="[red]\x1b[2J oops")], {}, console)
    assert "n2.1" in out.getvalue()
    assert "[red]␛[2J oops" in out.getvalue()
    assert "1 of 2 sessions are there; 1 failed" in out.getvalue()
    assert fleet.as_json([one()])[0]["token"] == "n1.1"
