# SPDX-License-Identifier: Apache-2.0
import json

import msgspec
import pytest

from steelyard.errors import ProtocolError
from steelyard.measure import protocol
from tests.making import a_case, a_choice, a_descriptor, a_metric, an_integer

CASE = a_case("example/steady", contexts=2, kind="thread")
DESCRIPTOR = a_descriptor(parameters=(an_integer("contexts", 1, 2, maximum=8), a_choice("kind", "thread", "process")))

META = {
    "type": "meta",
    "protocol": 1,
    "probe": "example/steady",
    "parameters": {"contexts": 2, "kind": "thread"},
    "placement": "same",
    "operations": 10,
}
VALUE = {"type": "value", "operations": 10, "wall_ns": 1000, "counts": {"checked": 10}}
END = {"type": "end", "values": 1}


def lines(*records: dict | bytes) -> bytes:
    return b"".join(
        (record if isinstance(record, bytes) else json.dumps(record).encode()) + b"\n" for record in records
    )


def parse(*records: dict | bytes, descriptor=DESCRIPTOR):
    return protocol.parse_transcript(lines(*records), CASE, descriptor)


def test_a_whole_transcript_is_read():
    caveat = {"type": "caveat", "text": "the moon was full"}
    transcript = parse(META, VALUE, {**VALUE, "wall_ns": 2000}, caveat, {**END, "values": 2})
    assert [value.wall_ns for value in transcript.values] == [1000, 2000]
    assert transcript.caveats == ("the moon was full",)
    assert transcript.meta.operations == 10


def test_a_caveat_says_which_metrics_it_concerns_and_whether_it_is_a_fault():
    about = {"type": "caveat", "text": "too few messages", "metrics": ["operation"]}
    fault = {"type": "caveat", "text": "answers with a body", "fault": True}
    transcript = parse(META, VALUE, about, fault, END)
    assert transcript.caveats == ("too few messages", "answers with a body")
    assert transcript.caveat_metrics == {"too few messages": ("operation",)}
    assert transcript.faults == ("answers with a body",)


def test_a_caveat_about_a_metric_that_the_probe_does_not_have_is_refused():
    with pytest.raises(ProtocolError, match="no metric of that name"):
        parse(META, VALUE, {"type": "caveat", "text": "too few", "metrics": ["p98"]}, END)


def a_histogram(*buckets, **more) -> dict:
    return {"type": "histogram", "name": "late", "unit": "s", "scale": 1e-9, "buckets": buckets, **more}


def test_a_histogram_of_single_times_is_kept_with_its_run():
    [kept] = parse(META, VALUE, a_histogram([0, 1], [255, 2], [256, 3], [258, 1], [52992, 4]), END).histograms
    assert (kept.name, kept.unit, kept.scale) == ("late", "s", 1e-9)
    assert kept.buckets == ((0, 1), (255, 2), (256, 3), (258, 1), (52992, 4))


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (a_histogram([2, 1], [1, 1]), "do not rise"),
        (a_histogram([1, 1], [1, 1]), "do not rise"),
        (a_histogram([257, 1]), "begins with 257"),
        (a_histogram([1, 0]), "not a line"),
        (a_histogram([-1, 1]), "not a line"),
        (a_histogram([1, 1], scale=0), "not a line"),
        (a_histogram(*([number, 1] for number in range(9000))), "not a line"),
    ],
)
def test_a_histogram_that_cannot_be_merged_is_refused(wrong, said):
    with pytest.raises(ProtocolError, match=said):
        parse(META, VALUE, wrong, END)


def test_a_transcript_can_be_kept():
    transcript = parse(META, VALUE, END)
    assert msgspec.json.decode(msgspec.json.encode(transcript), type=type(transcript)) == transcript


def test_what_the_processor_counted_is_read_with_whose_it_is():
    counters = {"operations": 7, "events": {"cycles": [70, 100, 50]}}
    transcript = parse({**META, "counters": "hardware, user only"}, {**VALUE, "counters": counters}, END)
    assert transcript.meta.counters == "hardware, user only"
    assert transcript.values[0].quantity("counter.cycles") == 140
    assert transcript.values[0].quantity("counter.operations") == 7
    absent = parse({**META, "counters_absent": "no such counters"}, VALUE, END)
    assert (absent.meta.counters_absent, absent.values[0].counters) == ("no such counters", None)


def test_fields_of_a_later_protocol_are_passed_over():
    assert parse(META, {**VALUE, "joules": 3}, END).values[0].operations == 10


BAD = {
    "nothing": ([], "printed nothing"),
    "no end": ([META, VALUE], "stopped before its end line"),
    "no meta": ([VALUE, END], "printed no meta line"),
    "two metas": ([META, META, VALUE, END], "printed two meta lines"),
    "garbage": ([META, b"hello", VALUE, END], "printed 'hello', which is not a line of protocol 1"),
    "an empty line": ([META, b"", VALUE, END], "printed '', which is not a line of protocol 1"),
    "bytes that are not text": ([META, b'{"type":"caveat","text":"\xff"}', END], "which is not a line of protocol 1"),
    "bytes that are not text at all": ([b"\xff\xfe\x00"], "which is not a line of protocol 1"),
    "endless nesting": ([META, b'{"type":"value","x":' + b"[" * 100_000, END], "which is not a line of protocol 1"),
    "unknown type": ([META, {"type": "story"}, END], "which is not a line of protocol 1"),
    "words for numbers": ([META, {**VALUE, "wall_ns": "fast"}, END], "which is not a line of protocol 1"),
    "a missing field": ([META, {"type": "value", "operations": 3}, END], "which is not a line of protocol 1"),
    "more after the end": ([META, VALUE, END, VALUE], "after its end line"),
    "another count": ([META, VALUE, {**END, "values": 2}], "announced 2 values at its end and printed 1"),
    "another protocol": ([{**META, "protocol": 2}, VALUE, END], "speaks protocol 2, not 1"),
    "another probe": (
        [{**META, "probe": "example/other"}, VALUE, END],
        "was asked for example/steady[contexts=2,kind=thread]@same and says that it ran "
        "example/other[contexts=2,kind=thread]@same",
    ),
    "another parameter": ([{**META, "parameters": {"contexts": 3, "kind": "thread"}}, VALUE, END], "[contexts=3,"),
    "a parameter less": ([{**META, "parameters": {"contexts": 2}}, VALUE, END], "example/steady[contexts=2]@same"),
    "another placement": ([{**META, "placement": "free"}, VALUE, END], "@free"),
    "no operation": ([META, {**VALUE, "operations": 0}, END], ">= 1 - at `$.operations`"),
    "time that runs back": ([META, {**VALUE, "wall_ns": -1}, END], ">= 0 - at `$.wall_ns`"),
    "no lane": ([META, {**VALUE, "lanes": 0}, END], ">= 1 - at `$.lanes`"),
    "less work than timed": ([META, {**VALUE, "counts": {"checked": 9}}, END], "timed 10 operations and proved 9"),
    "no proof": ([META, {**VALUE, "counts": {}}, END], "timed 10 operations and proved None"),
    "counters below zero": (
        [META, {**VALUE, "counters": {"operations": 1, "events": {"cycles": [-1, 1, 1]}}}, END],
        ">= 0 - at `$.counters.events[...][0]`",
    ),
    "counters of nothing": (
        [META, {**VALUE, "counters": {"operations": 0, "events": {}}}, END],
        ">= 1 - at `$.counters.operations`",
    ),
    "half a counter": (
        [META, {**VALUE, "counters": {"operations": 1, "events": {"cycles": [1]}}}, END],
        "which is not a line of protocol 1",
    ),
    "numbers beyond any machine": (
        [META, {**VALUE, "operations": 10**400, "counts": {"checked": 10**400}}, END],
        "<= 9223372036854775807",
    ),
}


@pytest.mark.parametrize(("records", "sentence"), BAD.values(), ids=BAD.keys())
def test_a_bad_transcript_is_refused_in_a_sentence(records, sentence):
    with pytest.raises(ProtocolError) as refused:
        parse(*records)
    assert sentence in str(refused.value)
    assert len(str(refused.value)) < 500
    assert "\n" not in str(refused.value)


def test_a_value_must_have_what_the_metrics_are_made_of():
    needy = a_descriptor(metrics=(a_metric("switch", per="switches"),))
    with pytest.raises(ProtocolError, match="metric switch needs switches, which a value does not report"):
        protocol.parse_transcript(lines({**META, "parameters": {}}, VALUE, END), a_case(), needy)


def test_a_long_line_is_quoted_in_part():
    with pytest.raises(ProtocolError) as refused:
        parse(META, b"x" * 10_000)
    assert len(str(refused.value)) < 300


# --- descriptors -----------------------------------------------------------------------------------------------------


def described(**changes: object) -> bytes:
    return msgspec.json.encode({**msgspec.to_builtins(DESCRIPTOR), **changes})


def test_a_descriptor_survives_the_wire():
    assert protocol.parse_descriptor(described(), "example/steady") == DESCRIPTOR


def builtin(record: object) -> object:
    return msgspec.to_builtins(record)


WRONG = {
    "no json": (b"what?", "did not print a descriptor"),
    "no text": (b"\xff\xff", "did not print a descriptor"),
    "nothing": (b"", "did not print a descriptor"),
    "nested without end": (b"[" * 100_000, "did not print a descriptor"),
    "a list": (b"[]", "did not print a descriptor"),
    "another protocol": (described(protocol=2), "speaks protocol 2; this Steelyard speaks 1: rebuild it"),
    "another name": (described(probe="example/other"), "calls itself 'example/other'"),
    "no metric": (described(metrics=[]), "has no metric"),
    "no placement": (described(placements=[]), "has no placement"),
    "an unknown placement": (described(placements=["upstairs"]), "placements"),
    "an unknown statistic": (described(statistic="mean"), "statistic"),
    "no use": (described(uses=[]), "does not say what it uses"),
    "no question": (described(question=" "), "question is empty"),
    "an empty title": (described(title=" "), "its title has not 1 to 40 characters"),
    "a long title": (described(title="word " * 9), "its title has not 1 to 40 characters"),
    "no operation": (described(operation=""), "operation is empty"),
    "no source": (described(source=""), "source is empty"),
    "twin metrics": (described(metrics=[builtin(a_metric())] * 2), "two metrics share a name: operation, operation"),
    "a default beyond the limits": (
        described(parameters=[builtin(an_integer("contexts", 9, maximum=8))]),
        "default contexts=9 is out of limits",
    ),
    "a default that is no choice": (
        described(parameters=[{**builtin(a_choice("kind", "thread")), "sweep": ["fibre"]}]),
        "default kind=fibre is out of limits",
    ),
    "a default that is not a number": (
        described(parameters=[{**builtin(an_integer("contexts", 1)), "sweep": ["many"]}]),
        "default contexts=many is out of limits",
    ),
    "no default": (described(parameters=[{**builtin(an_integer("contexts")), "sweep": []}]), "contexts has no default"),
}


@pytest.mark.parametrize(("output", "sentence"), WRONG.values(), ids=WRONG.keys())
def test_a_wrong_descriptor_is_refused_by_field(output, sentence):
    with pytest.raises(ProtocolError) as refused:
        protocol.parse_descriptor(output, "example/steady")
    assert sentence in str(refused.value)
    assert "example/steady" in str(refused.value)


# --- arguments and parameters ----------------------------------------------------------------------------------------


def test_a_run_is_asked_for_by_its_number_of_operations():
    assert protocol.run_arguments(CASE, values=3, deadline_s=5, operations=7) == [
        *("contexts=2", "kind=thread", "--placement", "same", "--operations", "7"),
        *("--values", "3", "--deadline", "5s", "--json"),
    ]


def test_a_pilot_is_asked_for_by_the_length_of_a_value():
    arguments = protocol.run_arguments(CASE, values=3, deadline_s=0.2, target_ns=10_000)
    assert arguments[4:6] == ["--target", "10000ns"]
    assert "1s" in arguments  # a probe's own deadline is in whole seconds, and none is no deadline


def test_tails_are_asked_for_by_their_length_and_not_where_none_are_wanted():
    assert protocol.run_arguments(CASE, values=3, deadline_s=5, operations=7, tails_ns=9000)[-3:-1] == [
        "--tails",
        "9000ns",
    ]


def test_parameters_are_read_as_they_are_typed():
    assert protocol.parse_parameter(DESCRIPTOR, "contexts", "8") == 8
    assert protocol.parse_parameter(DESCRIPTOR, "kind", "process") == "process"


@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [
        ("contexts", "9", "example/steady contexts is from 0 to 8, not 9"),
        ("contexts", "-1", "is from 0 to 8"),
        ("contexts", "two", "contexts is an integer, not 'two'"),
        ("contexts", "2.0", "is an integer"),
        ("kind", "fibre", "kind is one of thread, process, not 'fibre'"),
        ("depth", "1", "has no parameter 'depth' (it has: contexts, kind)"),
    ],
)
def test_what_a_parameter_may_not_be(name, text, sentence):
    with pytest.raises(ValueError) as refused:  # noqa: PT011 - the sentence is compared below
        protocol.parse_parameter(DESCRIPTOR, name, text)
    assert sentence in str(refused.value)


# --- exits -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "signal", "stderr", "meaning"),
    [
        (0, None, b"", ("ok", "")),
        (1, None, b"", ("failed", "exited with code 1 and gave no reason")),
        (1, None, b"first\nlast word\n\n", ("failed", "exited with code 1: last word")),
        (2, None, b"usage", ("failed", "exited with code 2: usage")),
        (77, None, b"needs io_uring\n", ("skipped", "needs io_uring")),
        (77, None, b"", ("skipped", "the probe gives no reason")),
        (None, 11, b"", ("failed", "was ended by signal 11")),
        (None, 6, b"oh no \xff", ("failed", "was ended by signal 6: oh no \ufffd")),
    ],
)
def test_what_an_exit_means(code, signal, stderr, meaning):
    assert protocol.describe_exit(code, signal, stderr) == meaning


def test_last_words_are_cut_short():
    assert len(protocol.describe_exit(1, None, b"x" * 100_000)[1]) < 500
