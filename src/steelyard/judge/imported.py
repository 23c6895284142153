# SPDX-License-Identifier: Apache-2.0
"""A session as a file of samples: what is left of it when it stands beside an imported one, which has no blocks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec
import numpy as np

from steelyard.judge.samples import case_runs, number_of
from steelyard.records import ForeignFile, ForeignSample, Session, Statistic


def as_file(session: Session) -> ForeignFile:
    """The sample of every case by its main metric, without controls. A run of our own is a process."""
    imported = session.header.imported
    samples = []
    for runs in case_runs(session):
        metric = runs.descriptor.metrics[0]
        sample = runs.sample(metric)
        numbers = tuple(float(number) for number in sample[np.isfinite(sample)])
        if runs.planned.control or not numbers or min(numbers) <= 0:
            continue
        samples.append(
            ForeignSample(
                name=runs.planned.case.name,
                unit=metric.unit,
                better=metric.better,
                runs=numbers,
                processes_known=imported is None or imported.processes_known,
            )
        )
    return ForeignFile(
        path=session.path, tool="Steelyard" if imported is None else imported.tool, samples=tuple(samples)
    )


def one_number_each(runs: Iterable[Sequence[float]], statistic: Statistic) -> tuple[float, ...]:
    """The number that stands for each run of a file that has the values of its runs."""
    return tuple(number_of(values, statistic) for values in runs)


def with_only(file: ForeignFile, names: Mapping[str, str]) -> ForeignFile:
    """The samples of these names, under what each name maps to."""
    kept = [msgspec.structs.replace(sample, name=names[sample.name]) for sample in file.samples if sample.name in names]
    return msgspec.structs.replace(file, samples=tuple(kept))
