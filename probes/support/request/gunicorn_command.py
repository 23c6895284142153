# SPDX-License-Identifier: Apache-2.0
"""How gunicorn is started; its workers are probes of their own."""

import sys
from importlib import util

from server import HOST


def gunicorn(server, worker_class):
    """The command, with a worker of this class."""
    threads = ["--threads", str(server.threads)] if server.threads else []
    # From 25.1 on it keeps a socket for its commands in the user's home.
    control = ["--no-control-socket"] if util.find_spec("gunicorn.ctl") else []
    return [
        *(sys.executable, "-m", "gunicorn", "--worker-class", worker_class, "--workers", str(server.workers), *threads),
        *("--bind", f"{HOST}:{server.port}", "--log-level", "error", *control, server.application),
    ]
