# SPDX-License-Identifier: Apache-2.0
"""Parse, dispatch, turn an error into an exit code."""

from __future__ import annotations

import signal
import sys
from types import FrameType
from typing import NoReturn

from cyclopts import CycloptsError

from steelyard.cli import build_app
from steelyard.errors import Interrupted, SteelyardError, UsageError
from steelyard.show.console import Console


def _interrupt(number: int, _frame: FrameType | None) -> NoReturn:
    raise Interrupted(number)


def main(arguments: list[str] | None = None) -> int:
    """Run one command; returns its exit code. Without arguments it is the program, with those of the command line."""
    if arguments is None:
        for number in (signal.SIGTERM, signal.SIGHUP):
            # Whoever started us may have asked not to be disturbed, as nohup does.
            if signal.getsignal(number) == signal.SIG_DFL:
                signal.signal(number, _interrupt)
    errors = Console(stderr=True, soft_wrap=True)
    given = sys.argv[1:] if arguments is None else arguments
    app = build_app()
    try:
        code = app(given, exit_on_error=False, print_error=False, result_action="return_value")
    except CycloptsError as error:
        errors.print(f"steelyard: {error}", style="red")
        errors.print("`steelyard --help` and `steelyard COMMAND --help` say what there is")
        return UsageError.exit_code
    except SteelyardError as error:
        errors.print(f"steelyard: {error}", style="red")
        return error.exit_code
    except KeyboardInterrupt as error:
        errors.print("steelyard: interrupted", style="red")
        return 128 + (error.signal if isinstance(error, Interrupted) else signal.SIGINT)
    except BrokenPipeError:
        # The reader of our output has seen enough (`steelyard list | head`); closing quietly is what it expects.
        sys.stderr.close()
        return 0
    return code if isinstance(code, int) else 0


if __name__ == "__main__":
    sys.exit(main())
