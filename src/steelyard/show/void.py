# SPDX-License-Identifier: Apache-2.0
"""Why the figures of a session are not to be used, and what to do: one wording for every command, page and format."""

from __future__ import annotations

from steelyard.judge.reasons import Said
from steelyard.show import reasons
from steelyard.show.console import Console
from steelyard.show.page.markup import Markup, tag

WARNING = "VOID, do not use these figures"
#: What brings a session that is not void.
NEXT = "`steelyard doctor` says what disturbs this machine: measure again when that is gone."


def said(reason: Said) -> str:
    """The warning with its reason."""
    return f"{WARNING}: {reasons.said(reason)}"


def show(reason: Said | None, console: Console) -> None:
    """The warning and what to do, on a terminal; nothing where there is no reason."""
    if reason:
        console.print(said(reason), style="bold red")
        console.print(NEXT, style="red")


def note(reason: Said | None, whose: str = "") -> list[Markup]:
    """The warning on a page, with ``whose`` session it is where there are several."""
    if not reason:
        return []
    about = f"{whose}: {reasons.said(reason)}" if whose else reasons.said(reason)
    return [tag("p", tag("strong", f"{WARNING}. "), f"{about}. {NEXT}", class_="void", role="alert")]
