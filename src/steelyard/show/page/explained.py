# SPDX-License-Identifier: Apache-2.0
"""Costs taken apart: each folded under its verdict, with its parts and what they leave."""

from __future__ import annotations

from steelyard.judge.explain import Explanation, Explanations, State
from steelyard.show import naming
from steelyard.show.explain import METHOD, because, head, rows, said, share
from steelyard.show.page.markup import Markup, fold, joined, listed, table, tag
from steelyard.units import format_quantity


def whole(findings: Explanations) -> tuple[Explanation, ...]:
    """Those of which no part is missing."""
    return tuple(one for one in findings.explained if one.state is not State.INCOMPLETE)


def explained(findings: Explanations) -> Markup:
    """A fold a cost."""
    return joined(
        [
            tag("p", "Each cost as a sum of simpler ones that were measured beside it.", class_="lead"),
            *(_one(one, findings) for one in whole(findings)),
            tag("p", METHOD, class_="soft"),
        ]
    )


def _one(one: Explanation, findings: Explanations) -> Markup:
    cost = format_quantity(one.whole.value, one.unit)
    residual = f", unexplained {share(one.residual)}" if one.residual else ""
    title = f"{naming.with_name(one.case, findings.titles)} {one.metric}"
    return fold(
        f"{title}: {cost}{residual}, {one.state.value}",
        tag("p", f"{one.made_of}. {said(one).capitalize()}."),
        table(head(findings.confidence), rows(one), caption=title),
        listed(because(one)),
        *([tag("p", one.note)] if one.note else []),
    )
