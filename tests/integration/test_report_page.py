# SPDX-License-Identifier: Apache-2.0
"""The page in a browser: it draws without a word in the console, asks nobody, and executes nothing of a session."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from steelyard.judge import rules
from steelyard.judge.report import report
from steelyard.show import html
from tests.reporting import MARKUP, a_full_session, a_page, hostile
from tests.unit.judge.sessions import steady, weighed

PATIENCE_MS = 60_000


@dataclass
class Seen:
    """A page, and all that should not have happened on it."""

    page: object
    said: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)

    def wait(self):
        self.page.wait_for_selector("html[data-ready]", timeout=PATIENCE_MS)


def opened(browser, path, **more):
    context = browser.new_context(offline=True, **more)
    page = context.new_page()
    seen = Seen(page)
    page.on("console", lambda message: seen.said.append(message.text))
    page.on("pageerror", lambda error: seen.said.append(str(error)))
    page.on("dialog", lambda dialog: (seen.said.append(dialog.message), dialog.dismiss()))
    page.on("request", lambda request: None if request.url.startswith("file:") else seen.asked.append(request.url))
    page.goto(path.as_uri())
    seen.wait()
    return seen


def written(folder, page):
    """The file of a page, or of the page of a report."""
    path = folder / "report.html"
    path.write_text(page if isinstance(page, str) else html.page(page, rules.check(page)))
    return path


@pytest.fixture(scope="module")
def full(tmp_path_factory):
    return written(tmp_path_factory.mktemp("full"), a_page())


@pytest.fixture(scope="module")
def wide(browser, full):
    return opened(browser, full, viewport={"width": 1400, "height": 900})


def test_a_full_page_draws_every_figure_in_silence_and_asks_nobody(wide):
    page = wide.page
    for summary in page.query_selector_all("main > section > details > summary"):
        summary.click()
    page.wait_for_function(
        "[...document.querySelectorAll('details[open] figure[data-figure]')].every(f => f.querySelector('.chart svg'))",
        timeout=PATIENCE_MS,
    )
    figures = page.query_selector_all("figure[data-figure]")
    assert len(figures) > 10
    assert all(figure.query_selector(".chart svg") for figure in figures if figure.is_visible())
    assert wide.said == []
    assert wide.asked == []


def test_every_figure_has_a_text_alternative(wide):
    for figure in wide.page.query_selector_all("figure[data-figure]"):
        chart = figure.query_selector(".chart")
        assert chart.get_attribute("role") == "img"
        assert len(chart.get_attribute("aria-label")) > 20
        caption = wide.page.query_selector(f"[id='{chart.get_attribute('aria-describedby')}']")
        assert caption.text_content()
        assert figure.query_selector("details table caption")


def test_series_are_picked_and_axes_made_linear_by_keyboard(wide):
    figure = wide.page.query_selector("figure[data-figure='a-curve-1']")
    buttons = figure.query_selector_all("button[data-series]")
    opacities = "f => [...f.querySelectorAll('.chart svg [opacity], .chart svg [stroke-opacity]')].length"
    before = figure.query_selector(".chart svg").inner_html()
    buttons[0].focus()
    wide.page.keyboard.press("Enter")
    assert buttons[0].get_attribute("aria-pressed") == "true"
    wide.page.wait_for_function(
        "([f, before]) => f.querySelector('.chart svg').innerHTML !== before", arg=[figure, before]
    )
    assert figure.evaluate(opacities) > 0
    logarithmic = figure.query_selector(".chart svg").inner_html()
    figure.query_selector("button.scale").focus()
    wide.page.keyboard.press("Space")
    wide.page.wait_for_function(
        "([f, before]) => f.querySelector('.chart svg') && f.querySelector('.chart svg').innerHTML !== before",
        arg=[figure, logarithmic],
    )
    assert wide.said == []


def test_the_part_that_is_chosen_is_the_one_that_is_drawn(browser, tmp_path):
    costs = {
        f"message/channel_{letter}[size={size}]{where}": steady(size * 1e-9 * (1 if where == "@same" else 30))
        for letter in "abcdefgh"
        for size in (1024, 4096, 65536)
        for where in ("@same", "@free")
    }
    seen = opened(browser, written(tmp_path, report([weighed(costs, family="channel")])))
    figure = seen.page.query_selector("figure[data-figure='curve-0']")
    one_cpu, unpinned = figure.query_selector_all("button[data-part]")
    tops = "[...f.querySelectorAll('.chart svg .mark-symbol path')].map(p => p.getBoundingClientRect().y)"
    highest = f"f => Math.min(...{tops})"
    before = figure.evaluate(highest)
    unpinned.click()
    seen.page.wait_for_function(f"([f, before]) => ({highest})(f) < before - 50", arg=[figure, before])
    assert [one.get_attribute("aria-pressed") for one in (one_cpu, unpinned)] == ["false", "true"]
    figure.query_selector("button.scale").click()
    seen.page.wait_for_function(f"([f, before]) => ({highest})(f) < before", arg=[figure, before])
    assert seen.said == []


def test_hovering_a_mark_says_what_it_is(wide):
    figure = wide.page.query_selector("figure[data-figure='a-prices-0']")
    figure.scroll_into_view_if_needed()
    figure.query_selector(".chart svg .mark-symbol path").hover()
    assert " ns" in wide.page.query_selector("#tip").text_content()


@pytest.mark.parametrize("width", [400, 1400])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_is_wider_than_the_window(browser, full, width, scheme):
    seen = opened(browser, full, viewport={"width": width, "height": 900}, color_scheme=scheme)
    assert seen.page.evaluate("document.documentElement.scrollWidth") == width
    assert seen.said == []


def test_it_can_be_read_without_scripts(browser, full):
    page = browser.new_context(java_script_enabled=False).new_page()
    page.goto(full.as_uri())
    assert page.query_selector("noscript svg").is_visible()
    assert "The price list" in page.text_content("main")


def test_nothing_that_a_hostile_session_says_is_executed_or_drawn_as_markup(browser, tmp_path):
    made = report([hostile(a_full_session("a")), hostile(a_full_session("b", slower=2.0))])
    path = written(tmp_path, made)
    seen = opened(browser, path)
    for summary in seen.page.query_selector_all("summary"):
        summary.evaluate("element => { element.parentElement.open = true }")
    seen.page.wait_for_function(
        "[...document.querySelectorAll('figure[data-figure]')].every(f => f.querySelector('.chart svg'))",
        timeout=PATIENCE_MS,
    )
    assert seen.page.evaluate("window.hacked") is None
    # Vega makes an empty form for each chart, for inputs that we have none of.
    assert seen.page.query_selector_all("img, iframe, object, embed, form:not(.vega-bindings:empty)") == []
    assert len(seen.page.query_selector_all("figure[data-figure]")) > 6
    assert len(seen.page.query_selector_all("script:not([type='application/json'])")) == 1
    assert MARKUP in seen.page.text_content("h1")
    assert seen.said == []
    assert seen.asked == []
