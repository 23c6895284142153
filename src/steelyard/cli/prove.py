# SPDX-License-Identifier: Apache-2.0
"""`steelyard prove`: how often the verdicts are wrong, ours and those of others."""

from __future__ import annotations

from pathlib import Path

from steelyard.cli import _output as output
from steelyard.errors import SelectionError, UsageError
from steelyard.judge import error_rates, proving, proving_choices, proving_fleets
from steelyard.lab.output import write
from steelyard.lab.proving_choices import prove as measure_choices
from steelyard.lab.proving_neighbours import prove as measure_neighbours
from steelyard.show import proof
from steelyard.show import proving_choices as shown_choices
from steelyard.show import proving_neighbours as shown_neighbours


def command(
    *,
    seed: int = 1,
    quick: bool = False,
    markdown: Path | None = None,
    data: Path | None = None,
    fleets: int | None = None,
    choose: bool = False,
    loads: int = 60,
    beside: bool = False,
    cases: int = 100,
    json: bool = False,
) -> None:
    """Measure, on seeded synthetic noise, the error rates of our rules beside the rules that other tools ship.

    Parameters
    ----------
    seed
        Seed of the noise; another one gives the same rates within their bounds.
    quick
        Fewer trials: under 20 s.
    markdown
        Write the page of the documentation here.
    data
        Write the table here as `steelyard report` ships it.
    fleets
        Measure instead how often `steelyard fleet report` is wrong, on this number of simulated fleets of each kind.
    choose
        Measure instead, on this machine, how often `steelyard choose` is wrong: loads are drawn by the seed, each is
        decided from one session and measured again in another. 60 loads take about 20 minutes.
    loads
        How many loads ``--choose`` draws.
    beside
        Measure instead, on this machine, how often `steelyard run --beside` is wrong: cases beside a neighbour that
        sleeps, and a fifth of them beside one that shares their CPU. 100 cases take about 6 minutes.
    cases
        How many cases ``--beside`` takes.
    json
        Print one object a row.
    """
    if beside:
        if quick or choose or markdown is not None or data is not None or fleets is not None:
            raise UsageError(
                "--beside has cases of its own and no page: leave other options but --seed and --json away"
            )
        _prove_neighbours(seed, cases, json=json)
        return
    if choose:
        if quick or data is not None or fleets is not None:
            raise UsageError("--choose has loads of its own: leave --quick, --data and --fleets away")
        _prove_choices(seed, loads, markdown, json=json)
        return
    if fleets is not None:
        if quick or data is not None:
            raise UsageError("--fleets has a number of its own and no --data: leave --quick and --data away")
        if fleets < 1:
            raise UsageError("--fleets must be at least 1")
        _prove_fleets(seed, fleets, markdown, json=json)
        return
    table = proving.prove_quickly(seed) if quick else proving.prove(seed)
    if markdown is not None:
        write(markdown, proof.markdown(table))
    if data is not None:
        write(data, error_rates.write(table))
    if json:
        output.print_json(proof.as_json(table))
    else:
        proof.show(table, output.console())


def _prove_choices(seed: int, loads: int, markdown: Path | None, *, json: bool) -> None:
    if loads < 1:
        raise UsageError("--loads must be at least 1")
    proved = proving_choices.rates(seed, measure_choices(seed, loads, output.Terminal()))
    if not proved.choices:
        raise SelectionError("no load could be measured here: the reasons stand above")
    if markdown is not None:
        write(markdown, shown_choices.markdown(proved, loads))
    if json:
        output.print_json(shown_choices.as_json(proved))
    else:
        shown_choices.show(proved, output.console())


def _prove_neighbours(seed: int, cases: int, *, json: bool) -> None:
    if cases < 1:
        raise UsageError("--cases must be at least 1")
    proved = measure_neighbours(seed, cases, output.Terminal())
    if json:
        output.print_json(shown_neighbours.as_json(proved))
    else:
        shown_neighbours.show(proved, output.console())


def _prove_fleets(seed: int, fleets: int, markdown: Path | None, *, json: bool) -> None:
    rows = proving_fleets.prove_fleets(seed, fleets)
    if markdown is not None:
        write(markdown, proof.fleets_markdown(rows, seed, fleets))
    if json:
        output.print_json(proof.fleets_as_json(rows))
    else:
        proof.show_fleets(rows, output.console())
