# SPDX-License-Identifier: Apache-2.0
"""The functions that a worker calls beside its application, from the file that `--hooks` names."""

import os
import sys
import types

NAMES = ("post_fork", "post_worker_init", "on_request", "on_response", "worker_exit")
#: Names that gunicorn knows. Nobody would call them here: the master runs no Python, a request is its environ.
ELSEWHERE = {
    "on_starting",
    "on_reload",
    "when_ready",
    "on_exit",
    "nworkers_changed",
    "pre_exec",
    "pre_fork",
    "child_exit",
    "worker_int",
    "worker_abort",
    "pre_request",
    "post_request",
    "ssl_context",
}


class Hooks:
    """The functions of a file by their names; None for those that it does not have."""

    def __init__(self, path):
        module = types.ModuleType("wheat_hooks")
        module.__file__ = path
        sys.modules[module.__name__] = module  # for pickle, dataclasses and whatever else looks there
        with open(path, "rb") as file:  # noqa: PTH123, pathlib would cost memory in every worker
            exec(compile(file.read(), path, "exec"), module.__dict__)  # noqa: S102, the server's own configuration
        foreign = sorted(ELSEWHERE.intersection(vars(module)))
        if foreign:
            raise ValueError(f"{path} has {', '.join(foreign)}, which wheat never calls; it calls {', '.join(NAMES)}")
        for name in NAMES:
            setattr(self, name, getattr(module, name, None))

    def call(self, name, index):
        """Call the hook with the worker, if there is one: `worker.index` counts from 0, `worker.pid` is the process."""
        hook = getattr(self, name)
        if hook:
            hook(types.SimpleNamespace(index=index, pid=os.getpid()))
