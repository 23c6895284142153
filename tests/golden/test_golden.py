# SPDX-License-Identifier: Apache-2.0
"""What is printed of a session, compared to the letter. `make golden` accepts what has changed on purpose."""

from pathlib import Path

import pytest

from steelyard.__main__ import main

HERE = Path(__file__).parent
SESSIONS = sorted(path.name for path in HERE.glob("*.session.jsonl"))
COMMANDS = {"show": ["show"], "show-json": ["show", "--json"]}


def test_there_are_sessions():
    assert SESSIONS


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("session", SESSIONS)
def test_a_session_is_shown_as_it_was(session, command, capsys, monkeypatch):
    monkeypatch.chdir(HERE)  # so that the path in the text is the same everywhere
    for name in ("FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    name, *options = COMMANDS[command]
    assert main([name, session, *options]) == 0
    printed = capsys.readouterr().out
    wanted = HERE / f"{session.removesuffix('.session.jsonl')}.{command}.stdout"
    got = wanted.with_name(wanted.name + ".got")
    if not wanted.exists() or wanted.read_text() != printed:
        got.write_text(printed)
        pytest.fail(f"differs from {wanted.name}: compare with {got.name}, and `make golden` if it is right")
    got.unlink(missing_ok=True)
