# SPDX-License-Identifier: Apache-2.0
"""What a first session answers: the page begins with it, in the words of the screen."""

from __future__ import annotations

from steelyard.judge.answers import Amount, Answers, Group, Price
from steelyard.judge.claims import ClaimVerdict
from steelyard.judge.verdicts import ClaimFinding
from steelyard.show import claims as claim_words
from steelyard.show.answers import more, ratio
from steelyard.show.figure_text import PLACES
from steelyard.show.page.markup import Markup, joined, table, tag
from steelyard.units import format_interval, format_quantity


def answers(found: Answers) -> Markup:
    """Prices by group, then the statements that are most unlike their fame."""
    statements = [*found.failing, *found.holding]
    return joined(
        [
            tag("div", *(_group(group) for group in found.groups), class_="answers"),
            *(
                [
                    tag("h3", "What people say, and here"),
                    tag("ul", *(tag("li", *_statement(finding)) for finding in statements), class_="statements"),
                    tag("p", f"{more(found)}: see What others say.", class_="soft"),
                ]
                if statements
                else []
            ),
        ]
    )


def _group(group: Group) -> Markup:
    places = [PLACES[place] for place in group.at] if len(group.at) > 1 else ["price"]
    title = group.title[:1].upper() + group.title[1:]
    return table([title, *places, "times"], (_row(price) for price in group.prices), caption=title)


def _row(price: Price) -> list[str]:
    return [price.what, *(_amount(amount) for amount in price.amounts), ratio(price.times)]


def _amount(amount: Amount | None) -> str:
    if amount is None:
        return "–"
    if amount.at_most and amount.high is not None:
        return f"at most {format_quantity(amount.high, amount.unit)}"
    price = format_quantity(amount.median, amount.unit)
    if amount.low is None or amount.high is None:
        return price
    return f"{price} {format_interval(amount.low, amount.high, amount.median, amount.unit)}"


def _statement(finding: ClaimFinding) -> list[Markup]:
    holds = finding.verdict is ClaimVerdict.HOLDS
    return [
        tag("strong", "✓ " if holds else "✗ ", class_="holds" if holds else "fails"),
        tag("span", f"{finding.claim.statement} "),
        tag("span", f"({finding.source.title}, {finding.source.year})", class_="soft"),
        tag("div", f"Here {claim_words.short(finding)}.", class_="here"),
    ]
