# SPDX-License-Identifier: Apache-2.0
"""The error rates of neighbours as a table and as objects."""

import io

from steelyard.judge.proving_neighbours import rates
from steelyard.show import proving_neighbours as shown
from steelyard.show.console import Console
from tests.unit.judge.sessions import steady
from tests.unit.judge.test_neighbours import session

PROVED = rates(7, session(steady(1e-6, 12), steady(1.5e-6, 12)), session(steady(1e-6, 12), steady(2e-6, 12)))


def test_a_row_says_how_many_were_wrong_and_what_was_said_wrongly_is_listed():
    text = io.StringIO()
    shown.show(PROVED, Console(file=text, width=160))
    assert "1 (100.0 %)" in text.getvalue()
    assert "0 (0.0 %)" in text.getvalue()
    assert "seed 7." in text.getvalue()
    assert "pipe (one CPU) suffers 1.5 times" in text.getvalue()


def test_programs_get_one_object_a_neighbour():
    first, second = shown.as_json(PROVED)
    assert (first["planted"], first["rate"], second["rate"], second["seed"]) == (False, 1.0, 0.0, 7)
