# SPDX-License-Identifier: Apache-2.0
"""One table of command lines for the supports of all languages: what each prints, refuses and ends with.

A support brings a probe `conformance` in its language. They are found by looking; nothing here knows a language.
"""

import functools
import json
import os
import subprocess
from pathlib import Path

import pytest

from steelyard.measure import catalog, protocol
from steelyard.records import Case
from tests import processes

SUPPORTS = Path(__file__).parents[2] / "probes" / "support"
BUILT = catalog.native_folder() / "conformance"  # in an editable installation
PROGRAMS = catalog.find_programs([BUILT] if BUILT.is_dir() else [])
LANGUAGES = {name.partition("/")[0]: name for name in PROGRAMS}
FEW = ("--operations", "23", "--values", "2")
ALLOWED = sorted(os.sched_getaffinity(0))

each_language = pytest.mark.parametrize("language", LANGUAGES)


def ended(language, *arguments, **more) -> subprocess.CompletedProcess[bytes]:
    """A conformance probe that has been run to its end; nothing is counted unless it is asked for."""
    program = PROGRAMS[LANGUAGES[language]]
    if program.suffix == ".skip":
        processes.missing(program.read_text().strip())
    environment = {**os.environ, "STEELYARD_COUNTERS": "off", **more.pop("environment", {})}
    return subprocess.run(
        [*catalog.command(program), *arguments],
        **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **more},
        env=environment,
        check=False,
        timeout=processes.PATIENCE_S,
    )


@functools.cache
def described(language):
    return protocol.parse_descriptor(ended(language, "--describe").stdout, LANGUAGES[language])


def transcript(language, *arguments, placement="same", **parameters):
    """The lines of a run, read as the lab reads them, and the raw ones."""
    done = ended(language, *arguments, *(f"{key}={value}" for key, value in parameters.items()))
    assert (done.returncode, done.stderr) == (0, b"")
    given = {"number": 3, "trouble": "none", **parameters}
    case = Case(probe=LANGUAGES[language], placement=placement, parameters=given)
    return protocol.parse_transcript(done.stdout, case, described(language)), [
        *map(json.loads, done.stdout.splitlines())
    ]


def refusal(language, done) -> str:
    """The sentence on standard error, without the name of the probe; nothing may have been printed."""
    assert done.stdout == b""
    [*_, last] = done.stderr.decode().splitlines()
    name, _, sentence = last.partition(": ")
    assert name == LANGUAGES[language]
    return sentence


def test_every_support_brings_its_probe():
    assert set(LANGUAGES) == {path.parent.name for path in SUPPORTS.glob("*/language.cmake")}


def test_all_describe_themselves_alike():
    there = [language for language in LANGUAGES if PROGRAMS[LANGUAGES[language]].suffix != ".skip"]
    described_alike = []
    for language in there:
        fields = json.loads(ended(language, "--describe").stdout)
        assert fields.pop("probe") == LANGUAGES[language]
        fields.pop("warms_up", None)  # of the language, not of its support
        fields.pop("tails", None)  # which not all of them can
        described_alike.append(fields)
    for fields in described_alike[1:]:
        assert fields == described_alike[0]
    [number, trouble] = described_alike[0]["parameters"]
    assert number == {
        **{"name": "number", "type": "integer", "doc": "a number", "unit": "B", "minimum": -2, "maximum": 9},
        **{"sweep": [3, 4], "brief": [4], "curves": ["half"]},
    }
    assert (trouble["type"], trouble["sweep"], trouble["brief"]) == ("choice", ["none"], ["none"])
    assert (described_alike[0]["title"], described_alike[0]["family"]) == ("conformance", "supports")
    assert described_alike[0]["value_ms"] == 5
    assert described_alike[0]["baseline"] == "null/null"


_COUNT = '{} takes a number from 1 to 2^40, not "{}"'
_DURATION = '{} takes a duration such as 10ms, not "{}"'
_NUMBER = 'number is an integer from -2 to 9, not "{}"'
_OPTIONS = "(--describe, --selftest, --operations, --values, --target, --deadline, --placement, --json, key=value)"
_TROUBLES = "none,more,caveat,wrong,unproven,unstarted,idle,fewer,slow,breaks,fails,skips"
REFUSED = {
    ("--no-such-option", "1"): f"unknown option --no-such-option {_OPTIONS}",
    ("--values",): "--values takes an argument",
    ("word",): '"word" is neither an option nor key=value',
    ("no_such=1",): 'no parameter is called "no_such"; --describe lists them',
    ("=1",): 'no parameter is called ""; --describe lists them',
    ("trouble=nonsense",): f'trouble is one of {_TROUBLES}, not "nonsense"',
    ("trouble=",): f'trouble is one of {_TROUBLES}, not ""',
    ("--placement", "nowhere"): '--placement is one of same,cross,free, not "nowhere"',
    **{
        (option, wrong): _COUNT.format(option, wrong)
        for option in ("--operations", "--values")
        for wrong in ("0", "-1", "", "x", "1.5", "1e3", "1099511627777", "99999999999999999999999")
    },
    **{
        (option, wrong): _DURATION.format(option, wrong)
        for option in ("--target", "--deadline")
        for wrong in ("", "10", "ms", "0ms", "0.0s", "-1ms", "10m", "1e1ms", "nans", "infs", "1.2.3s", "9999999999s")
    },
    **{
        (f"number={wrong}",): _NUMBER.format(wrong)
        for wrong in ("10", "-3", "", "-", "x", "1.5", "0x5", "99999999999999999999999")
    },
}


@each_language
@pytest.mark.parametrize("arguments", REFUSED, ids=" ".join)
def test_wrong_usage_is_code_2_and_the_same_sentence_in_every_language(language, arguments):
    done = ended(language, *arguments)
    assert done.returncode == 2
    options = "--deadline, --tails," if described(language).tails else "--deadline,"
    assert refusal(language, done) == REFUSED[arguments].replace("--deadline,", options)
    assert done.stderr.count(b"\n") == 1


@each_language
def test_a_run_prints_its_lines_in_their_order(language):
    read, lines = transcript(language, *FEW, number=-2)
    assert [line["type"] for line in lines] == ["meta", "value", "value", "end"]
    assert lines[-1] == {"type": "end", "values": 2}
    assert [value.operations for value in read.values] == [23, 23]
    assert [value.readings for value in read.values] == [{"half": -1.0}] * 2
    for value in read.values:
        assert value.wall_ns > 0
        assert value.lanes == 2
        assert value.counts["checked"] == 23
    meta = read.meta
    assert (meta.operations, meta.search_ns) == (23, 0)
    assert meta.compiler
    assert meta.counters == ""
    assert meta.counters_absent
    assert {"flags", "clock"} <= lines[0].keys()


@each_language
def test_it_says_that_it_was_told_to_print_json_and_prints_nothing_else(language):
    read, _ = transcript(language, *FEW, "--json")
    assert len(read.values) == 2


@each_language
def test_a_batch_warms_up_and_is_not_printed(language):
    read, _ = transcript(language, *FEW)
    first, second = (value.counts["batches"] for value in read.values)
    assert first > 1
    assert second == first + 1


@each_language
def test_nine_values_unless_it_is_asked_for_others(language):
    read, _ = transcript(language, "--operations", "1")
    assert len(read.values) == 9


@each_language
def test_the_number_of_operations_is_found_for_a_length_of_time(language):
    read, _ = transcript(language, "--target", "0.1ms", "--values", "1")
    assert read.meta.operations > 1
    assert read.meta.search_ns > 0
    assert {value.operations for value in read.values} == {read.meta.operations}


@each_language
def test_an_operation_longer_than_the_target_is_done_once(language):
    read, _ = transcript(language, "--target", "1us", "--values", "1", trouble="more")
    assert read.meta.operations >= 1
    assert read.values[0].operations == 2 * read.meta.operations


@pytest.mark.parametrize("language", [language for language in LANGUAGES if language in ("c", "cpp", "go", "rust")])
def test_operations_are_timed_one_by_one(language):
    assert described(language).tails
    read, lines = transcript(language, *FEW, "--tails", "2ms")
    assert [line["type"] for line in lines] == ["meta", "value", "value", "histogram", "caveat", "end"]
    [found] = read.histograms
    assert (found.name, found.unit, found.scale) == ("operation", "s", 1e-9)
    assert 0 < found.quantile(0.5) < found.quantile(0.99) < 0.1
    assert "less than a microsecond" in read.caveats[0]
    assert transcript(language, *FEW)[0].histograms == ()


@pytest.mark.parametrize("language", [language for language in LANGUAGES if language in ("c", "cpp", "go", "rust")])
def test_what_does_several_operations_at_least_has_no_tails(language):
    read, _ = transcript(language, *FEW, "--tails", "1ms", trouble="more")
    assert read.histograms == ()
    assert read.caveats == ("no operation is timed by itself: this probe does several at least",)


@each_language
def test_a_caveat_is_printed_once(language):
    read, _ = transcript(language, *FEW, trouble="caveat")
    assert read.caveats == ('a "doubt" of 1',)


@each_language
@pytest.mark.parametrize("placement", ["same", "free", "cross"])
def test_a_run_is_where_its_placement_says(language, placement):
    if placement == "cross" and len(ALLOWED) < 2:
        pytest.skip("one CPU")
    read, _ = transcript(language, *FEW, "--placement", placement, placement=placement)
    assert list(read.meta.cpus) == (ALLOWED[-1:] if placement == "same" else ALLOWED)


@each_language
def test_across_cpus_cannot_be_measured_on_one(language):
    one = functools.partial(os.sched_setaffinity, 0, {ALLOWED[0]})
    done = ended(language, *FEW, "--placement", "cross", preexec_fn=one)
    assert done.returncode == protocol.SKIPPED_EXIT_CODE
    assert refusal(language, done) == "placement cross needs two CPUs and this process may use one"


#: What is planted, how the run of 23 operations ends, and with what sentence.
FOUND = {
    "wrong": (1, "23 operations were timed but 22 were proven to have happened"),
    "unproven": (1, 'a value lacks the count "checked"'),
    "unstarted": (1, "a batch never began its timed part"),
    "idle": (1, "a batch did no operation at all"),
    "breaks": (1, "it went wrong"),
    "fails": (1, "it went wrong"),
    "skips": (protocol.SKIPPED_EXIT_CODE, "there is no such thing"),
    "fewer": (1, "23 operations were asked for and 22 done"),
}


@each_language
@pytest.mark.parametrize("trouble", FOUND)
def test_a_selftest_that_finds_trouble_ends_with_the_reason(language, trouble):
    code, sentence = FOUND[trouble]
    done = ended(language, "--selftest", environment={"CONFORMANCE_TROUBLE": trouble})
    assert done.returncode == code, done.stderr.decode()
    assert refusal(language, done).endswith(sentence)


@each_language
@pytest.mark.parametrize("trouble", [trouble for trouble in FOUND if trouble != "fewer"])
def test_a_run_that_finds_trouble_ends_with_the_reason(language, trouble):
    code, sentence = FOUND[trouble]
    done = ended(language, f"trouble={trouble}", *FEW)
    assert done.returncode == code, done.stderr.decode()
    # How many operations the batch has that warms up is not laid down.
    assert refusal(language, done).endswith("were proven to have happened" if trouble == "wrong" else sentence)


@each_language
def test_a_selftest_that_finds_nothing_is_silent(language):
    done = ended(language, "--selftest")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


@each_language
def test_a_run_beyond_its_deadline_is_ended(language):
    done = ended(language, "trouble=slow", "--operations", "1", "--values", "1000", "--deadline", "1s")
    assert done.returncode == 1
    assert refusal(language, done) == "not finished within the deadline"


@each_language
def test_what_cannot_be_written_is_a_failure(language):
    with Path("/dev/full").open("wb") as full:
        for arguments in (FEW, ("--describe",)):
            done = ended(language, *arguments, stdout=full)
            assert done.returncode == 1
            assert b"cannot write to standard output" in done.stderr
