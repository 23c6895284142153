# SPDX-License-Identifier: Apache-2.0
"""Parse, dispatch, turn an error into an exit code."""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import sys
import time
import traceback
from pathlib import Path

from steelyard import no_libraries

try:
    from cyclopts import CycloptsError
except ModuleNotFoundError as error:  # a checkout that was not built, or an interpreter other than that of its .venv
    no_libraries.end(error)

from steelyard.cli import build_app
from steelyard.errors import (
    InstallationError,
    Interrupted,
    OutOfMemoryError,
    OutputError,
    ReaderGoneError,
    SteelyardError,
    UsageError,
)
from steelyard.lab import output
from steelyard.show.console import Console

_TOO_LITTLE = (
    "there is not enough memory, or no further thread may be had: `ulimit -v` and `ulimit -u` say how much a program "
    "may have here; raise it, or ask for less"
)


def main(arguments: list[str] | None = None) -> int:
    """Run one command; returns its exit code.

    Without arguments this is the program itself, with those of the command line: it takes over the streams, and
    what nobody foresaw ends it with a sentence. To a caller in Python that stays an exception.
    """
    if arguments is None:
        output.take_streams()
    try:
        given = sys.argv[1:] if arguments is None else arguments
        code = build_app()(given, exit_on_error=False, print_error=False, result_action="return_value")
        sys.stdout.flush()
    except CycloptsError as error:
        _say(str(error))
        _say("`steelyard --help` and `steelyard COMMAND --help` say what there is", style="")
        return UsageError.exit_code
    except SteelyardError as error:
        if isinstance(error, OutputError):
            output.drop_output()
        _say(str(error))
        return error.exit_code
    except KeyboardInterrupt as error:
        _say("interrupted")
        return error.exit_code if isinstance(error, Interrupted) else 128 + signal.SIGINT
    except ReaderGoneError as error:
        output.drop_output()
        return error.exit_code
    except Exception as error:
        if _is_shortage(error):
            _say(_TOO_LITTLE)
            return OutOfMemoryError.exit_code
        if lacking := no_libraries.lacking(error):
            _say(lacking)
            return InstallationError.exit_code
        if arguments is not None:
            raise
        _say(_unforeseen(error))
        return SteelyardError.exit_code
    return code if isinstance(code, int) else 0


def _say(sentence: str, style: str = "red") -> None:
    said = f"steelyard: {sentence}" if style else sentence
    Console(stderr=True, soft_wrap=True).print(said, style=style)


def _is_shortage(error: BaseException) -> bool:
    """Whether memory was lacking. Libraries and threads that have no room to be loaded say it in words of their own."""
    if error.__cause__ is not None and _is_shortage(error.__cause__):
        return True
    return (
        isinstance(error, MemoryError)
        or (isinstance(error, OSError) and error.errno in {errno.ENOMEM, errno.EAGAIN})
        or (isinstance(error, ImportError) and ("failed to map" in str(error) or "allocate memory" in str(error)))
        or (isinstance(error, RuntimeError) and "can't start new thread" in str(error))
    )


def _unforeseen(error: Exception) -> str:
    """A sentence for an error that is a defect of ours, after keeping its details in a file."""
    [what] = traceback.format_exception_only(error)[-1:]
    folder = Path(os.environ.get("XDG_STATE_HOME") or "~/.local/state").expanduser() / "steelyard" / "errors"
    path = folder / f"{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}-{os.getpid()}.txt"
    command = f"steelyard {' '.join(sys.argv[1:])}\n"
    with contextlib.suppress(OutputError, RuntimeError):
        output.write(path, command + "".join(traceback.format_exception(error)), new=True)
    kept = f"the details are in {path}" if path.exists() else f"the details could not be kept in {folder}"
    return f"a defect of Steelyard ended this: {what.strip()}; {kept}: please report it with them"


if __name__ == "__main__":
    sys.exit(main())
