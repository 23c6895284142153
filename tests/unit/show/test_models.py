# SPDX-License-Identifier: Apache-2.0
"""Which model serves which load: tables, marks and sentences."""

import io
from pathlib import Path

import msgspec
import pytest

from steelyard.errors import UsageError
from steelyard.judge.connections import Held, Holder
from steelyard.judge.findings import judge
from steelyard.judge.models import Asked, Load, Models, Served, Standing, Threads
from steelyard.judge.reasons import Reason, Why
from steelyard.keep import session as sessions
from steelyard.show import charts, models
from steelyard.show.console import Console

LOOP = Served(probe="serve/epoll", title="epoll loop", case="e", cost_s=60e-6, standing=Standing.CHEAPEST)
THREAD = Served(
    probe="serve/thread", title="a thread", case="t", cost_s=66e-6, standing=Standing.WITHIN, ratio=1.04, high=1.06
)
DEAR = Served(
    probe="serve/thread", title="a thread", case="t", cost_s=90e-6, standing=Standing.DEARER, ratio=1.5, high=1.6
)
UNSURE = Served(
    probe="serve/thread", title="a thread", case="t", cost_s=66e-6, standing=Standing.UNDECIDED, ratio=1.1, high=1.2
)


def load(connections, *served, wait_us=0):
    asked = (
        Asked(name="connections", value=connections),
        Asked(name="wait_us", value=wait_us, seconds=wait_us / 1e6),
    )
    return Load(asked=asked, where="@cross", served=served)


def found(*loads):
    return Models(
        margin=0.1,
        confidence=0.96,
        alike={"work_ns": 5000},
        loads=loads,
        titles={"serve/epoll": "epoll loop", "serve/thread": "a thread"},
        threads=(
            Threads(
                asked=loads[0].asked[1:],
                at=tuple((each.value("connections"), served) for each in loads if (served := each.of("serve/thread"))),
            ),
        ),
    )


FEW = found(load(10, LOOP, THREAD), load(1000, LOOP, DEAR), load(10_000, LOOP))


@pytest.mark.parametrize(
    ("served", "said"),
    [(LOOP, "60.0 µs ●"), (THREAD, "×1.04 ●"), (DEAR, "×1.50"), (UNSURE, "×1.10 ?"), (None, "–")],
)
def test_a_cell_says_how_dear_a_model_is_and_whether_that_is_good_enough(served, said):
    assert models.cell(served) == said


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (Asked(name="wait_us", value=0, seconds=0.0), "no wait"),
        (Asked(name="wait_us", value=20_000, seconds=20e-3), "wait 20 ms"),
        (Asked(name="work_ns", value=500, seconds=5e-7), "work 500 ns"),
        (Asked(name="connections", value=10), "10 connections"),
        (Asked(name="depth", value=3), "depth 3"),
    ],
)
def test_a_setting_is_said_in_words(asked, said):
    assert models.setting(asked) == said


def test_few_loads_are_one_table_and_many_one_for_each_value_of_the_first():
    [sheet] = models.sheets(FEW)
    assert sheet.heads == (
        ("10 connections", "no wait"),
        ("1000 connections", "no wait"),
        ("10000 connections", "no wait"),
    )
    assert dict(sheet.rows)["a thread"] == (THREAD, DEAR, None)
    waits = (0, 1000, 20_000)
    many = found(*(load(connections, LOOP, THREAD, wait_us=us) for connections in (10, 1000, 10_000) for us in waits))
    assert [(sheet.over, len(sheet.heads)) for sheet in models.sheets(many)] == [
        ("10 connections", 3),
        ("1000 connections", 3),
        ("10000 connections", 3),
    ]


def test_it_is_said_where_a_thread_is_no_longer_good_enough():
    assert models.threads(FEW) == ["no wait: good enough up to 10 connections; ×1.50 with 1000"]
    all_good = found(load(10, LOOP, THREAD), load(100, LOOP, THREAD))
    assert models.threads(all_good) == ["no wait: good enough up to 100 connections, the most that were measured"]
    assert models.threads(found(load(10, LOOP, UNSURE))) == ["no wait: not proven good enough; ×1.10 ? with 10"]


@pytest.mark.parametrize("width", [40, 100])
def test_a_terminal_shows_every_model_under_every_load(width):
    out = io.StringIO()
    models.show(FEW, Console(file=out, width=width))
    text = out.getvalue()
    assert all(len(line) <= width for line in text.splitlines())
    assert text.count("epoll loop") == (1 if width == 100 else 3)
    assert "×1.50" in text
    assert "within 10 % of the cheapest" in " ".join(text.split())


def test_the_same_stands_in_markdown():
    lines = models.as_markdown(FEW)
    assert "| a thread | ×1.04 ● | ×1.50 | – |" in lines


def test_the_figure_has_a_field_for_each_model_and_load():
    svg = charts.svg(charts.models(FEW, models.TITLE, charts.FILE))
    assert svg.count(">1.50<") == 1
    assert "epoll loop" in svg
    assert "1000 connections" in svg


def test_the_page_of_the_documentation_says_it_of_a_session():
    whole = Path(__file__).parents[2] / "golden" / "whole.session.jsonl"
    findings = judge(sessions.read(whole))
    with pytest.raises(UsageError, match="no load that three models"):
        models.page([(findings, "steelyard run")], "figure.svg")
    answered = msgspec.structs.replace(findings, models=FEW)
    void = msgspec.structs.replace(answered, void=Reason(Why.NOT_MEASURED))
    with pytest.raises(UsageError, match="is void"):
        models.page([(void, "steelyard run")], "figure.svg")
    page = models.page([(answered, "steelyard run 'serve/*'")], "figure.svg")
    assert "- no wait: good enough up to 10 connections; ×1.50 with 1000" in page
    assert "| a thread | 1 of 2 | 1 | 0 | ×1.50 |" in page
    assert "$ steelyard run 'serve/*'" in page
    assert "memory" not in page


def test_further_sessions_bring_more_models_and_memory():
    whole = Path(__file__).parents[2] / "golden" / "whole.session.jsonl"
    findings = judge(sessions.read(whole))
    first = msgspec.structs.replace(findings, models=FEW)
    held = (Holder(probe="serve/epoll", title="epoll loop", at=(Held(connections=10, idle=2048.0, waiting=4096.0),)),)
    second = msgspec.structs.replace(findings, models=found(load(100, LOOP, DEAR)))
    third = msgspec.structs.replace(findings, holders=held)
    page = models.page([(first, "one"), (second, "two"), (third, "three")], "figure.svg")
    assert "2 models under 3 loads" in page
    assert "## 2 models under 1 load\n" in page
    assert "| epoll loop | 2 KiB | 4 KiB |" in page
    assert page.index("$ one") < page.index("$ two") < page.index("$ three")


def test_models_are_told_apart_although_their_titles_have_commas():
    said = dict(models.good_enough(found(load(10, LOOP, THREAD), load(1000, LOOP, UNSURE))))
    assert said == {
        "10 connections, no wait": "epoll loop; a thread",
        "1000 connections, no wait": "epoll loop; 1 not decided",
    }
