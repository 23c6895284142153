# SPDX-License-Identifier: Apache-2.0
"""A session of a fleet as a test of ReFrame 4, on each of the nodes that it is distributed over.

    reframe -c fleet_reframe.py -r --distribute=idle -S plan=$PWD/plan.json -S fleet=$PWD/fleet

Plan and folder lie on a file system that the nodes share. The medians of the session are the performance variables of
the test: ReFrame logs them and holds them against references. Which node is unlike the others, `steelyard fleet report`
says.
"""

import json
from pathlib import Path

import reframe as rfm
import reframe.utility.sanity as sn
from reframe.core.builtins import run_before, sanity_function, variable


@rfm.simple_test
class SteelyardSession(rfm.RunOnlyRegressionTest):
    """One session on one node: a further one with ``-S session=2``."""

    plan = variable(str, value="plan.json")
    fleet = variable(str, value="fleet")
    session = variable(int, value=1)
    options = variable(str, value="")

    descr = "What it costs to run and to connect work on this node"
    valid_systems = ["*"]
    valid_prog_environs = ["*"]
    executable = "steelyard"
    num_tasks = 1
    exclusive_access = True  # the lock on the machine keeps out whom the scheduler does not know
    time_limit = "1h"
    sourcesdir = None
    tags = {"steelyard"}

    @run_before("run")
    def measure(self):
        """Measure unless the session is there already, then print it."""
        plan, fleet = (Path(self.prefix, path) for path in (self.plan, self.fleet))
        node = '"${SLURMD_NODENAME:-$(hostname -s)}"'
        self.executable_opts = [
            f"fleet node '{plan}' --to '{fleet}' --node {node} --session {self.session} {self.options}"
        ]
        self.postrun_cmds = [f"steelyard show --json '{fleet}'/sessions/{node}.{self.session}.session.jsonl"]

    @sanity_function
    def session_is_there(self):
        """Whether the node has a session, new or from before; else what stands in the error output says why not."""
        return sn.assert_found(r"delivered: |is there already", self.stderr)

    @run_before("performance")
    def figures(self):
        """The median of each case that was asked for, in base units."""
        printed = Path(self.stagedir, sn.evaluate(self.stdout)).read_text()
        cases = [case for case in json.loads(printed) if not case["control"] and case["median"] is not None]
        self.perf_variables = {
            case["case"]: sn.make_performance_function(sn.defer(case["median"]), case["unit"]) for case in cases
        }
