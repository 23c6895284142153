# SPDX-License-Identifier: Apache-2.0
"""Whatever a node leaves in the folder of its fleet: `status`, `report` and `resume` end in order, and count alike."""

import json
import os
import random
import shutil
import time

import msgspec
import pytest

import steelyard
from steelyard import errors
from steelyard.__main__ import main
from steelyard.keep import places
from steelyard.keep.fleet import FleetFolder, HeartbeatLog, token_of
from steelyard.lab import fleet as lab_fleet
from steelyard.measure import backends
from steelyard.records import FleetJob, FleetNode, FleetOrder, FleetPlan, Heartbeat, Placed
from steelyard.settings import Settings
from tests.hostile.corpus import mutate
from tests.hostile.test_sessions import ENDS
from tests.long import LONG, parts
from tests.many import a_variation

pytestmark = pytest.mark.usefixtures("_nothing_hangs")
NODES = ("n1", "n2", "n3")
#: The node that brings everything in as it should, and whose sessions nothing may hurt.
WELL = "n3.1"


def a_fleet(folder):
    """A fleet of which some sessions are there, and every attempt said how it went."""
    made = FleetFolder(folder)
    order = FleetOrder(
        id="0" * 8, at="2026-01-02T03:04:05+00:00", backend="local", nodes=NODES, sessions=2, time_limit_s=60
    )
    settings = Settings(seed=1)
    plan = FleetPlan(id="0123456789ab", steelyard=steelyard.__version__, cases=("null/null@same",), settings=settings)
    made.begin(plan, order)
    for number, node in enumerate(NODES):
        for session in (1, 2):
            token = token_of(node, session)
            log = HeartbeatLog(made, token, "17", 0)
            log.add(Heartbeat(at=0, what="begun"))
            log.add(Heartbeat(at=0, what="measuring", done=3, of=9, left_s=2.0))
            if session == 1:
                header, *lines = a_variation(number)
                placed = msgspec.structs.replace(header, placed=Placed(plan=plan.id, token=token, node=node))
                made.deliver(token, b"".join(msgspec.json.encode(line) + b"\n" for line in [placed, *lines]))
                log.add(Heartbeat(at=0, what="delivered"))
            else:
                log.add(Heartbeat(at=0, what="ended", code=74, said="no room"))
    return made


class Refusing:
    """A backend whose every job ends at once without a session; it remembers what it was given."""

    poll_s = 0.0

    def __init__(self, order):
        self.order, self.placed = order, []

    def nodes(self):
        return [FleetNode(name=name, usable=True) for name in self.order.nodes]

    def place(self, token, node, command, output):
        self.placed.append(token)

    def jobs(self):
        return {token: FleetJob(job="1", state="ended", code=69) for token in self.placed}

    def take_back(self, token):
        pass

    def close(self):
        pass


# --- what is done to a file -------------------------------------------------------------------------------------------


def cut(path, drawn):
    data = path.read_bytes()
    path.write_bytes(data[: drawn.randrange(len(data))])


def flip(path, drawn):
    data = bytearray(path.read_bytes())
    data[drawn.randrange(len(data))] ^= 1 << drawn.randrange(8)
    path.write_bytes(data)


def restructure(path, drawn):
    """Change fields, so that it still is JSON: of one document, or of one line of several."""
    whole = path.suffix == ".json"
    lines = [json.loads(path.read_text())] if whole else [json.loads(line) for line in path.read_text().splitlines()]
    for _ in range(drawn.randint(1, 3)):
        mutate(drawn.choice(lines), drawn)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


def in_its_place(make):
    def replace(path, _):
        path.unlink()
        make(path)

    return replace


def elsewhere(path, drawn):
    """The same under a name that no token has, or of another token."""
    path.rename(path.with_name(path.name.replace("n1.1", drawn.choice(["n1.2", "n 1", "..1", "n1.0", "\x1b[31m.1"]))))


HURTS = {
    **{hurt.__name__: hurt for hurt in (cut, flip, restructure, elsewhere)},
    "more structure": restructure,
    "a FIFO": in_its_place(os.mkfifo),
    "a folder": in_its_place(os.mkdir),
    "a device": in_its_place(lambda path: path.symlink_to("/dev/zero")),
    "a circle": in_its_place(lambda path: path.symlink_to(path)),
    "a file that nobody may read": lambda path, _: path.chmod(0),
    "far too much": lambda path, _: os.truncate(path, 1 << 33),
}


def hurt(folder, drawn):
    """Change one to three files, never those of the node that is well; returns whether only nodes' files were."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and WELL not in str(path.relative_to(folder)))
    chosen = drawn.sample(files, drawn.randint(1, 3))
    for path in chosen:
        HURTS[drawn.choice(list(HURTS))](path, drawn)
    return all(path.parent != folder for path in chosen)


# --- what must hold ---------------------------------------------------------------------------------------------------


def said(capsys, *command):
    """Exit code of a command, which is one of those that are foreseen, and what it printed."""
    code = main(list(map(str, command)))
    assert code in ENDS
    return code, capsys.readouterr().out


@pytest.mark.parametrize(("part", "fleets"), parts(60, 600))
def test_status_report_and_resume_end_in_order_and_count_alike(part, fleets, tmp_path, monkeypatch, capsys):
    seed = time.time_ns() if LONG else part
    with capsys.disabled():
        print(f" seed {seed} " if LONG else "", end="")
    drawn, whole, folder = random.Random(seed), tmp_path / "whole", tmp_path / "fleet"
    a_fleet(whole)
    asked = []
    monkeypatch.setattr(backends, "backend", lambda order: asked.append(Refusing(order)) or asked[-1])
    monkeypatch.setattr(lab_fleet, "_SHOWN_WITHIN_S", 0.0)
    agreed = 0
    for _ in range(fleets):
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(whole, folder)
        of_nodes = hurt(folder, drawn)
        code, status = said(capsys, "fleet", "status", folder, "--json")
        said(capsys, "fleet", "status", folder)
        said(capsys, "fleet", "report", folder, "--json")
        resumed, _ = said(capsys, "fleet", "resume", folder)
        if code:
            assert resumed == code == errors.UsageError.exit_code, "it is no fleet any more"
            assert not of_nodes
            continue
        there = {one["token"] for one in json.loads(status) if one["state"] == "delivered"}
        assert WELL in there or not of_nodes, "what hurts one node hurts it only"
        judged = [session.header.placed.token for session in places.sessions([str(folder)], str)]
        assert sorted(judged) == sorted(there)
        order = FleetFolder(folder).order()
        if order is not None and resumed in (0, errors.IncompleteError.exit_code):
            agreed += 1
            assert set(asked[-1].placed) == set(lab_fleet.tokens_of(order)) - there
    assert agreed > fleets / 2
