# SPDX-License-Identifier: Apache-2.0
import pytest

from steelyard.errors import UsageError
from steelyard.units import (
    counted,
    format_bytes,
    format_duration,
    format_interval,
    format_quantity,
    parse_bytes,
    parse_duration,
    parse_rate,
)


@pytest.mark.parametrize(
    ("text", "seconds"), [("90s", 90), ("3m", 180), ("1.5h", 5400), ("1h30m", 5400), ("10ms", 0.01), ("50us", 5e-5)]
)
def test_durations_parse(text, seconds):
    assert parse_duration(text) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["", "3", "m", "3x", "-3s", "0s", "3 m", "3m,", "1e3s"])
def test_what_is_no_duration_is_refused(text):
    with pytest.raises(UsageError):
        parse_duration(text)


@pytest.mark.parametrize(
    ("text", "size"), [("1", 1), ("200", 200), ("200B", 200), ("64KiB", 65536), ("1kB", 1000), ("2MiB", 2 << 20)]
)
def test_sizes_parse(text, size):
    assert parse_bytes(text) == size


@pytest.mark.parametrize("text", ["", "0", "-1", "1.5KiB", "KiB", "3 apples", "1e3"])
def test_what_is_no_size_is_refused(text):
    with pytest.raises(UsageError):
        parse_bytes(text)


@pytest.mark.parametrize(
    ("text", "rate"), [("800", 800), ("800/s", 800), ("50k/s", 50_000), ("50k", 50_000), ("1.5M/s", 1_500_000)]
)
def test_rates_parse(text, rate):
    assert parse_rate(text) == rate


@pytest.mark.parametrize("text", ["", "0", "0/s", "-1", "k/s", "5/min", "1e3", "nan"])
def test_what_is_no_rate_is_refused(text):
    with pytest.raises(UsageError):
        parse_rate(text)


@pytest.mark.parametrize(
    ("value", "unit", "printed"),
    [
        (3.1e-8, "s", "31.0 ns"),
        (9.997e-7, "s", "1.00 µs"),
        (9.99e-7, "s", "999 ns"),
        (2.7e-10, "s", "0.27 ns"),
        (120.0, "s", "120 s"),
        (0.5, "1", "0.50"),
        (3.3e9, "B/s", "3.30 GB/s"),
        (1.29e5, "1/s", "129 k/s"),
        (0.5, "1/s", "0.50 /s"),
        (float("inf"), "s", "–"),
        (0.0, "s", "0 s"),
        (-3.1e-8, "s", "-31.0 ns"),
    ],
)
def test_quantities_read_well(value, unit, printed):
    assert format_quantity(value, unit) == printed


def test_an_interval_has_the_unit_of_its_centre():
    assert format_interval(9.0e-7, 1.1e-6, 1.0e-6, "s") == "[0.90, 1.10]"


def test_lengths_of_time_for_people():
    assert [format_duration(s) for s in (0.31, 59.6, 125, 3725)] == ["0.3 s", "1 min 00 s", "2 min 05 s", "1 h 02 min"]


@pytest.mark.parametrize(
    ("size", "text"), [(1, "1 B"), (32768, "32 KiB"), (28.4 * 1024, "28.4 KiB"), (1 << 20, "1 MiB"), (3 << 30, "3 GiB")]
)
def test_sizes_of_memory_are_in_powers_of_two(size, text):
    assert format_bytes(size) == text


def test_a_number_stands_with_what_it_counts():
    assert [counted(number, "block") for number in (0, 1, 2)] == ["0 blocks", "1 block", "2 blocks"]
    assert [counted(number, "erratum", "errata") for number in (1, 2)] == ["1 erratum", "2 errata"]
