# SPDX-License-Identifier: Apache-2.0
from html.parser import HTMLParser

import msgspec
import pytest

from steelyard.judge.comparisons import compare_sessions
from steelyard.judge.findings import judge
from steelyard.judge.history import history
from steelyard.keep.session import read
from steelyard.show import ui
from tests.many import WHOLE
from tests.unit.judge.test_history import stepped

SESSION = read(WHOLE)


class Elements(HTMLParser):
    """All elements with their attributes, and all text."""

    def __init__(self, page):
        super().__init__()
        self.elements, self.text = [], ""
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))

    def handle_data(self, data):
        self.text += data

    def named(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]


def listed(number, header=SESSION.header):
    return ui.Listed(name=f"{number}.session.jsonl", header=header, blocks=8)


HISTORY = history("example/steady@same", stepped())
PAGES = {
    "list": lambda: ui.sessions([listed(1), listed(2)], "", 2, "folder", ["x.session.jsonl is broken"]),
    "empty list": lambda: ui.sessions([], "nothing", 2, "folder", []),
    "session": lambda: ui.session("1.session.jsonl", judge(SESSION)),
    "comparison": lambda: ui.compared(("a", "b"), compare_sessions(SESSION, SESSION, margin=0.02)),
    "question": lambda: ui.ask_history(["a/b@same"], "a", "there is no such case"),
    "history": lambda: ui.case_history(HISTORY, ["a/b@same"], {f"{n}.session.jsonl": f"{n}" for n in range(16)}),
    "message": lambda: ui.message("Not Found", "There is no such page."),
}


@pytest.mark.parametrize("make", PAGES.values(), ids=PAGES.keys())
def test_a_page_has_no_script_no_style_of_its_own_and_no_foreign_address(make):
    page = Elements(make())
    assert page.named("script") == page.named("style") == page.named("iframe") == []
    for tag, attributes in page.elements:
        assert not any(name.startswith("on") or name == "style" for name in attributes), tag
        for name in ("href", "src", "action"):
            assert attributes.get(name, "/").startswith(("/", "#")), attributes
            assert not attributes.get(name, "/").startswith("//"), attributes


@pytest.mark.parametrize("make", PAGES.values(), ids=PAGES.keys())
def test_a_page_can_be_used_by_keyboard_and_screen_reader(make):
    page = Elements(make())
    assert page.named("html") == [{"lang": "en"}]
    assert len(page.named("h1")) == len(page.named("main")) == 1
    assert page.named("a")[0]["href"] == "#contents"
    for field in page.named("input"):
        assert "aria-label" in field or field["type"] != "checkbox"
    for scrolled in page.named("div"):
        if scrolled.get("class") == "scroll":
            assert scrolled["tabindex"] == "0"
    assert all(drawing.get("aria-label") for drawing in page.named("svg"))


def test_all_words_of_a_filter_must_be_there():
    one = listed(1)
    assert one.matches("")
    assert one.matches("2026-01-02 EXAMPLE cpu swept")
    assert not one.matches("example nothing")


def test_a_long_list_says_what_it_leaves_out():
    page = Elements(ui.sessions([listed(number) for number in range(250)], "", 250, "folder", []))
    assert len([field for field in page.named("input") if field["type"] == "checkbox"]) == ui.MOST_ROWS
    assert f"the newest {ui.MOST_ROWS} are shown" in page.text


def test_a_verdict_is_a_word_as_well_as_a_colour():
    found = compare_sessions(SESSION, SESSION, margin=0.02)
    case = msgspec.structs.replace(found.cases[0], verdict="different", worse=True)
    page = Elements(ui.compared(("a", "b"), msgspec.structs.replace(found, cases=(case,))))
    assert "different, worse" in page.text


def test_a_void_session_says_so_first():
    page = Elements(ui.session("a", msgspec.structs.replace(judge(SESSION), void="the controls failed")))
    assert "VOID, do not use these figures. the controls failed" in page.text


def test_an_address_carries_any_name_safely():
    assert ui.link("session", session="a&b=c/../é") == "/session?session=a%26b%3Dc%2F..%2F%C3%A9"
