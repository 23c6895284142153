# SPDX-License-Identifier: Apache-2.0
"""What a first session answers: the page begins with it, in the words of the screen."""

from __future__ import annotations

from steelyard.judge.answers import Amount, Answers, Group, Price
from steelyard.judge.claims import ClaimVerdict
from steelyard.judge.plots import Plot
from steelyard.judge.verdicts import ClaimFinding
from steelyard.show import claims as claim_words
from steelyard.show import naming
from steelyard.show.answers import more, ratio, spread
from steelyard.show.naming import PLACES
from steelyard.show.page import figures
from steelyard.show.page.markup import Markup, joined, table, tag
from steelyard.units import format_quantity


def answers(found: Answers, picture: Plot | None) -> Markup:
    """Prices by group, the statements that are most unlike their fame, and the prices as a picture."""
    statements = [*found.failing, *found.holding]
    return joined(
        [
            tag("div", *(_group(group) for group in found.groups if len(group.at) < 2), class_="answers"),
            tag("div", *(_group(group) for group in found.groups if len(group.at) > 1), class_="answers wide"),
            *(
                [
                    tag("h3", "What people say, and here"),
                    tag("ul", *(tag("li", *_statement(finding)) for finding in statements), class_="statements"),
                    tag("p", f"{more(found)}: see What others say.", class_="soft"),
                ]
                if statements
                else []
            ),
            *([figures.picture(picture)] if picture else []),
        ]
    )


def _group(group: Group) -> Markup:
    places = [PLACES[place] for place in group.at] if len(group.at) > 1 else ["price"]
    title = naming.capital(group.title)
    return table([title, *places, "times"], (_row(price) for price in group.prices), caption=title)


def _row(price: Price) -> list[str]:
    return [price.what, *(_amount(amount) for amount in price.amounts), ratio(price.times)]


def _amount(amount: Amount | None) -> str:
    if amount is None:
        return "–"
    if amount.at_most and amount.high is not None:
        return f"at most {format_quantity(amount.high, amount.unit)}"
    return joined([format_quantity(amount.median, amount.unit), " ", tag("span", spread(amount), class_="spread")])


def _statement(finding: ClaimFinding) -> list[Markup]:
    holds = finding.verdict is ClaimVerdict.HOLDS
    return [
        tag("strong", "✓ " if holds else "✗ ", class_="holds" if holds else "fails"),
        tag("span", f"{finding.claim.statement} "),
        tag("span", f"({finding.source.title}, {finding.source.year})", class_="soft"),
        tag("div", f"Here {claim_words.short(finding)}.", class_="here"),
    ]
