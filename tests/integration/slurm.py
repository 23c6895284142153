# SPDX-License-Identifier: Apache-2.0
"""A real Slurm on this host: a controller and a daemon for each of three nodes, on the loopback interface.

It needs no root: the daemons run as whoever runs the tests, and munge has a key and a socket of its own. The nodes are
one machine under three names, so what measures on them takes turns by one lock, and what Slurm places on one of them
takes turns by Slurm.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests import processes
from tests.integration.laboratory import Laboratory

NODES = ("n1", "n2", "n3")
_SBIN = "/usr/sbin:/usr/local/sbin"
_CONFIGURATION = """\
ClusterName=steelyard
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket,cred_expire=5
CredType=cred/munge
SlurmUser={user}
SlurmdUser={user}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
MailProg=/bin/true
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
ReturnToService=2
SlurmdTimeout=6
KillWait=2
MessageTimeout=5
TCPTimeout=2
SchedulerParameters=batch_sched_delay=0,sched_min_interval=100000,bf_interval=1,requeue_delay=0
SlurmdParameters=config_overrides
NodeName=n1 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[1]} CPUs={cpus} State=UNKNOWN
NodeName=n2 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[2]} CPUs={cpus} State=UNKNOWN
NodeName=n3 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[3]} CPUs={cpus} State=UNKNOWN
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


def _free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as open_ones:
        sockets = [open_ones.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


class Cluster:
    """The daemons, what is asked of them, and what is done to them; all marked by ``laboratory``."""

    def __init__(self, laboratory: Laboratory) -> None:
        for name in ("munged", "slurmctld", "slurmd", "sbatch", "srun"):
            processes.tool(name)
        self.laboratory = laboratory
        self._daemons: dict[str, subprocess.Popen[bytes]] = {}
        # Not in pytest's folder: munge wants its socket where everybody may reach it, and a short path.
        self.folder = Path(tempfile.mkdtemp(prefix="steelyard-slurm-"))
        self.folder.chmod(0o755)
        (self.folder / "state").mkdir()
        for name in NODES:
            (self.folder / f"spool-{name}").mkdir()
        key = self.folder / "munge.key"
        key.touch(0o600)
        key.write_bytes(secrets.token_bytes(1024))
        (self.folder / "slurm.conf").write_text(
            _CONFIGURATION.format(
                host=socket.gethostname().partition(".")[0],
                folder=self.folder,
                user=pwd.getpwuid(os.getuid()).pw_name,
                ports=_free_ports(1 + len(NODES)),
                cpus=len(os.sched_getaffinity(0)),
            )
        )

    def environment(self) -> dict[str, str]:
        """What daemons and tools are started with."""
        found = self.laboratory.environment()
        return {**found, "SLURM_CONF": str(self.folder / "slurm.conf"), "PATH": f"{found['PATH']}:{_SBIN}"}

    # --- the daemons --------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Start all and wait until every node is idle."""
        files = [
            f"--{name}={self.folder}/munge.{name.removesuffix('-file')}"
            for name in ("key-file", "log-file", "pid-file", "seed-file")
        ]
        self._start("munged", "munged", "--foreground", f"--socket={self.folder}/munge.socket", *files)
        processes.until((self.folder / "munge.socket").exists, "munge is there")
        self.start_controller()
        for name in NODES:
            self.start_node(name)
        self.until_idle(*NODES)

    def start_controller(self) -> None:
        """Start slurmctld."""
        self._start("slurmctld", "slurmctld", "-D")

    def start_node(self, name: str) -> None:
        """Start the slurmd of a node."""
        self._start(name, "slurmd", "-D", "-N", name)

    def _start(self, name: str, program: str, *arguments: str) -> None:
        with (self.folder / f"{name}.said").open("ab") as said:
            self._daemons[name] = subprocess.Popen(
                [processes.tool(program), *arguments],
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
                env=self.environment(),
                start_new_session=True,
            )

    def kill(self, name: str) -> None:
        """SIGKILL to a daemon."""
        self._daemons[name].kill()
        self._daemons[name].wait()

    def kill_whole_node(self, name: str) -> None:
        """The node dies: its daemon, and all that runs on it."""
        ours = set(processes.marked(self.laboratory.mark))  # another cluster may have a node of this name
        on_it = [pid for pid in processes.marked(name, "SLURMD_NODENAME") if pid in ours]
        steps = {parent for pid in on_it if processes.name_of(parent := _parent(pid)).startswith("slurmstepd")}
        self.kill(name)
        for pid in (*steps, *on_it):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def stop(self) -> None:
        """End everything and remove the folder."""
        processes.kill_marked(self.laboratory.mark)
        for daemon in self._daemons.values():
            daemon.kill()
            daemon.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    # --- what is asked ------------------------------------------------------------------------------------------------

    def ask(self, *command: str, **more: object) -> str:
        """What a tool of Slurm prints."""
        done = subprocess.run(
            command,
            env=self.environment(),
            cwd=self.laboratory.folder,
            capture_output=True,
            text=True,
            check=False,
            **more,
        )
        assert done.returncode == 0, (command, done.stderr)
        return done.stdout

    def states(self) -> dict[str, str]:
        """The state of each node; empty while the controller is away."""
        done = subprocess.run(
            ["sinfo", "--noheader", "--Node", "--format=%N %T"],
            env=self.environment(),
            capture_output=True,
            text=True,
            check=False,
        )
        return dict(line.split() for line in done.stdout.splitlines())

    def until_idle(self, *names: str) -> None:
        """Wait until these nodes have nothing to do."""
        processes.until(lambda: all(self.states().get(name) == "idle" for name in names), f"idle: {names}")

    def resume_drained(self) -> None:
        """Say of each node that Slurm has taken out of service that it may work again."""
        drained = [name for name, state in self.states().items() if state.startswith("drain")]
        if drained:
            self.ask("scontrol", "update", f"nodename={','.join(drained)}", "state=resume")
            self.until_idle(*drained)

    def job(self, number: str) -> dict[str, str]:
        """The fields of a job."""
        text = self.ask("scontrol", "show", "job", "--oneliner", number)
        return dict(pair.partition("=")[::2] for pair in text.split() if "=" in pair)

    def until_job(self, number: str, *states: str) -> dict[str, str]:
        """Wait until a job is in one of these states."""
        processes.until(lambda: self.job(number)["JobState"] in states, f"job {number} is {states}")
        return self.job(number)


def _parent(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0


@contextlib.contextmanager
def a_cluster(laboratory: Laboratory) -> Iterator[Cluster]:
    """A cluster that works, and is gone afterwards."""
    cluster = Cluster(laboratory)
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.stop()
