# SPDX-License-Identifier: Apache-2.0
"""Which workers and threads a sweep of a server tries."""

import pytest

from steelyard.lab.servers import worker_sweep


@pytest.mark.parametrize(
    ("cpus", "workers"), [(1, [1, 3]), (2, [1, 2, 5]), (6, [1, 2, 4, 6, 13]), (8, [1, 2, 4, 8, 17])]
)
def test_a_sweep_goes_up_to_a_worker_a_cpu_and_has_the_formula_beside_it(cpus, workers):
    ways = worker_sweep(cpus)
    assert list(dict.fromkeys(count for count, _ in ways)) == workers
    assert [threads for count, threads in ways if count == workers[0]] == [0, 4]
    assert [threads for count, threads in ways if count == 2 * cpus + 1] == [0]
