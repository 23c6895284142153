# SPDX-License-Identifier: Apache-2.0
from html.parser import HTMLParser

import pytest
from msgspec.structs import replace

from steelyard.judge import rules
from steelyard.judge.report import report
from steelyard.show import html
from tests.reporting import MARKUP, a_full_session, a_page, hostile, the_golden_session

VOID = {"meta", "br", "col", "link"}


class Outline(HTMLParser):
    """Elements of a page, and whether each is closed by its own end."""

    def __init__(self):
        super().__init__()
        self.elements = []
        self.open = []

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open, tag
        assert self.open.pop() == tag


def page(*sessions):
    made = report(sessions)
    return html.page(made, rules.check(made))


def outline(text):
    found = Outline()
    found.feed(text)
    assert found.open == []
    return found.elements


@pytest.fixture(scope="module")
def full():
    return a_page()


def test_everything_that_a_page_must_say_is_there(full):
    for words in (
        "Example CPU",
        "machine key 0123456789ab",
        "How sure",
        "The price list",
        "What others say",
        "Doubts",
        "How often we are wrong",
        "Twelve rules",
        "How to repeat it",
        "Compared",
    ):
        assert words in full, words


def test_the_page_is_well_formed_and_its_links_lead_to_its_sections(full):
    elements = outline(full)
    ids = [attributes["id"] for _, attributes in elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    targets = [attributes["href"] for tag, attributes in elements if tag == "a"]
    assert targets
    assert {target.removeprefix("#") for target in targets} <= set(ids)


def test_nothing_is_loaded_from_anywhere(full):
    for tag, attributes in outline(full):
        assert tag not in {"link", "img", "iframe", "object", "embed", "form", "base"}
        assert not {"src", "srcset", "action", "background"} & set(attributes)
        assert not any(name.startswith("on") for name in attributes)


def test_the_policy_allows_two_texts_and_no_network(full):
    [policy] = [a["content"] for tag, a in outline(full) if a.get("http-equiv") == "Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe-eval" not in policy
    assert "unsafe-inline" not in policy
    assert "http" not in policy


def test_the_scripts_are_there_once_and_the_page_is_small(full):
    assert len([1 for tag, a in outline(full) if tag == "script" and a.get("type") == "module"]) == 1
    assert len(full.encode()) < 5_000_000


def test_no_string_of_a_hostile_session_becomes_an_element(full):
    text = page(hostile(a_full_session()))
    assert {tag for tag, _ in outline(text)} <= {tag for tag, _ in outline(full)}
    own, script, _ = text.partition('<script type="module">')
    assert script
    assert "<script>window" not in own
    assert "<img" not in own
    assert own.count("<script") == own.count("</script>") > 0
    assert MARKUP.partition("<")[0] not in own


def test_a_void_session_says_so_before_anything_else():
    made = report([the_golden_session()])
    judged = made.sessions[0]
    void = replace(made, sessions=(replace(judged, findings=replace(judged.findings, void="identical copies: +9 %")),))
    text = html.page(void, rules.check(void))
    assert text.index("VOID, do not use these figures") < text.index("The price list")


def test_an_unfinished_session_says_so():
    assert "The session is not complete" in page(replace(a_full_session(), end=None))
