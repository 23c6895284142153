# SPDX-License-Identifier: Apache-2.0
from steelyard import errors
from steelyard.errors import SteelyardError


def every_error() -> list[type[SteelyardError]]:
    return [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, SteelyardError)]


def test_every_error_has_an_exit_code_of_its_own():
    codes = [kind.exit_code for kind in every_error()]
    assert len(set(codes)) == len(codes)


def test_the_codes_of_verdicts_and_of_shells_are_left_alone():
    assert all(2 < kind.exit_code < 126 for kind in every_error())


def test_every_error_says_what_it_stands_for():
    assert all(kind.__doc__ for kind in every_error())
