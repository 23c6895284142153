# SPDX-License-Identifier: Apache-2.0
"""Load, by installed generators only: none of our own, so that nobody has to trust one.

A generator is a class: how it is called, and what is read from what it prints. Its own CPU time is measured, for one
that has none left measures itself.
"""

from __future__ import annotations

import csv
import ctypes
import json
import math
import os
import re
import shutil
import signal
import subprocess
import time
from typing import Dict, List, NamedTuple, Optional, Sequence, Tuple

_PR_SET_PDEATHSIG = 1
#: Longest that a generator may take beyond its time until it has printed its figures.
_PATIENCE_S = 15.0
#: wrk looks ten times a second whether it is to stop.
SHORTEST_S = 0.1

#: What a browser sends beside Host, in this order.
BROWSER_HEADERS = (
    ("User-Agent", "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0"),
    ("Accept", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"),
    ("Accept-Language", "en-US,en;q=0.5"),
    ("Accept-Encoding", "gzip, deflate"),
    ("Referer", "http://localhost/index.html"),
    ("Cookie", "session=0123456789abcdef0123456789abcdef; theme=light"),
    ("Cache-Control", "max-age=0"),
)


class Demand(NamedTuple):
    """What is asked of a generator."""

    url: str
    connections: int
    keep_alive: bool
    headers: Tuple[Tuple[str, str], ...]
    rate: int  #: requests a second, 0: as fast as they are answered
    length: Optional[int]  #: bytes of each right body; None if they differ
    folder: str  #: for its files


class Load(NamedTuple):
    """What a generator says of the time in which it loaded the server; times in seconds.

    `broken`: requests whose connection was refused, cut or too slow. `wrong`: answers with a status other than 2xx, or
    of another length where it looks at that; both by kind.
    """

    answered: int
    seconds: float
    percentiles: Dict[str, float]
    received: Optional[int]  #: bytes, heads included; None if it does not count them
    broken: Dict[str, int]
    wrong: Dict[str, int]
    cpu_s: float  #: of the generator itself
    busy_s: float  #: time on the clock from its start to its end


class GeneratorError(Exception):
    """A generator that gave up, with its words."""


class _Ended(NamedTuple):
    out: str
    words: str
    code: int
    cpu_s: float
    busy_s: float


def _die_with_the_probe() -> None:
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _run(command: Sequence[str], folder: str, seconds: float, interrupt: bool = False) -> _Ended:
    """Run a generator to its end, or interrupt it after its time as by Ctrl-C."""
    out_name, words_name = os.path.join(folder, "generator.out"), os.path.join(folder, "generator.err")
    with open(out_name, "wb") as out, open(words_name, "wb") as words:
        began = time.monotonic()
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=words,
            preexec_fn=_die_with_the_probe,  # noqa: PLW1509 - a probe of this kind has one thread
            cwd=folder,
        )
        if interrupt:
            _wait_until_interruptible(process)
            time.sleep(seconds)
            os.kill(process.pid, signal.SIGINT)  # send_signal() would reap what has ended, and its account with it
        end = began + seconds + _PATIENCE_S
        while True:
            pid, status, usage = os.wait4(process.pid, os.WNOHANG)
            if pid:
                break
            if time.monotonic() > end:
                process.kill()
                os.wait4(process.pid, 0)
                raise GeneratorError(
                    f"{command[0]} did not end within {_PATIENCE_S:.0f} s of its time: nothing answers it"
                )
            time.sleep(0.002)
        busy_s = time.monotonic() - began
    process.returncode = os.waitstatus_to_exitcode(status) if hasattr(os, "waitstatus_to_exitcode") else status >> 8
    with open(out_name, errors="replace") as out, open(words_name, errors="replace") as words:
        return _Ended(out.read(), words.read(), process.returncode, usage.ru_utime + usage.ru_stime, busy_s)


def _wait_until_interruptible(process: subprocess.Popen[bytes]) -> None:
    """Wait until a program catches SIGINT, which before would end it without its figures.

    On a busy machine that can be later than the time for which it is to load.
    """
    end = time.monotonic() + _PATIENCE_S
    while time.monotonic() < end:
        with open(f"/proc/{process.pid}/status") as status:
            fields = dict(line.split(":", 1) for line in status)
        if fields["State"].split()[0] == "Z" or int(fields["SigCgt"], 16) >> signal.SIGINT - 1 & 1:
            return
        time.sleep(0.001)


def _failure(name: str, ended: _Ended, text: str) -> GeneratorError:
    """The last line of a generator that gave up; of one that said nothing, how it ended."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if lines:
        return GeneratorError(f"{name}: {lines[-1]}")
    how = f"exited with code {ended.code}" if ended.code >= 0 else f"was ended by {signal.Signals(-ended.code).name}"
    return GeneratorError(f"{name} {how} and printed nothing")


class Generator:
    """One program that loads a server."""

    name: str
    #: What it can do, for the reason why not.
    holds_a_rate = False
    counts_bytes = False
    #: Where to get it.
    package: str

    def program(self) -> Optional[str]:
        """Its path; None where it is not installed."""
        return shutil.which(self.name)

    def load(self, demand: Demand, requests: int, seconds: float) -> Load:
        """Load the server for about so many requests or so long, whichever it goes by."""
        raise NotImplementedError

    def version(self) -> str:
        """As it calls itself."""
        raise NotImplementedError


_WRK_REPORT = """
done = function(summary, latency, requests)
  local errors = summary.errors
  io.write(string.format(
    '\\n{"requests":%d,"us":%d,"bytes":%d,"connect":%d,"read":%d,"write":%d,"status":%d,"timeout":%d,' ..
    '"p50":%d,"p90":%d,"p99":%d,"max":%d,"mean":%f}\\n',
    summary.requests, summary.duration, summary.bytes, errors.connect, errors.read, errors.write, errors.status,
    errors.timeout, latency:percentile(50), latency:percentile(90), latency:percentile(99), latency.max, latency.mean))
end
"""
#: In a checking pass every body is compared. The counts are globals of each thread, the only way from there to done().
_WRK_CHECK = """
local file = io.open("expected.body", "rb")
local expected = file:read("*a")
file:close()
local threads = {}
setup = function(thread) table.insert(threads, thread) end
right, statuses = 0, {}
response = function(status, headers, body)
  statuses[status] = (statuses[status] or 0) + 1
  if status == 200 and body == expected then right = right + 1 end
end
done = function(summary, latency, requests)
  local right, statuses = 0, {}
  for _, thread in ipairs(threads) do
    right = right + thread:get("right")
    for status, count in pairs(thread:get("statuses")) do
      table.insert(statuses, string.format("[%d,%d]", status, count))
    end
  end
  io.write(string.format('\\n{"right":%d,"statuses":[%s]}\\n', right, table.concat(statuses, ",")))
end
"""


class Wrk(Generator):
    """Closed loop: each connection sends its next request when it has the answer to the last one.

    Its percentiles are corrected by its mean interval, which is not the same as sending at a constant rate.
    """

    name = "wrk"
    package = "wrk (Debian: apt-get install wrk)"
    counts_bytes = True

    def load(self, demand: Demand, requests: int, seconds: float) -> Load:  # noqa: ARG002 - it goes by time
        ended = self._run(demand, seconds, _WRK_REPORT)
        said = json.loads(ended.out.splitlines()[-1])
        return Load(
            answered=said["requests"],
            seconds=said["us"] / 1e6,
            percentiles={name: said[name] / 1e6 for name in ("p50", "p90", "p99", "max", "mean")},
            received=said["bytes"],
            broken={kind: said[kind] for kind in ("connect", "read", "write", "timeout")},
            wrong={"wrong status": said["status"]},
            cpu_s=ended.cpu_s,
            busy_s=ended.busy_s,
        )

    def compare_bodies(self, demand: Demand, expected: bytes, seconds: float) -> Tuple[int, Dict[int, int]]:
        """Compare the body of every answer under load, untimed; returns how many were right, and all by status."""
        with open(os.path.join(demand.folder, "expected.body"), "wb") as file:
            file.write(expected)
        said = json.loads(self._run(demand, seconds, _WRK_CHECK).out.splitlines()[-1])
        return said["right"], dict(said["statuses"])

    def _run(self, demand: Demand, seconds: float, script: str) -> _Ended:
        with open(os.path.join(demand.folder, "report.lua"), "w") as file:
            file.write(script)
        headers = [*demand.headers, *(() if demand.keep_alive else (("Connection", "close"),))]
        command = [
            *(self.name, "--threads", "1", "--connections", str(demand.connections)),
            *("--duration", f"{math.ceil(seconds) + 1}s", "--timeout", "2s", "--script", "report.lua"),
            *(word for name, text in headers for word in ("--header", f"{name}: {text}")),
            demand.url,
        ]
        ended = _run(command, demand.folder, seconds, interrupt=True)
        if ended.code != 0 or not ended.out.rstrip().endswith("}"):
            raise _failure(self.name, ended, ended.words or ended.out)
        return ended

    def version(self) -> str:
        said = subprocess.run([self.name, "--version"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        return said.stdout.decode().split("[")[0].split("\n")[0].strip()


class Ab(Generator):
    """Closed loop, HTTP/1.0, by number; it compares the length of every body with that of the first one.

    Should the first one itself be wrong, what it calls wrong is right and the other way round.
    """

    name = "ab"
    package = "ab (Debian: apt-get install apache2-utils)"

    def load(self, demand: Demand, requests: int, seconds: float) -> Load:
        number = max(requests, demand.connections)
        command = [
            *(self.name, "-q", "-r", "-n", str(number), "-c", str(demand.connections), "-s", "5"),
            *("-e", "percentiles.csv", *(("-k",) if demand.keep_alive else ())),
            *(word for name, text in demand.headers for word in ("-H", f"{name}: {text}")),
            demand.url,
        ]
        ended = _run(command, demand.folder, seconds)
        if ended.code != 0:
            raise _failure(self.name, ended, ended.words)

        def figure(label: str) -> float:
            found = re.search(rf"^{label}:\s+([0-9.]+)", ended.out, re.MULTILINE)
            return float(found.group(1)) if found else 0.0

        def percentile(share: int) -> float:
            # ab rounds its index up, and of few requests reads past the last one: of 50 for 99 %.
            return table["100" if int(0.5 + complete * share / 100) >= complete else str(share)]

        kinds = dict(re.findall(r"(Connect|Receive|Length|Exceptions): (\d+)", ended.out))
        with open(os.path.join(demand.folder, "percentiles.csv"), newline="") as file:
            table = {row[0]: float(row[1]) / 1e3 for row in list(csv.reader(file))[1:]}
        broken = {"connect": int(kinds.get("Connect", 0)), "read": int(kinds.get("Receive", 0))}
        broken["other"] = int(kinds.get("Exceptions", 0))
        complete, odd = int(figure("Complete requests")), int(kinds.get("Length", 0))
        if demand.length not in (None, int(figure("Document Length"))):
            odd = complete - odd
        right, wrong = complete - odd, max(0, odd - sum(broken.values()))
        # What was closed before its first byte is an answer of no length to ab; of what broke some may have come.
        more = figure("HTML transferred") - right * (demand.length or 0)
        if wrong and demand.length and 0 <= more <= sum(broken.values()) * demand.length:
            broken["closed"], wrong = wrong, 0
        return Load(
            answered=complete - sum(broken.values()),
            seconds=figure("Time taken for tests"),
            percentiles={
                **{f"p{share}": percentile(share) for share in (50, 90, 99)},
                "max": table["100"],
                "mean": figure("Time per request") / 1e3,
            },
            received=None,
            broken=broken,
            wrong={"wrong status": int(figure("Non-2xx responses")), "wrong length": wrong},
            cpu_s=ended.cpu_s,
            busy_s=ended.busy_s,
        )  # fmt: skip

    def version(self) -> str:
        said = subprocess.run([self.name, "-V"], stdout=subprocess.PIPE, check=False).stdout.decode()
        return "ab " + said.split("Version ")[1].split()[0]


#: What oha calls a request that was under way when its time was over.
_OHA_ENDED = "aborted due to deadline"


class Oha(Generator):
    """Open loop where a rate is given: each request has its moment, and its latency counts from that moment.

    So a server that stalls is charged with all that should have been sent meanwhile: no coordinated omission. Without
    a rate it is a closed loop as the others are. It sums the bytes of the bodies.
    """

    name = "oha"
    package = "oha (cargo install oha --no-default-features --features rustls)"
    holds_a_rate = True

    def load(self, demand: Demand, requests: int, seconds: float) -> Load:
        # At a rate by time: what is offered beyond the knee would take as long as the server is slow.
        pace = ("-z", f"{round(1000 * seconds)}ms", "-q", str(demand.rate), "--latency-correction")
        number = ("-n", str(max(requests, demand.connections)))
        command = [
            *(self.name, *(pace if demand.rate else number)),
            *("-c", str(demand.connections), "-t", "2s", "--redirect", "0"),
            *(("--disable-keepalive",) if not demand.keep_alive else ()),
            *("--disable-compression", "--no-tui", "--output-format", "json"),
            *(word for name, text in demand.headers for word in ("-H", f"{name}: {text}")),
            demand.url,
        ]
        ended = _run(command, demand.folder, seconds)
        if ended.code != 0:
            raise _failure(self.name, ended, ended.words)
        said = json.loads(ended.out)
        statuses = {int(status): count for status, count in said["statusCodeDistribution"].items()}
        latencies = said["latencyPercentiles"]
        return Load(
            answered=sum(statuses.values()),
            seconds=said["summary"]["total"],
            percentiles={
                "p50": latencies["p50"] or 0.0, "p90": latencies["p90"] or 0.0, "p99": latencies["p99"] or 0.0,
                "max": said["summary"]["slowest"] or 0.0, "mean": said["summary"]["average"] or 0.0,
            },
            received=None,
            broken={"other": sum(count for kind, count in said["errorDistribution"].items() if kind != _OHA_ENDED)},
            wrong={f"status {status}": count for status, count in statuses.items() if not 200 <= status < 300},
            cpu_s=ended.cpu_s,
            busy_s=ended.busy_s,
        )  # fmt: skip

    def version(self) -> str:
        said = subprocess.run([self.name, "--version"], stdout=subprocess.PIPE, check=False)
        return said.stdout.decode().strip()


GENERATORS: Dict[str, Generator] = {generator.name: generator for generator in (Wrk(), Ab(), Oha())}


def installed() -> List[str]:
    """The names of those that are there."""
    return [name for name, generator in GENERATORS.items() if generator.program()]
