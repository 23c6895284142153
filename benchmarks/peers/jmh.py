# SPDX-License-Identifier: Apache-2.0
"""JMH, the harness of the JDK's benchmarks, on the same operations (jmh.java). Maven fetches it; built here once.

JMH says the mean of its iterations. Its figure here is their median, of short ones, as ours is: on a machine with
neighbours the mean of a hand-over was 1.10 times as long.
"""

from __future__ import annotations

import re
import shutil
import statistics
import subprocess
import tempfile
from pathlib import Path

from benchmarks.peers import Peer
from steelyard.measure import catalog

_SOURCE = Path(__file__).with_suffix(".java")
_VERSION = "1.37"
_PROJECT = f"""<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>peers</groupId><artifactId>jmh</artifactId><version>0</version><dependencies>
<dependency><groupId>org.openjdk.jmh</groupId><artifactId>jmh-core</artifactId><version>{_VERSION}</version></dependency>
<dependency><groupId>org.openjdk.jmh</groupId><artifactId>jmh-generator-annprocess</artifactId>
<version>{_VERSION}</version></dependency></dependencies></project>
"""
#: As long as the probes' values together, or longer: five iterations to warm up, thirty that count.
_LENGTH = ("-f", "1", "-wi", "5", "-w", "300ms", "-i", "30", "-r", "50ms")


def _java() -> tuple[str, list[str]] | None:
    """The virtual machine of the probes and its flags, as the build wrote them into their starting scripts."""
    script = catalog.native_folder() / "probes" / "create" / "virtual_thread"
    if not script.exists():
        return None
    text = script.read_text()
    java = re.search(r"STEELYARD_JAVA:-(.*?)}", text)
    flags = re.search(r"STEELYARD_JAVA_FLAGS-(.*?)}", text)
    return (java[1], flags[1].split()) if java and flags else None


def _classes(java: str) -> Path | None:
    """The compiled benchmarks with the libraries beside them; None where they can't be had."""
    folder = Path(tempfile.gettempdir()) / f"steelyard-jmh-{_SOURCE.stat().st_mtime_ns}"
    if (folder / "classes" / "META-INF" / "BenchmarkList").exists():
        return folder
    folder.mkdir(exist_ok=True)
    (folder / "pom.xml").write_text(_PROJECT)
    maven = ("mvn", "-q", "-B", "dependency:copy-dependencies", f"-DoutputDirectory={folder}/lib")
    javac = (f"{Path(java).parent}/javac", "-d", f"{folder}/classes", "-cp", f"{folder}/lib/*")
    processor = ("-processor", "org.openjdk.jmh.generators.BenchmarkProcessor", str(_SOURCE))
    if shutil.which("mvn") is None or subprocess.run(maven, cwd=folder, check=False, capture_output=True).returncode:
        return None
    built = subprocess.run((*javac, *processor), check=False)
    return folder if built.returncode == 0 else None


def _command(benchmark: str) -> tuple[str, ...]:
    """The command line; named so that it says what is missing where JMH can't be had."""
    found = _java()
    folder = _classes(found[0]) if found else None
    if not found or not folder:
        return ("JMH (mvn and network are needed once)",)
    java, flags = found
    path = f"{folder}/classes:{folder}/lib/*"
    return (java, *flags, "-cp", path, "org.openjdk.jmh.Main", f"peers.jmh.{benchmark}$", *_LENGTH)


def _seconds(printed: str) -> float:
    found = re.findall(r"^Iteration +\d+: ([0-9.]+) ", printed, flags=re.MULTILINE)
    if not found:
        raise ValueError("JMH printed no iteration")
    return statistics.median(map(float, found)) * 1e-9


def _peer(benchmark: str, case: str, metric: str, same: str) -> Peer:
    return Peer(
        name=f"JMH, {benchmark}",
        case=case,
        metric=metric,
        command=_command(benchmark),
        figure=_seconds,
        same=same,
        target=(0.95, 1.05),
        values=99,
    )


PEERS = (
    _peer("create", "create/virtual_thread@same", "thread", "start and join by a virtual thread"),
    _peer("handoff", "switch/virtual_handoff@same", "round_trip", "two SynchronousQueues, there and back"),
)
