# SPDX-License-Identifier: Apache-2.0
"""Contexts and children that nobody pins are given time to be spread over the CPUs before anything is timed."""

import json
import subprocess
from pathlib import Path

import pytest

from tests import processes

SUPPORT = Path(__file__).parents[2] / "probes" / "support" / "c"
PROBE = """
#include "contexts.h"
#include <sched.h>
static struct gate *gate;
static uint64_t batches;
static void body(struct probe_run *run, int index, void *shared)
{
    (void)run, (void)index, (void)shared;
    gate_pass(gate);
    while (!gate->stop)
        sched_yield();
}
static void setup(struct probe_run *run)
{
    gate = probe_share(sizeof *gate);
    if (probe_is(run, "beside", "yes")) {
        run->state = contexts_start(run, false, 1, 1, body, NULL);
        gate_open(gate, 1);
    }
}
static void batch(struct probe_run *run, uint64_t operations, struct probe_value *value)
{
    (void)run;
    probe_start(value);
    probe_stop(value);
    probe_count(value, "checked", operations);
    probe_count(value, "batches", ++batches);
}
static void teardown(struct probe_run *run)
{
    gate->stop = true;
    if (run->state)
        contexts_join(run, run->state);
}
static const struct probe tried = {
    .title = "tried", .question = "What is timed?", .operation = "nothing", .source = "this test",
    .statistic = "median", .placements = "same,free", .uses = "cpu,sched",
    .metrics = (const struct probe_metric[]){{"nothing", "s", "lower", "wall", "operations", "time of nothing"}, {0}},
    .params = (const struct probe_param[]){
        {.name = "beside", .doc = "whether a context runs beside", .choices = "yes,no", .sweep = "yes"}, {0}},
    .setup = setup, .batch = batch, .teardown = teardown,
};
int main(int argc, char **argv)
{
    return probe_main(&tried, argc, argv);
}
"""


@pytest.fixture(scope="module")
def tried(tmp_path_factory):
    """A probe whose values say how many batches there have been."""
    folder = tmp_path_factory.mktemp("unpinned")
    (folder / "tried.c").write_text(PROBE)
    sources = [path for path in SUPPORT.glob("*.c") if path.stem not in {"conformance", "skeleton"}]
    command = [processes.tool("cc"), "-std=gnu17", "-O1", "-pthread", '-DPROBE_ID="switch/tried"', f"-I{SUPPORT}"]
    subprocess.run([*command, folder / "tried.c", *sources, "-o", folder / "tried", "-lm", "-lrt"], check=True)
    return folder / "tried"


def batches(tried, *arguments) -> int:
    """Of the first value: those that came before it, and its own."""
    command = [tried, *arguments, "--operations", "8", "--values", "1"]
    lines = subprocess.run(command, check=True, capture_output=True, text=True, timeout=processes.PATIENCE_S).stdout
    [value] = [line for line in map(json.loads, lines.splitlines()) if line["type"] == "value"]
    return value["counts"]["batches"]


@pytest.mark.parametrize("beside", ["yes", "no"])
def test_what_nobody_pins_runs_untimed_first_whether_contexts_run_beside_it_or_it_makes_children(tried, beside):
    assert batches(tried, "--placement", "free", f"beside={beside}") > 10


def test_nothing_is_waited_for_on_one_cpu(tried):
    assert batches(tried, "--placement", "same") == 2
