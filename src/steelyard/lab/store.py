# SPDX-License-Identifier: Apache-2.0
"""Brings the numbers of many sessions into a store of Parquet."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np

from steelyard.judge.fleet import gather
from steelyard.keep import places as kept
from steelyard.keep.folder import Complain
from steelyard.keep.store import Column, Store
from steelyard.records import Session
from steelyard.show import reasons

#: Sessions that are written together: a part of some megabytes.
_TOGETHER = 200


def pack(places: Sequence[str], to: str, complain: Complain) -> tuple[int, int]:
    """Bring the numbers of these sessions into a store; returns how many were brought and how many were there."""
    waiting: dict[str, list[Session]] = defaultdict(list)
    packed = passed = 0
    with Store(to) as store:
        there = store.ids()
        for session in kept.sessions(places, complain):
            if session.header.id in there:
                passed += 1
                continue
            there.add(session.header.id)
            month = session.header.started[:7]
            waiting[month].append(session)
            if len(waiting[month]) == _TOGETHER:
                packed += _add(store, month, waiting.pop(month), complain)
        for month, sessions in waiting.items():
            packed += _add(store, month, sessions, complain)
    return packed, passed


def _add(store: Store, month: str, sessions: Sequence[Session], complain: Complain) -> int:
    """Sessions that cannot be judged are said and left out."""
    rows: list[tuple[Any, ...]] = []
    parts: list[dict[str, Column]] = []
    for session in sessions:
        data, left_out = gather([session])
        for line in left_out:
            complain(reasons.said(line))
        if not len(data.owner):
            continue
        header, machine = session.header, session.header.machine
        rows.append(
            (
                header.id,
                header.started,
                data.machines[0].name,
                machine.key,
                data.machines[0].about,
                machine.environment.get("kernel", ""),
                msgspec.json.encode(machine.environment).decode(),
                header.placed.plan if header.placed else "",
                header.versions.get("steelyard", ""),
            )
        )
        case, block = np.nonzero(np.isfinite(data.numbers[0]))
        named = [(one.name, one.metric, one.unit, one.better) for one in data.cases]
        texts = np.array(named, dtype=object).reshape(-1, 4)[case]
        parts.append(
            {
                "session": np.full(len(case), header.id, dtype=object),
                "case_name": texts[:, 0],
                "metric": texts[:, 1],
                "unit": texts[:, 2],
                "better": texts[:, 3],
                "block": (block + 1).astype(np.int32),
                "number": data.numbers[0][case, block],
            }
        )
    if rows:
        store.add(month, rows, {name: np.concatenate([part[name] for part in parts]) for name in parts[0]})
    return len(rows)
