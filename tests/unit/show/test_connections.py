# SPDX-License-Identifier: Apache-2.0
"""The table of the memory that a connection takes."""

import io

import pytest

from steelyard.judge.connections import Held, Holder
from steelyard.show import connections
from steelyard.show.console import Console

FOUND = (
    Holder(
        probe="serve/thread",
        title="thread a connection",
        at=(Held(connections=10, idle=9216.0, waiting=10240.0), Held(connections=10_000, idle=8192.0, waiting=8192.0)),
    ),
    Holder(probe="serve/thread_pool", title="thread pool", at=(Held(connections=10, idle=512.0),)),
)


def test_each_number_of_connections_has_a_column_for_idle_and_for_in_the_wait():
    lines = connections.as_markdown(FOUND)
    assert lines[0] == "| model | 10 idle | 10 in the wait | 10000 idle | 10000 in the wait |"
    assert "| thread a connection | 9 KiB | 10 KiB | 8 KiB | 8 KiB |" in lines
    assert "| thread pool | 512 B | – | – | – |" in lines
    assert lines[-1] == connections.LEGEND


@pytest.mark.parametrize("width", [50, 120])
def test_a_terminal_shows_all_of_it(width):
    out = io.StringIO()
    connections.show(FOUND, Console(file=out, width=width))
    text = out.getvalue()
    assert all(len(line) <= width for line in text.splitlines())
    assert text.count("thread pool") == (1 if width == 120 else 2)
    assert "8 KiB" in text
    assert "a kernel's stack" in " ".join(text.split())


def test_who_did_not_look_prints_nothing():
    out = io.StringIO()
    connections.show((), Console(file=out, width=100))
    assert out.getvalue() == ""
