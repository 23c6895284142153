# SPDX-License-Identifier: Apache-2.0
import io
import json
from xml.etree import ElementTree as ET

import msgspec
import pytest

from steelyard.judge.history import history
from steelyard.show import history as shown
from steelyard.show.console import Console
from tests.unit.judge.test_history import a_past, stepped


def printed(found):
    console = Console(file=io.StringIO(), width=120)
    shown.show(found, console)
    return console.file.getvalue()


CHANGED = history("example/steady@same", stepped(facts={"kernel": "6.12", "compiler": "gcc 12"}), margin=0.02)


def test_a_change_is_told_with_levels_chance_and_what_differed():
    text = printed(CHANGED)
    assert "2026-01-09 00:00: 1.00 s → 1.25 s (+25.0 %), p < 0.0001" in text
    assert "kernel: 6.1 → 6.12" in text
    assert "▲" in text


def test_a_case_is_called_by_the_title_of_its_mechanism_beside_its_name():
    assert printed(CHANGED).startswith("example/steady@same\n"), "it has no title"
    titled = history("call/syscall@same", [a_past(0, title="an old title"), a_past(1, title="system call")])
    assert printed(titled).startswith("system call (call/syscall@same)\n")
    assert shown.as_json(titled)["title"] == "system call"


def test_each_machine_has_its_own_table_and_none_is_ranked():
    text = printed(history("case", stepped(machine_key="two")))
    assert "machine one" in text
    assert "machine two" in text
    assert "not ranked" in text


def test_a_void_session_is_marked():
    pasts = [msgspec.structs.replace(one, void="x" if one.id == "3" else None) for one in stepped()]
    assert "void" in printed(history("case", pasts))


def test_escape_sequences_of_a_file_do_not_reach_the_terminal():
    nasty = "\x1b[2J[red]"
    found = history(nasty, [a_past(0, machine=nasty, machine_key=nasty, path=nasty, started=nasty)])
    assert "\x1b" not in printed(found)


@pytest.mark.parametrize(
    ("numbers", "drawn"),
    [([1, 2, 3], "▁▅█"), ([5, 5], "▁▁"), ([7], "▁"), (range(720), None)],
)
def test_a_curve_runs_from_the_least_to_the_greatest(numbers, drawn):
    curve = shown.sparkline(list(numbers))
    assert drawn in (None, curve)
    assert len(curve) <= 72
    assert sorted(curve) == list(curve)


def test_objects_for_programs_have_every_session_and_name_the_session_of_a_change():
    data = json.loads(msgspec.json.encode(shown.as_json(CHANGED)))
    [machine] = data["machines"]
    assert len(machine["sessions"]) == 16
    assert [change["session"] for change in machine["turns"]] == ["8.session.jsonl"]


def test_the_drawing_has_every_session_and_every_change_inside_its_box():
    [series] = CHANGED.series
    root = ET.fromstring(shown.drawing(series))
    _, _, width, height = map(float, root.attrib["viewBox"].split())
    circles = list(root.iter("circle"))
    assert len(circles) == 16
    assert all(0 < float(one.attrib["cx"]) < width and 0 < float(one.attrib["cy"]) < height for one in circles)
    assert "1 changes" not in root.attrib["aria-label"]
    assert "1 change of level" in root.attrib["aria-label"]
    assert [text.text for text in root.iter("text") if "mark" in text.attrib.get("class", "")] == ["+25.0 %"]


def test_one_session_alone_and_equal_sessions_can_be_drawn():
    for pasts in ([a_past(0, low=None, high=None)], [a_past(n, 2.0, low=2.0, high=2.0) for n in range(3)]):
        [series] = history("case", pasts).series
        assert len(list(ET.fromstring(shown.drawing(series)).iter("circle"))) == len(pasts)
