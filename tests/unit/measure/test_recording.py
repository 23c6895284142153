# SPDX-License-Identifier: Apache-2.0
"""The events of the kernel's tracer become lives: who ran for how long, who slept, and who woke whom."""

import json

from steelyard.measure import recording
from steelyard.measure.recording import Lives

OBSERVER = 77


def line(us, rest, *, current=100, cpu=0, flags="d..2."):
    return f"        task-{current}     [{cpu:03}] {flags} {us // 1_000_000}.{us % 1_000_000:06}: {rest}"


def switch(us, before, after, *, state="S", cpu=0, names=("a", "b")):
    rest = (
        f"sched_switch: prev_comm={names[0]} prev_pid={before} prev_prio=120 prev_state={state} ==> "
        f"next_comm={names[1]} next_pid={after} next_prio=120"
    )
    return line(us, rest, current=before, cpu=cpu)


def woken(us, pid, *, current=100, event="sched_wakeup", flags="d..2.", name="b", cpu=0):
    rest = f"{event}: comm={name} pid={pid} prio=120 target_cpu=000"
    return line(us, rest, current=current, flags=flags, cpu=cpu)


def kept(lines, tasks=0):
    lives = Lives(own=OBSERVER)
    lives.read(lines)
    head, *rest = [json.loads(one) for one in lives.lines(started="now", cpus=1, tasks=tasks)]
    return head, rest


def test_who_is_woken_by_another_waits_for_it_and_who_is_woken_by_a_timer_sleeps():
    head, lives = kept(
        [
            switch(1000, 0, 100, state="R"),
            woken(1010, 200, event="sched_waking"),
            woken(1011, 200),
            switch(1030, 100, 200),
            switch(1070, 200, 0),
            woken(1500, 100, current=0, event="sched_waking", flags="d.h2."),
            woken(1501, 100, current=0, flags="d.h2."),
            switch(1505, 0, 100, state="R"),
            switch(1525, 100, 0),
        ]
    )
    assert head["switches"] == 5
    assert head["length_ns"] == 525_000
    first, second = lives
    assert first["beginning"] == "awake"
    assert first["acts"] == [
        ["run", 10_000],
        ["wake", 1],
        ["run", 20_000],
        ["sleep", 471_000],
        ["run", 20_000],
        ["wait", 0],
    ]
    assert second["beginning"] == "asleep"
    assert second["acts"] == [["wait", 0], ["run", 40_000], ["wait", 0]]


def test_a_wake_up_of_who_had_not_gone_to_sleep_is_none():
    _, [first, second] = kept(
        [
            switch(1000, 0, 100, state="R"),
            switch(1000, 0, 200, state="R", cpu=1),
            woken(1010, 200, event="sched_waking"),
            woken(1011, 200),
            switch(1030, 100, 0),
            switch(1050, 200, 0, cpu=1),
        ]
    )
    assert [act for act in first["acts"] if act[0] == "wake"] == []
    assert second["acts"][0] == ["run", 50_000]


def test_the_taken_cpu_comes_back_and_the_run_goes_on():
    _, [first, _] = kept(
        [
            switch(1000, 0, 100, state="R"),
            switch(1010, 100, 200, state="R+"),
            switch(1020, 200, 100),
            switch(1040, 100, 0),
        ]
    )
    assert first["acts"] == [["run", 30_000], ["wait", 0]]


def test_a_thread_that_becomes_another_program_changes_its_number_while_it_runs():
    _, [thread, first] = kept(
        [
            switch(1000, 0, 101, state="R"),
            switch(1000, 0, 100, state="R", cpu=1),
            switch(1010, 100, 0, cpu=1),
            line(1015, "sched_process_exec: filename=/bin/x y pid=100 old_pid=101", current=100),
            switch(1040, 100, 0),
            woken(1050, 101, current=0),
            switch(1100, 0, 101, state="R"),
            switch(1105, 101, 0, state="X"),
        ]
    )
    assert thread["acts"] == [["run", 40_000], ["wait", 0]]
    assert first["acts"] == [["run", 10_000], ["sleep", 40_000], ["run", 5_000], ["end", 0]]


def test_a_switch_that_nobody_saw_is_counted_and_no_time_is_run_twice():
    head, lives = kept(
        [
            switch(1000, 0, 100, state="R"),
            switch(1010, 100, 200, state="R+"),
            switch(1050, 100, 0),
            woken(1070, 200, current=0),
            switch(1071, 0, 200, state="R"),
            switch(1076, 200, 0),
        ]
    )
    assert head["lost"] == 1
    runs = [sum(number for kind, number in life["acts"] if kind == "run") for life in lives]
    assert runs == [50_000, 5_000]


def test_a_child_is_born_by_its_parent_and_ends():
    _, [parent, child] = kept(
        [
            switch(1000, 0, 100, state="R"),
            woken(1020, 300, event="sched_wakeup_new"),
            switch(1040, 100, 300),
            switch(1090, 300, 0, state="X", names=("child", "swapper")),
        ]
    )
    assert parent["acts"] == [["run", 20_000], ["wake", 1], ["run", 20_000], ["wait", 0]]
    assert child == {"of": child["of"], "nice": 0, "beginning": "unborn", "acts": [["run", 50_000], ["end", 0]]}


def test_the_observer_is_left_out_and_what_it_interrupts_goes_on():
    head, lives = kept(
        [
            switch(1000, 0, 100, state="R"),
            switch(1010, 100, OBSERVER, state="R+"),
            switch(1020, OBSERVER, 100),
            switch(1030, 100, 0),
        ]
    )
    assert head["switches"] == 2
    assert [life["acts"] for life in lives] == [[["run", 20_000], ["wait", 0]]]


def test_for_how_long_the_queue_was_how_long_is_kept_exactly():
    lives = Lives(own=OBSERVER)
    lives.read(
        [
            switch(1000, 0, 100, state="R"),
            woken(1100, 200, event="sched_wakeup"),
            switch(1300, 100, 200),
            switch(1600, 200, 0),
            switch(2000, 0, 100, state="R"),
        ]
    )
    assert lives.time_at_length_ns() == [400_000, 400_000, 200_000]


def test_events_that_the_kernel_had_no_room_for_are_counted():
    head, _ = kept([switch(1000, 0, 100, state="R"), "CPU:1 [LOST 45 EVENTS]", switch(1010, 100, 0)])
    assert head["lost"] == 45


def test_names_that_look_like_events_do_no_harm():
    evil = "x pid=1 prio=1 ==> next_pid=5"
    _, lives = kept(
        [switch(1000, 0, 100, state="R", names=("swapper", evil)), switch(1010, 100, 0, names=(evil, "swapper"))]
    )
    assert lives[0]["acts"] == [["run", 10_000], ["wait", 0]]


def test_tasks_that_did_nothing_exist_too_because_old_kernels_recalculate_them():
    head, lives = kept([switch(1000, 0, 100, state="R"), switch(1010, 100, 0)], tasks=5)
    assert head["tasks"] == len(lives) == 5
    assert head["classes"][lives[-1]["of"]] == "asleep throughout"


def test_threads_that_differ_by_a_number_are_of_one_class():
    assert {recording._class(name) for name in ("kworker/0:1-events", "kworker/u8:2", "kworker/1:0H")} == {
        "kworker",
        "kworker/u",
    }
    assert recording._class("7z") == "7z"
