# SPDX-License-Identifier: Apache-2.0
"""What the servers are asked for: the applications, their data, and what the right answer is."""

from __future__ import annotations

import importlib
import json
import os
import random
import shutil
import subprocess
import sys
from types import ModuleType
from typing import Callable, Dict, Iterable, NamedTuple, Optional, Tuple

import calling
from probe import fail, skip
from stores import STORES, AbsentError, Store

_HERE = os.path.dirname(os.path.abspath(__file__))
APPLICATIONS = os.path.join(_HERE, "applications")
STATIC_SIZES = {"static_1k": 1 << 10, "static_16k": 16 << 10, "static_1m": 1 << 20}
#: Where a server and its client can be put: on two CPUs, or together where there is but one.
PLACEMENTS = ("cross",) if len(os.sched_getaffinity(0)) > 1 else ("same",)
#: Several workers can also have all of them.
PLACEMENTS_OF_SERVERS = (*PLACEMENTS, "free") if PLACEMENTS == ("cross",) else PLACEMENTS
_FILES = "static"
#: Found in their folder, without what they share; one that asks a store names it in STORE.
_MODULES = {name[:-3] for name in os.listdir(APPLICATIONS) if name.endswith(".py") and not name.startswith("_")}
NAMES = (*sorted(_MODULES - {_FILES}), *STATIC_SIZES, "own")
DOC = (
    "what answers; page_postgresql asks a cluster made for the run, or the database that STEELYARD_REQUEST_DSN names; "
    "own is what `steelyard wsgi` names"
)


class MissingError(Exception):
    """What an application needs is not here, with the reason."""


class WrongError(Exception):
    """The application itself is at fault, with the reason."""


class Workload(NamedTuple):
    """An application with its data made, and how to tell that an answer is right."""

    name: str
    application: str  #: module:callable
    path: str
    body: Optional[bytes]  #: None where it differs from request to request
    data: str  #: the folder of its data
    files: Optional[str] = None  #: the folder of static files, if it is about files
    own_folder: Optional[str] = None  #: the folder of the user's application
    store: Optional[Store] = None  #: what it asks, which runs until it is ended

    @property
    def environment(self) -> Dict[str, str]:
        """What its process needs in its environment."""
        asked = {"STEELYARD_REQUEST_STORE": self.store.address()} if self.store else {}
        return {"STEELYARD_REQUEST_DATA": self.data, "STEELYARD_REQUEST_APPLICATION": self.application, **asked}

    @property
    def import_folders(self) -> Tuple[str, ...]:
        """Where its modules are."""
        return (os.path.join(_HERE, "own"),) if self.own_folder else (APPLICATIONS,)

    def load(self) -> Callable[..., Iterable[bytes]]:
        """The application itself, imported into this process."""
        os.environ.update(self.environment)
        if not self.own_folder:
            sys.path.insert(0, APPLICATIONS)
            return calling.load(self.application)
        os.chdir(self.own_folder)
        sys.path.insert(0, self.own_folder)
        # A user's module may have the name of one of ours, which are all imported by now.
        support = os.path.dirname(_HERE)
        for name, module in list(sys.modules.items()):
            if os.path.abspath(getattr(module, "__file__", None) or "/").startswith(support + os.sep):
                del sys.modules[name]
        return calling.load(os.environ["STEELYARD_WSGI_APPLICATION"])

    def complaint(self, status: int, body: bytes) -> Optional[str]:
        """What is wrong with an answer; None if nothing is."""
        if status != 200:
            return f"status {status} instead of 200"
        if self.body is not None and body != self.body:
            if len(body) != len(self.body):
                return f"{len(body)} bytes instead of {len(self.body)}"
            return "another body than expected, though as long"
        return None


def make(name: str, folder: str, beside: Optional[int]) -> Workload:
    """Make an application's data in a folder that is there, and start what it asks on the CPU `beside` the server's.

    Ends the probe, and leaves no folder, if that can't be done.
    """
    try:
        return _make(name, folder, beside)
    except (MissingError, WrongError) as error:
        shutil.rmtree(folder)
        (skip if isinstance(error, MissingError) else fail)(str(error))


def _make(name: str, folder: str, beside: Optional[int]) -> Workload:
    data = os.path.join(folder, "data")
    os.mkdir(data)
    if name == "own":
        return _own(data)
    if name in STATIC_SIZES:
        return _static(name, data)
    sys.path.append(APPLICATIONS)
    try:
        application = importlib.import_module(name)
    except ImportError as error:
        what = f"the module {error.name}: pip install {error.name}" if error.name else str(error)
        raise MissingError(f"application={name} needs {what}") from error
    os.environ["STEELYARD_REQUEST_DATA"] = data
    application.prepare(data)
    store = _store(application, data, beside)
    body = application.expected()
    return Workload(name=name, application=f"{name}:application", path="/", body=body, data=data, store=store)


def _store(application: ModuleType, data: str, beside: Optional[int]) -> Optional[Store]:
    """What the application asks, started and seen to answer."""
    if not hasattr(application, "STORE"):
        return None
    store = STORES[application.STORE](data)
    try:
        store.start(beside)
    except AbsentError as error:
        raise MissingError(f"application={application.__name__}: {error}") from error
    os.environ["STEELYARD_REQUEST_STORE"] = store.address()
    if complaint := store.wait(application.answered):
        raise WrongError(complaint)
    return store


def _static(name: str, data: str) -> Workload:
    body = static_body(STATIC_SIZES[name])
    files = os.path.join(data, "static")
    os.mkdir(files)
    with open(os.path.join(files, f"{name}.bin"), "wb") as file:
        file.write(body)
    path = f"/static/{name}.bin"
    return Workload(name=name, application=f"{_FILES}:application", path=path, body=body, data=data, files=files)


def _own(data: str) -> Workload:
    """The application that the environment names, and what it answers when nobody stands before it."""
    name, folder = os.environ.get("STEELYARD_WSGI_APPLICATION"), os.environ.get("STEELYARD_WSGI_FOLDER")
    if not (name and folder):
        raise MissingError("application=own is the one that `steelyard wsgi MODULE:CALLABLE` names")
    path = os.environ.get("STEELYARD_WSGI_PATH", "/")
    command = [sys.executable, os.path.join(_HERE, "calling.py"), name, path, data]
    called = subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
    if called.returncode != 0:
        words = called.stderr.decode(errors="replace").strip().splitlines()
        raise WrongError(f"{name} cannot be called: {words[-1] if words else 'it gives no reason'}")
    with open(os.path.join(data, "statuses")) as file:
        statuses = json.load(file)
    if any(not status.startswith("200") for status in statuses):
        raise WrongError(f"{name} answers {path} with {statuses[-1]}: name a page that it answers with 200 (--path)")
    bodies = []
    for number in range(len(statuses)):
        with open(os.path.join(data, f"body.{number}"), "rb") as file:
            bodies.append(file.read())
    body = bodies[0] if len(set(bodies)) == 1 else None
    return Workload(
        name="own", application="steelyard_own:application", path=path, body=body, data=data, own_folder=folder
    )


def static_body(size: int) -> bytes:
    """Bytes that no two files of different sizes share and that do not compress."""
    return random.Random(size).getrandbits(8 * size).to_bytes(size, "little")  # noqa: S311 - no secret
