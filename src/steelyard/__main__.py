# SPDX-License-Identifier: Apache-2.0
"""Parse, dispatch, turn an error into an exit code."""

from __future__ import annotations

import sys

from cyclopts import CycloptsError
from rich.console import Console

from steelyard.cli import build_app
from steelyard.errors import SteelyardError, UsageError

_INTERRUPTED = 130


def main(arguments: list[str] | None = None) -> int:
    """Run one command; returns its exit code."""
    errors = Console(stderr=True, soft_wrap=True)
    given = sys.argv[1:] if arguments is None else arguments
    app = build_app(given[:2])
    try:
        code = app(given, exit_on_error=False, print_error=False, result_action="return_value")
    except CycloptsError as error:
        errors.print(f"steelyard: {error}", style="red", markup=False, highlight=False)
        errors.print(
            "`steelyard --help` and `steelyard COMMAND --help` say what there is", markup=False, highlight=False
        )
        return UsageError.exit_code
    except SteelyardError as error:
        errors.print(f"steelyard: {error}", style="red", markup=False, highlight=False)
        return error.exit_code
    except KeyboardInterrupt:
        errors.print("steelyard: interrupted", style="red", markup=False, highlight=False)
        return _INTERRUPTED
    except BrokenPipeError:
        # The reader of our output has seen enough (`steelyard list | head`); closing quietly is what it expects.
        sys.stderr.close()
        return 0
    return code if isinstance(code, int) else 0


if __name__ == "__main__":
    sys.exit(main())
