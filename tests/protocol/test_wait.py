# SPDX-License-Identifier: Apache-2.0
"""Probes of many descriptors say what would help where the process may not open as many."""

import resource
import subprocess

import pytest

from steelyard.measure import catalog, protocol
from tests import processes

WAYS = {name: path for name, path in catalog.find_programs(catalog.probe_folders()).items() if name.startswith("wait/")}


def few_files():
    resource.setrlimit(resource.RLIMIT_NOFILE, (100, 100))


def test_there_are_ways_to_wait():
    assert {"wait/select", "wait/poll", "wait/epoll"} <= WAYS.keys()


@pytest.mark.parametrize("name", WAYS)
def test_too_low_a_limit_is_a_skip_with_the_command_that_raises_it(name):
    done = subprocess.run(
        [WAYS[name], "descriptors=1000", "--operations", "1", "--values", "1"],
        preexec_fn=few_files, capture_output=True, text=True, check=False, timeout=processes.PATIENCE_S,
    )  # fmt: skip
    assert done.returncode == protocol.SKIPPED_EXIT_CODE
    assert "1000 descriptors need a limit of 1064 open files, and it is 100; as root: ulimit -Hn 1064" in done.stderr


def test_the_soft_limit_is_raised_without_asking():
    def soft():
        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (100, hard))

    done = subprocess.run(
        [WAYS["wait/poll"], "descriptors=200", "--operations", "1", "--values", "1"],
        preexec_fn=soft, capture_output=True, text=True, check=False, timeout=processes.PATIENCE_S,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
