# SPDX-License-Identifier: Apache-2.0
import re
import xml.etree.ElementTree as ET
from pathlib import PurePosixPath

import msgspec
import pytest

from steelyard.judge.findings import judge
from steelyard.judge.gallery import among
from steelyard.judge.gallery import gallery as judged
from steelyard.show import gallery
from steelyard.show.page.gallery import pages
from tests.publishing import a_publication, a_session
from tests.reporting import MARKUP, printed

OTHER = {"cpu": "Intel(R) Xeon(R) CPU @ 2.20GHz"}


@pytest.fixture(scope="module")
def two():
    return [a_publication(seed=1, usd_an_hour=0.36), a_publication(seed=2, factor=0.5, **OTHER)]


@pytest.fixture(scope="module")
def site(two):
    return pages(judged(two))


def rows(page: str) -> list[str]:
    """The rows of the tables of a page, as text."""
    return [" ".join(re.sub("<[^>]*>", " ", row).split()) for row in re.findall(r"<tr>(.*?)</tr>", page)]


def test_there_is_an_index_a_page_a_machine_and_a_page_a_mechanism(site):
    assert len(site) == 1 + 2 + 4
    assert "mechanisms/message-latency_pipe.html" in site
    assert site["index.html"].index("AMD EPYC") < site["index.html"].index("Intel(R) Xeon(R)")


def test_all_links_of_all_pages_lead_to_pages(site):
    for name, text in site.items():
        for link in re.findall(r'href="([^"#]+)', text):
            where = PurePosixPath(name).parent / link
            parts: list[str] = []
            for part in where.parts:
                parts = parts[:-1] if part == ".." else [*parts, part]
            assert "/".join(parts) in site, (name, link)


def test_a_page_is_small_well_formed_and_nothing_in_it_acts(site):
    for text in site.values():
        assert len(text) < 40_000
        assert "<script" not in text
        assert "script-src &#x27;none&#x27;" in text
        ET.fromstring(re.sub(r"<(meta|br|col|link|input)([^>]*)>", r"<\1\2/>", text.partition("\n")[2]))


def test_a_mechanism_has_a_row_a_machine_in_the_order_of_their_names(site):
    found = [row for row in rows(site["mechanisms/call-direct.html"]) if "GiB" in row]
    assert [row.split(",")[0] for row in found] == ["AMD EPYC 7B13", "Intel(R) Xeon(R) CPU @ 2.20GHz"]
    assert "1.40 ns [1.39, 1.41] 8" in found[0]
    assert "0.70 ns" in found[1] or "0.700 ns" in found[1]


def test_a_machine_has_its_figures_its_facts_and_its_sessions(site):
    [amd] = [text for name, text in site.items() if name.startswith("machines/") and "0.36 USD an hour" in text]
    assert any(row.startswith("function call, one CPU call/direct@same 1.40 ns") for row in rows(amd))
    assert "6.1.0-13-cloud-amd64" in amd
    assert any("identical copies" in row and row.startswith("2026-01-02 0.1.0 1 8") for row in rows(amd))


def test_what_a_file_says_is_text_and_no_markup(two):
    hostile = tuple(msgspec.structs.replace(probe, title=MARKUP, operation=MARKUP) for probe in two[0].probes)
    for text in pages(judged([msgspec.structs.replace(two[0], probes=hostile)])).values():
        assert "<script" not in text
        assert "<img" not in text


def test_a_session_among_machines_on_a_terminal(two):
    findings = judge(a_session(seed=9))
    text = printed(gallery.show, findings, among(findings, two))
    [line] = [line for line in text.splitlines() if line.startswith("function call")]
    assert " ".join(line.split()) == (
        "function call, one CPU 1.40 ns [1.39, 1.41] 0.70 ns to 1.40 ns alike with 1 machine, dearer than 1 machine"
    )


def test_a_session_whose_cases_nobody_has(two):
    findings = judge(a_session(seed=9))
    assert "no machine of the gallery" in printed(gallery.show, findings, ())


def test_a_session_among_machines_as_objects(two):
    found = gallery.as_json(among(judge(a_session(seed=9)), two))
    [call] = [one for one in found if one["case"] == "call/direct@same"]
    assert call["gallery"]["machines"] == 2
    assert call["below"] == ("Intel(R) Xeon(R) CPU @ 2.20GHz, 2 CPUs, 8 GiB",)
    assert call["above"] == ()
