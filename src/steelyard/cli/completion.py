# SPDX-License-Identifier: Apache-2.0
"""`steelyard completion`: a shell's completion script, from the same signatures as the parser."""

from __future__ import annotations

from typing import Literal

from steelyard.cli import _output as output


def command(shell: Literal["bash", "zsh", "fish"]) -> None:
    """Print the completion script of a shell.

    Parameters
    ----------
    shell
        For bash: ``steelyard completion bash > ~/.local/share/bash-completion/completions/steelyard``.
    """
    from steelyard.cli import build_app  # the parser is made of the commands, this one included

    output.print_data(build_app().generate_completion(shell=shell))
