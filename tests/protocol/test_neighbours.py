# SPDX-License-Identifier: Apache-2.0
"""Each neighbour with a short name works, in short batches, until it is ended; and what `--tally` refuses."""

import subprocess

import pytest

from steelyard.measure import catalog, protocol
from steelyard.measure.beside import BATCH_NS
from steelyard.measure.neighbours import conditions, known, neighbour
from tests import processes

FOLDERS = catalog.probe_folders()


def at_tally(name, folder):
    """The command of a neighbour of this name, and its file."""
    [[wanted]] = conditions([name]).values()
    found = catalog.load_only(FOLDERS, [wanted.pattern.probe])
    case = neighbour(wanted, "same", found).case
    tally = folder / "tally"
    tally.write_bytes(bytes(16))
    arguments = protocol.run_arguments(case, values=1, deadline_s=60, target_ns=BATCH_NS)
    return [*catalog.command(found.probes[case.probe].path), *arguments, "--tally", tally], tally


@pytest.mark.parametrize("name", known())
def test_it_adds_up_its_work_and_prints_nothing(name, tmp_path):
    command, tally = at_tally(name, tmp_path)
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:

        def operations():
            return int.from_bytes(tally.read_bytes()[:8], "little")

        try:
            processes.until(lambda: operations() or process.poll() is not None, "its first batch is done", 30)
            if process.poll() == protocol.SKIPPED_EXIT_CODE:
                pytest.skip(process.stderr.read().decode().strip())
            first = operations()
            processes.until(lambda: operations() > first or process.poll() is not None, "it goes on", 30)
            assert process.poll() is None, process.stderr.read().decode()
        finally:
            process.kill()
        assert process.stdout.read() == b""
    assert int.from_bytes(tally.read_bytes()[8:16], "little") > 0


def test_a_file_that_is_not_there_or_too_short_is_refused_in_a_sentence(tmp_path):
    command, tally = at_tally("sleeper", tmp_path)
    for prepare, words in (
        (lambda: tally.write_bytes(b"short"), "at least 16 bytes"),
        (tally.unlink, "a file that is there"),
    ):
        prepare()
        done = subprocess.run(command, capture_output=True, text=True, timeout=processes.PATIENCE_S, check=False)
        assert done.returncode == 2
        assert words in done.stderr
        assert done.stderr.count("\n") == 1
