# SPDX-License-Identifier: Apache-2.0
"""What is made of the counts of tasks: differences, tasks that were made or have ended, and what is not countable."""

from steelyard.measure import effort


def a_tree(*looks):
    """The tree of process 7 after these looks, each the counts of tasks by (process, task)."""
    tree = effort._Tree(7)
    for place, look in enumerate(looks):
        tree.note(look, first=place == 0)
    return tree


def test_what_a_task_did_before_does_not_count():
    tree = a_tree({(7, 7): (100, 10, 5, 0, 1000)}, {(7, 7): (103, 10, 9, 1, 4000)})
    assert tree.total() == (3, 0, 4, 1, 3000)


def test_a_task_that_was_made_counts_from_its_beginning_and_is_a_thread_or_a_process():
    tree = a_tree(
        {(7, 7): (0, 0, 0, 0, 0)},
        {(7, 7): (1, 0, 0, 0, 0), (7, 8): (2, 0, 0, 0, 0), (9, 9): (4, 0, 0, 0, 0), (9, 10): (8, 0, 0, 0, 0)},
    )
    assert tree.total()[0] == 15
    assert tree.made() == (1, 2)


def test_a_task_that_has_ended_keeps_what_was_seen_of_it():
    tree = a_tree(
        {(7, 7): (0, 0, 0, 0, 0)}, {(7, 7): (1, 0, 0, 0, 0), (7, 8): (2, 0, 0, 0, 0)}, {(7, 7): (3, 0, 0, 0, 0)}
    )
    assert tree.total()[0] == 5


def test_a_number_that_another_task_got_meanwhile_takes_nothing_away():
    tree = a_tree({(7, 7): (0, 0, 0, 0, 0), (7, 8): (50, 0, 0, 0, 0)}, {(7, 8): (2, 0, 0, 0, 0)})
    assert tree.total()[0] == 0


def test_a_kernel_without_the_tracepoint_of_futexes_counts_the_others(tmp_path, monkeypatch):
    monkeypatch.setattr(effort, "_TRACING", tmp_path)
    monkeypatch.setattr(effort, "_Counter", lambda name, tasks: (name, tasks))
    counters, skips = effort._counters([7])
    assert set(counters) == {"system_calls", "made", "threads"}
    assert [skip.subject for skip in skips] == ["waits for a lock"]


def test_where_there_is_no_tracefs_it_is_said_what_is_missing(tmp_path, monkeypatch):
    monkeypatch.setattr(effort, "_TRACING", tmp_path)
    counters, skips = effort._counters([7])
    assert counters == {}
    assert [skip.subject for skip in skips] == ["system calls", "processes and threads made"]
    assert skips[0].reason.startswith("no tracefs is mounted here: as root, after `mount -t tracefs")
