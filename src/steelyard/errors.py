# SPDX-License-Identifier: Apache-2.0
"""What stops a command: each error has an exit code and says what, where and what to do.

A skip (could not be measured here) and a caveat (a doubt that travels with a result) are not errors; both are records.
Exit codes 0, 1 and 2 are left to verdicts, as `check` uses them.
"""

from __future__ import annotations

import signal


class SteelyardError(Exception):
    """Base of all errors that end a command. Its own exit code is that of what nobody foresaw."""

    exit_code = 70


class UsageError(SteelyardError):
    """The command line contradicts itself or asks for something that does not exist."""

    exit_code = 64


class SelectionError(SteelyardError):
    """A selector, parameter or placement matches no case."""

    exit_code = 65


class SessionFileError(SteelyardError):
    """A session file is missing, malformed, of another schema or of another plan."""

    exit_code = 66


class StudyError(SteelyardError):
    """A study's folder is missing, or one of its entries is wrong."""

    exit_code = 67


class BackendError(SteelyardError):
    """The backend that should place a fleet's work is not installed, or refuses what is asked of it."""

    exit_code = 68


class NothingMeasuredError(SteelyardError):
    """Every selected case was skipped or failed: there is no result."""

    exit_code = 69


class CasesFailedError(SteelyardError):
    """The session is complete and kept, but some of its cases failed."""

    exit_code = 71


class InstallationError(SteelyardError):
    """Steelyard's own parts (launcher, probes, library) are missing or broken."""

    exit_code = 72


class OutputError(SteelyardError):
    """A file or standard output cannot be written, or it is a session, which nothing replaces."""

    exit_code = 73


class StorageError(SteelyardError):
    """There is no room or no permission where a session of a fleet goes; nothing of it was delivered."""

    exit_code = 74


class BusyError(SteelyardError):
    """The machine is not free: another one measures or works on it. Trying again later helps."""

    exit_code = 75


class ProtocolError(SteelyardError):
    """A probe said something that protocol 1 does not know; the runner records it as a failed run."""

    exit_code = 76


class VersionError(SteelyardError):
    """The Steelyard of this machine is not the one that the fleet's plan was made with."""

    exit_code = 78


class IncompleteError(SteelyardError):
    """Some sessions of a fleet are missing; those that came are kept, and `fleet resume` does the others."""

    exit_code = 79


class OutOfMemoryError(SteelyardError):
    """There is not enough memory, or not enough of its addresses (`ulimit -v`)."""

    exit_code = 80


class LoadError(SteelyardError):
    """A load for simulated schedulers is missing, one of its entries is wrong, or no machine could bear it."""

    exit_code = 81


class PublishError(SteelyardError):
    """A session may not be published, because nobody should rely on it, or could not be signed."""

    exit_code = 82


class GalleryError(SteelyardError):
    """A gallery or a published session is missing, malformed or changed, or its figures cannot be true."""

    exit_code = 83


class Interrupted(KeyboardInterrupt):
    """A signal asked the program to end: it passes where Ctrl-C passes, and its exit code says which it was."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.exit_code = 128 + number


class ReaderGoneError(Exception):
    """Whoever read standard output has seen enough (`steelyard list | head`): nothing is said, and the command ends."""

    exit_code = 128 + signal.SIGPIPE
