# SPDX-License-Identifier: Apache-2.0
import msgspec
import pytest

from steelyard.records import CasePattern, Counter, End, Histogram, Value, counter_metrics
from tests.making import a_case, a_descriptor, a_metric, a_run, a_session, a_value, an_integer, counted


def test_a_case_is_named_by_probe_parameters_and_placement():
    assert (
        a_case("switch/yield", "cross", contexts=2, kind="thread").name == "switch/yield[contexts=2,kind=thread]@cross"
    )
    assert a_case("call/direct").name == "call/direct@same"


def test_equal_cases_are_one_in_a_set():
    assert len({a_case(n=1), a_case(n=1), a_case(n=2), a_case()}) == 3


@pytest.mark.parametrize("case", [a_case(), a_case("a/b", "free", n=1), a_case("a/b", "cross", n=-1, kind="x y")])
def test_the_name_of_a_case_reads_as_a_pattern_that_matches_it_alone(case):
    pattern = CasePattern.parse(case.name)
    assert pattern.matches(case)
    assert not pattern.matches(a_case(case.probe, "same" if case.placement != "same" else "free", **case.parameters))
    assert not pattern.matches(a_case("other/probe", case.placement, **case.parameters))


def test_a_pattern_stands_for_all_that_it_does_not_say():
    pattern = CasePattern.parse("switch/yield[contexts=2]")
    assert pattern.matches(a_case("switch/yield", "free", contexts=2, kind="process"))
    assert not pattern.matches(a_case("switch/yield", "free", contexts=3))
    assert not pattern.matches(a_case("switch/yield", "free"))


@pytest.mark.parametrize("text", ["", "yield", "switch/*", "a/b[", "a/b[n]", "a/b]", "a/b@", "a/b@same more", "A/b"])
def test_what_is_no_case_is_no_pattern(text):
    assert CasePattern.parse(text) is None


def test_a_figure_is_one_quantity_by_another():
    assert a_value(1e-6, 1000).figure(a_metric()) == pytest.approx(1e-6)


def test_wall_time_counts_once_for_every_lane():
    assert a_value(1e-6, 1000, lanes=2).figure(a_metric()) == pytest.approx(2e-6)


def test_counts_and_readings_are_quantities():
    value = a_value(counts={"switches": 4}, readings={"share": 0.5})
    assert value.quantity("switches") == 4
    assert value.quantity("share") == 0.5
    assert value.quantity("one") == 1
    assert value.quantity("moon") is None


def test_what_a_value_does_not_have_is_none_and_not_zero():
    value = a_value()
    assert value.quantity("user") is None
    assert value.figure(a_metric(over="user")) is None
    assert value.figure(a_metric(per="switches")) is None


def test_where_nothing_happened_there_is_no_figure():
    assert a_value(counts={"switches": 0}).figure(a_metric(per="switches")) is None
    assert a_value(counts={"switches": 0}).figure(a_metric(over="switches")) == 0


def test_time_of_the_processor_is_in_seconds():
    value = a_value(cpu_ns=1_500_000_000, user_ns=1_000_000_000, system_ns=500_000_000)
    assert [value.quantity(name) for name in ("cpu", "user", "system")] == [1.5, 1.0, 0.5]


def test_the_timed_part_of_a_run_is_the_sum_of_its_values():
    assert a_run("a", 1, 1e-6, 2e-6).timed_s == pytest.approx(3e-3)


def test_a_descriptor_knows_its_parameters():
    descriptor = a_descriptor(parameters=(an_integer("n", 1),))
    assert descriptor.parameter("n").sweep == (1,)
    assert descriptor.parameter("m") is None


def test_records_do_not_change():
    with pytest.raises(AttributeError):
        a_case().probe = "other/probe"


def test_a_record_of_a_newer_steelyard_is_read():
    case = msgspec.json.decode(b'{"probe":"a/b","placement":"same","colour":"red"}', type=type(a_case()))
    assert case == a_case("a/b")


def test_a_counter_that_took_turns_is_scaled_to_all_of_the_time():
    assert Counter(100, 1000, 1000).scaled == 100
    assert Counter(100, 1000, 250).scaled == 400
    assert Counter(0, 1000, 0).scaled is None, "it never had a turn: that is not 0"
    assert Counter(0, 0, 0).scaled == 0, "nothing ran at all"


def test_what_the_processor_counted_is_a_metric_each_by_the_operations_of_its_own_batch():
    value = a_value(counters=counted(500, cycles=2000, instructions=6000))
    metrics = counter_metrics([a_value(), value])
    assert [metric.name for metric in metrics] == ["cycles", "instructions", "instructions_per_cycle"]
    assert [value.figure(metric) for metric in metrics] == [4, 12, 3]
    assert [a_value().figure(metric) for metric in metrics] == [None, None, None]
    assert counter_metrics([a_value()]) == ()


def test_instructions_per_cycle_are_scaled_both():
    value = a_value(counters=counted(500, share=0.5, cycles=1000, instructions=3000))
    assert [value.figure(metric) for metric in counter_metrics([value])] == [4, 12, 3]


def test_a_value_of_before_there_were_counters_is_read():
    assert msgspec.json.decode(b'{"operations":1,"wall_ns":2,"counts":{"checked":1}}', type=Value).counters is None


def test_the_blocks_of_a_session_without_an_end_are_those_begun_and_the_last_sentinel_is_in_none():
    runs = [a_run(block=1), a_run(block=2), a_run(block=3, role="sentinel")]
    end = End(at="2026-01-01T00:00:00+00:00", reason="blocks", blocks=2, wall_s=1.0, timed_s=0.5)
    assert [a_session(*lines).blocks for lines in ((), runs, (*runs, end))] == [0, 2, 2]


def histogram(*buckets):
    return Histogram(name="operation", unit="s", scale=1e-9, buckets=buckets)


def test_a_quantile_is_the_middle_of_the_bucket_that_reaches_the_share():
    timed = histogram((100, 600), (1024, 390), (4096, 10))
    assert timed.quantile(0.5) == pytest.approx(100e-9)
    assert timed.quantile(0.99) == pytest.approx((1024 + 7 / 2) * 1e-9)


@pytest.mark.parametrize(("count", "share"), [(19, 0.5), (999, 0.99), (9999, 0.999), (0, 0.5)])
def test_a_quantile_with_fewer_than_ten_beyond_it_is_none(count, share):
    assert histogram(*([(100, count)] if count else [])).quantile(share) is None
    assert histogram((100, count + 1)).quantile(share) == (pytest.approx(100e-9) if count else None)
