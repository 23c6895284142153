# SPDX-License-Identifier: Apache-2.0
"""What applications ask: a database, a search daemon. Started for one run, on a UNIX socket in a folder of its own.

It runs beside the generator, away from the server, and what it uses is accounted for by itself.
"""

from __future__ import annotations

import ctypes
import glob
import os
import pwd
import shutil
import signal
import sys
import tempfile
import time
from typing import Any, Callable, Dict, Optional, Tuple, Type

from daemons import Daemon

#: How long it may take until it answers; a database is made in it.
_READY_WITHIN_S = 20.0
_ENDS_WITHIN_S = 5.0
#: Nothing of the user's language and time; to look for the time zone takes initdb a tenth of a second.
_PLAIN = {"LC_ALL": "C", "TZ": "UTC"}
#: Longest name of a UNIX socket, less that of the longest socket here.
_LONGEST_FOLDER = 107 - len("/.s.PGSQL.5432")
#: Whom a program that refuses to be root runs as, where this is root.
_ANYBODY = "nobody"
#: Starts such a program; its arguments are a user and a group, or -1, and the command. Namespaces of its own, where the
#: kernel grants them, take the program's shared memory with them, which would outlive SIGKILL: segments of System V,
#: and what initdb, which cannot be told otherwise, has in /dev/shm.
_APART = f"""
import ctypes, os, sys
libc, user, group = ctypes.CDLL(None), int(sys.argv[1]), int(sys.argv[2])
apart = {0x0800_0000 | 0x0002_0000} | ({0x1000_0000} if user < 0 else 0)  # CLONE_NEWIPC, _NEWNS, _NEWUSER
if libc.unshare(apart) == 0 and libc.mount(b"none", b"/", None, {0x4_4000}, None) == 0:  # MS_REC | MS_PRIVATE
    libc.mount(b"tmpfs", b"/dev/shm", b"tmpfs", 0, b"mode=1777")
if user >= 0:
    os.setgroups([])
    os.setgid(group)
    os.setuid(user)
libc.prctl(1, {int(signal.SIGKILL)})  # to become another has undone that it ends with its launcher
os.execv(sys.argv[3], sys.argv[3:])
"""


class AbsentError(Exception):
    """It is not installed here, with what to install."""


class Store:
    """One daemon. What has no value here is required."""

    name: str  #: as an application names it
    title: str  #: as people call it
    #: Whether it refuses to run as root.
    not_as_root = False
    stop_signal = signal.SIGTERM

    def __init__(self, data: str) -> None:
        self.data = data  #: folder of what the application has prepared
        self._daemon: Optional[Daemon] = None

    def command(self) -> Tuple[str, ...]:
        """How it is made and started in self.folder, where it runs; first a program's path. Raises AbsentError."""
        raise NotImplementedError

    def address(self) -> str:
        """What the application connects to."""
        raise NotImplementedError

    def answers(self) -> None:
        """Called once when it has answered."""

    @property
    def pid(self) -> Optional[int]:
        """Of the launcher above its processes; None where they are not ours."""
        return self._daemon.pid if self._daemon else None

    def start(self, cpu: Optional[int]) -> None:
        """Start it there; raises AbsentError."""
        self.folder = _folder(self.name, others=self.not_as_root and os.geteuid() == 0)
        try:
            command = self.command()
        except AbsentError:
            os.rmdir(self.folder)
            raise
        if self.not_as_root:
            user, group = -1, -1
            if os.geteuid() == 0:
                user, group = pwd.getpwnam(_ANYBODY)[2:4]
                os.chown(self.folder, user, group)
            command = (sys.executable, "-c", _APART, str(user), str(group), *command)
        self._daemon = Daemon(command, self.folder, None if cpu is None else (cpu,), {**os.environ, **_PLAIN})

    def wait(self, ask: Callable[[], Any]) -> Optional[str]:
        """Ask until it answers; returns why it does not."""
        end = time.monotonic() + _READY_WITHIN_S
        while True:
            try:
                ask()
            except Exception as error:  # each client library has its own
                last = " ".join(str(error).split())
            else:
                self.answers()
                return None
            daemon = self._daemon
            if daemon is None:
                return f"{self.title} does not answer: {last}"
            if daemon.has_ended():
                return f"{self.title} {daemon.how_it_ended()} before it was ready{daemon.said()}"
            if time.monotonic() > end:
                return f"{self.title} was not ready within {_READY_WITHIN_S:g} s: {last}{daemon.said()}"
            time.sleep(0.01)

    def end(self) -> None:
        """Stop it; all that it has written goes with it."""
        if self._daemon:
            self._daemon.end(self.stop_signal, _ENDS_WITHIN_S)


class Postgresql(Store):
    """A cluster that is made for the run; or the server that a DSN names, where nothing is left either."""

    name = "postgresql"
    title = "PostgreSQL"
    not_as_root = True
    stop_signal = signal.SIGQUIT  # at once: nobody wants the data
    #: A DSN as libpq takes it: the applications make their tables in it as temporary ones.
    dsn = os.environ.get("STEELYARD_REQUEST_DSN")

    def start(self, cpu: Optional[int]) -> None:
        if not self.dsn:
            super().start(cpu)

    def command(self) -> Tuple[str, ...]:
        programs = _programs_of_postgresql()
        # The small files and the shared memory as a file are for the sake of what is left if all is killed: nothing
        # outside of the folder.
        script = (
            'set -e\n"$1"/initdb -D cluster -U steelyard -A trust -E UTF8 --no-locale --no-sync --wal-segsize=1 >&2\n'
            'exec "$1"/postgres -D cluster -F -k "$2" -c listen_addresses= -c max_connections=1000'
            " -c dynamic_shared_memory_type=mmap -c restart_after_crash=off -c log_min_messages=error\n"
        )
        return "/bin/sh", "-c", script, "sh", programs, self.folder

    def address(self) -> str:
        return self.dsn or f"host={self.folder} user=steelyard dbname=postgres"

    def answers(self) -> None:
        """Where it has no namespace, have the kernel remove its segment of System V with its last process."""
        if self.dsn:
            return
        with open(os.path.join(self.folder, "cluster", "postmaster.pid")) as file:
            lines = file.read().splitlines()
        pid, segment = lines[0], int(lines[6].split()[1])
        if os.readlink(f"/proc/{pid}/ns/ipc") == os.readlink("/proc/self/ns/ipc"):
            ctypes.CDLL(None).shmctl(segment, 0, None)  # IPC_RMID


def _programs_of_postgresql() -> str:
    """The folder of the newest that is installed."""
    here = shutil.which("postgres")
    there = glob.glob("/usr/lib/postgresql/*/bin/postgres") + glob.glob("/usr/pgsql-*/bin/postgres")
    found = [here] if here else sorted(there, key=lambda path: [int(w) for w in path.split("/") if w.isdigit()])
    if not found:
        words = "PostgreSQL is not installed (Debian: apt-get install postgresql), and STEELYARD_REQUEST_DSN names none"
        raise AbsentError(words)
    return os.path.dirname(os.path.realpath(found[-1]))


class Searchd(Store):
    """Sphinx's daemon with an index of the documents, asked by the protocol of MySQL."""

    name = "searchd"
    title = "searchd"
    stop_signal = signal.SIGKILL  # at once: nobody wants the data, and asked to stop it waits for three seconds

    def command(self) -> Tuple[str, ...]:
        searchd, indexer = shutil.which("searchd"), shutil.which("indexer")
        if not (searchd and indexer):
            raise AbsentError("searchd and its indexer are not installed (Debian: apt-get install sphinxsearch)")
        with open(os.path.join(self.folder, "sphinx.conf"), "w") as file:
            file.write(_SPHINX.format(data=self.data, folder=self.folder, socket=self.address()))
        script = 'set -e\n"$1" --config sphinx.conf --all --quiet >&2\nexec "$2" --config sphinx.conf --nodetach\n'
        return "/bin/sh", "-c", script, "sh", indexer, searchd

    def address(self) -> str:
        return os.path.join(self.folder, "searchd.sock")


_SPHINX = """
source documents
{{
    type = tsvpipe
    tsvpipe_command = cat '{data}/documents.tsv'
    tsvpipe_field_string = title
    tsvpipe_field_string = text
}}
index documents
{{
    source = documents
    path = {folder}/documents
}}
indexer
{{
    mem_limit = 32M
}}
searchd
{{
    listen = {socket}:mysql41
    pid_file = {folder}/searchd.pid
    log = {folder}/searchd.log
    binlog_path =
}}
"""

STORES: Dict[str, Type[Store]] = {kind.name: kind for kind in (Postgresql, Searchd)}


def _folder(name: str, others: bool) -> str:
    """A new folder in that for temporary files, or in /tmp if a socket or another user would not get into that one.

    By its name a later session finds and removes it, should this process and its launchers all be killed at once.
    """
    root = tempfile.gettempdir()
    made = f"steelyard-{os.getuid()}-{name}-{os.getpid()}"
    if len(os.path.join(root, made)) > _LONGEST_FOLDER or (others and not _open_to_others(root)):
        root = "/tmp"  # noqa: S108 - the name is not to be guessed at, but to be found; mkdir takes none that is there
    path = os.path.join(root, made)
    os.mkdir(path, 0o700)
    return path


def _open_to_others(path: str) -> bool:
    """Whether every user may pass through this folder and those above it."""
    path = os.path.realpath(path)
    return bool(os.stat(path).st_mode & 0o001) and (path == "/" or _open_to_others(os.path.dirname(path)))
