# SPDX-License-Identifier: Apache-2.0
"""One application over many servers, as a person sees it."""

import io

from steelyard.judge.servers import weigh
from steelyard.show import servers
from steelyard.show.console import Console
from tests.unit.judge.requests import around, served


def printed(session, width=120) -> str:
    text = io.StringIO()
    servers.show(weigh(session), Console(file=text, width=width))
    return text.getvalue()


def test_the_table_the_faults_and_the_recommendation():
    said = {
        "a": ("errors: a answers a HEAD request with a body", "read errors"),
        "b": ("errors: The B answers a HEAD request with a body",),
    }
    session = served({"a": around(5000), "b": around(900)}, caveats=said, failed={"c": "c never ready"}, alone=20e-6)
    text = printed(session)
    assert "app:app /page over its servers" in text
    assert text.index(" k/s") < text.index(" /s"), "the most requests first"
    assert "20%" in text
    assert "  a, b: answers a HEAD request with a body" in text, "a fault is said once for all that have it"
    assert "  c: c never ready" in text
    assert "  a: read errors" in text
    assert "  elsewhere: elsewhere is not installed" in text
    assert "recommended: a, as a answers more requests than every other" in text
    assert "12 blocks" in text


def test_no_recommendation_says_why():
    text = printed(served({"a": around(5000, 3), "b": around(4990, 3)}))
    assert "no recommendation: " in text
    assert "more blocks may decide it" in text
