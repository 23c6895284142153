# SPDX-License-Identifier: Apache-2.0
import re
from pathlib import Path

import steelyard.show
from steelyard.show import void
from tests.reporting import printed


def test_the_reason_is_followed_by_what_to_do():
    assert printed(void.show, "the sentinel drifted").splitlines() == [void.said("the sentinel drifted"), void.NEXT]
    assert printed(lambda console: void.show(None, console)) == ""


def test_a_page_says_the_same_and_whose_session_it_is():
    assert void.note(None) == []
    [note] = void.note("a <b> drifted", "session B")
    assert f"<strong>{void.WARNING}. </strong>session B: a &lt;b&gt; drifted. " in note


def test_nobody_else_has_a_wording_of_his_own():
    for path in Path(steelyard.show.__file__).parent.rglob("*.py"):
        if path.name != "void.py":
            assert not re.search(r"(?<![._])VOID", path.read_text()), path
            assert '"Void' not in path.read_text(), path
