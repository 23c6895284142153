# SPDX-License-Identifier: Apache-2.0
"""How a cost grows with n: constant, log n, n or n log n, or "cannot tell".

Each form a + b f(n), a and b not negative, is fitted by least squares on the relative error, since noise is
proportional to cost. Akaike weights, corrected for few points, say how far the data prefer one form; growth itself is
shown or excluded by an interval for the rise over the range, because a criterion alone never accepts that something
is flat.
Source: Burnham & Anderson 2002, Model Selection and Multimodel Inference, sections 2.4, 2.6 and 2.9; non-negative least
squares after Lawson & Hanson 1974, chapter 23.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from steelyard.judge.stats import students_t
from steelyard.judge.stats.checks import FloatArray, costs
from steelyard.judge.stats.interval import INTERVAL_CONFIDENCE

Form: TypeAlias = Literal["1", "log n", "n", "n log n"]
Answer: TypeAlias = Form | Literal["cannot tell"]

_SHAPES: dict[Form, Callable[[FloatArray], FloatArray]] = {
    "1": np.zeros_like,
    "log n": np.log,
    "n": lambda n: n,
    "n log n": lambda n: n * np.log(n),
}

# Below five different n the corrected criterion has no degree of freedom left for two coefficients and a variance.
_FEWEST = 5

# A fit that misses its points by a fifth on average explains nothing, even if the others are worse.
_WORST_MISFIT = 0.2

# No cost is known better than this; it keeps the logarithm of a perfect fit finite.
_FINEST = 1e-6


@dataclass(frozen=True, slots=True)
class Growth:
    """What a sweep over n says.

    form: the answer. confidence: the weight of that form from 0 to 1, or the largest weight when it cannot be told.
    candidates: the forms that stay possible, likeliest first; one when the form is told.
    base, slope: of base + slope f(n) + extra, in the unit of the cost, for the likeliest form (slope 0 when constant).
    break_at: the n past which extra applies, None when there is no break. extra: the additional slope past it, in
    (f(n) - f(break_at)), or the step for a constant. misfit: root mean square of the relative error.
    ruled_out: all other forms where one is told; else the growing forms that other growing forms leave no chance, which
    have as many coefficients: that a constant wins with few points says nothing.
    rise_low, rise_high: an interval for the relative rise of the cost over the range, 0.1 for 10 %: by the form that is
    told, or the widest that a growing form gives.
    """

    form: Answer
    confidence: float
    candidates: tuple[Form, ...]
    base: float
    slope: float
    break_at: float | None
    extra: float
    misfit: float
    rise_low: float
    rise_high: float
    ruled_out: tuple[Form, ...]


@dataclass(frozen=True, slots=True)
class _Fit:
    form: Form
    broken: bool
    coefficients: FloatArray
    misfit: float
    criterion: float


def fit_growth(
    n: npt.ArrayLike,
    cost: npt.ArrayLike,
    cpus: float | None = None,
    confidence: float = INTERVAL_CONFIDENCE,
    flat_within: float = 0.1,
) -> Growth:
    """The growth of a cost over a sweep.

    n: positive, at least 1 each, five different ones or more for an answer; cost: one positive number each (the
    sample's median), in the same order. cpus: where a break is allowed, if at least two n lie on each side and six in
    all.
    flat_within: a rise over the whole range that is surely below this fraction is not growth.
    Raises ValueError on different lengths and on values that are not finite and positive, or an n below 1.
    """
    sizes, values = costs(n), costs(cost)
    if sizes.size != values.size or sizes.min() < 1:
        raise ValueError("every cost needs its n, of at least 1")
    # Sizes divided by their largest would change log n into another form; costs may be scaled freely.
    scale = float(np.exp(np.mean(np.log(values))))
    fits = _fits(sizes, values / scale, cpus)
    weights = _weights(fits)
    rises = _rises(sizes, values / scale, confidence)
    form, candidates = _answer(fits, weights, rises, confidence, flat_within)
    rise = rises.get(form, _widest(rises))
    best = _representative(fits, form)
    base, slope, extra = (float(x) * scale for x in best.coefficients)
    return Growth(
        form=form,
        confidence=weights[form] if form != "cannot tell" else max(weights.values()),
        candidates=candidates,
        base=base,
        slope=slope,
        break_at=cpus if best.broken else None,
        extra=extra,
        misfit=best.misfit,
        rise_low=rise[0],
        rise_high=rise[1],
        ruled_out=_ruled_out(form, weights, best.misfit, confidence),
    )


def _fits(n: FloatArray, cost: FloatArray, cpus: float | None) -> list[_Fit]:
    plain = [_fit(form, n, cost, None) for form in _SHAPES]
    if cpus is None or not _allows_break(n, cpus):
        return plain
    return plain + [_fit(form, n, cost, cpus) for form in _SHAPES]


def _allows_break(n: FloatArray, cpus: float) -> bool:
    distinct = np.unique(n)
    below = int(np.sum(distinct <= cpus))
    return distinct.size > _FEWEST and below >= 2 and distinct.size - below >= 2


def _fit(form: Form, n: FloatArray, cost: FloatArray, cpus: float | None) -> _Fit:
    design = np.column_stack([np.ones_like(n), _SHAPES[form](n), _past_break(form, n, cpus)])
    # Columns of n log n reach millions beside ones; rounding must weigh them alike.
    size = np.maximum(np.abs(design).max(axis=0), 1e-300)
    coefficients = _not_negative(design / size / cost[:, None], np.ones_like(cost))
    error = (design / size) @ coefficients / cost - 1
    misfit = float(np.sqrt(np.mean(error**2)))
    parameters = 2 + (form != "1") + (cpus is not None)
    return _Fit(form, cpus is not None, coefficients / size, misfit, _criterion(misfit, n.size, parameters))


def _not_negative(design: FloatArray, target: FloatArray) -> FloatArray:
    """Least squares by coefficients that are not negative.

    Those that are above zero solve the plain problem of their columns (Lawson & Hanson's theorem 23.2), so of the few
    sets of columns whose plain solution is not negative the best one is it.
    """
    used = np.flatnonzero(design.any(axis=0))
    best, least = np.zeros(design.shape[1]), math.inf
    for count in range(used.size, 0, -1):
        for chosen in map(list, combinations(used, count)):
            found = np.linalg.lstsq(design[:, chosen], target, rcond=None)[0]
            misfit = float(np.sum((design[:, chosen] @ found - target) ** 2))
            if (found >= 0).all() and misfit < least:
                best, least = np.zeros(design.shape[1]), misfit
                best[chosen] = found
        if count == used.size and math.isfinite(least):
            break
    return best


def _past_break(form: Form, n: FloatArray, cpus: float | None) -> FloatArray:
    if cpus is None:
        return np.zeros_like(n)
    if form == "1":
        return (n > cpus).astype(np.float64)
    shape = _SHAPES[form]
    return np.maximum(shape(n) - shape(np.array([cpus])), 0)


def _criterion(misfit: float, points: int, parameters: int) -> float:
    """Akaike's criterion for normal errors, corrected for few points; infinite where the correction is undefined."""
    if points <= parameters + 1:
        return math.inf
    correction = 2 * parameters * (parameters + 1) / (points - parameters - 1)
    return 2 * points * math.log(max(misfit, _FINEST)) + 2 * parameters + correction


def _weights(fits: list[_Fit]) -> dict[Form, float]:
    """The Akaike weight of each form, with and without break together; even when no criterion is defined."""
    least = min(fit.criterion for fit in fits)
    if math.isinf(least):
        return dict.fromkeys(_SHAPES, 1 / len(_SHAPES))
    likelihoods = [math.exp((least - fit.criterion) / 2) for fit in fits]
    weights: dict[Form, float] = dict.fromkeys(_SHAPES, 0.0)
    for fit, likelihood in zip(fits, likelihoods, strict=True):
        weights[fit.form] += likelihood / sum(likelihoods)
    return weights


def _rises(n: FloatArray, cost: FloatArray, confidence: float) -> dict[Answer, tuple[float, float]]:
    """The interval for the relative rise by each growing form, unbounded where a line has no spread.

    The coefficients are free of sign here: a cost that falls must show as a fall, not as flat.
    """
    growing: list[Form] = [form for form in _SHAPES if form != "1"]
    if np.unique(n).size < 3:
        return dict.fromkeys(growing, (-math.inf, math.inf))
    return {form: _rise_by(_SHAPES[form](n), cost, confidence) for form in growing}


def _widest(rises: dict[Answer, tuple[float, float]]) -> tuple[float, float]:
    return min(low for low, _ in rises.values()), max(high for _, high in rises.values())


def _rise_by(shape: FloatArray, cost: FloatArray, confidence: float) -> tuple[float, float]:
    position = (shape - shape.min()) / np.ptp(shape)
    orthogonal, triangle = np.linalg.qr(np.column_stack([np.ones_like(position), position]) / cost[:, None])
    # Costs many decades apart leave so little weight to some points that no line is determined.
    if abs(triangle[1, 1]) < 1e-9 * abs(triangle[0, 0]):
        return -math.inf, math.inf
    target = orthogonal.T @ np.ones_like(cost)
    climb = float(target[1] / triangle[1, 1])
    base = float((target[0] - triangle[0, 1] * climb) / triangle[0, 0])
    residual = orthogonal @ target - 1
    freedom = cost.size - 2
    error = math.sqrt(float(residual @ residual) / freedom) / abs(float(triangle[1, 1]))
    half = students_t.quantile((1 + confidence) / 2, freedom) * error
    if base <= 0:
        return (climb - half) / float(cost.max()), math.inf
    return (climb - half) / base, (climb + half) / base


def _answer(
    fits: list[_Fit],
    weights: dict[Form, float],
    rises: dict[Answer, tuple[float, float]],
    confidence: float,
    flat_within: float,
) -> tuple[Answer, tuple[Form, ...]]:
    ranked = sorted(weights, key=lambda form: -weights[form])
    lowest, highest = _widest(rises)
    if -flat_within <= lowest and highest <= flat_within:
        return "1", ("1",)
    candidates = _possible(ranked, weights, confidence)
    likeliest = _representative(fits, candidates[0])
    if len(candidates) == 1 and likeliest.misfit <= _WORST_MISFIT and _shown(likeliest, rises):
        return candidates[0], candidates
    return "cannot tell", candidates


def _shown(fit: _Fit, rises: dict[Answer, tuple[float, float]]) -> bool:
    """Whether the data show more than that no other form is better: a rise above zero, or a step at the break.

    A constant without a break is never shown so: with few points it wins for want of evidence, and only a narrow
    interval for the rise makes it an answer.
    """
    if math.isinf(fit.criterion):
        return False
    return fit.broken if fit.form == "1" else rises[fit.form][0] > 0


def _possible(ranked: list[Form], weights: dict[Form, float], confidence: float) -> tuple[Form, ...]:
    """The likeliest forms that together reach the confidence."""
    reached = np.cumsum([weights[form] for form in ranked])
    return tuple(ranked[: int(np.searchsorted(reached, confidence)) + 1])


def _ruled_out(form: Answer, weights: dict[Form, float], misfit: float, confidence: float) -> tuple[Form, ...]:
    if form != "cannot tell":
        return tuple(other for other in _SHAPES if other != form)
    growing: dict[Form, float] = {shape: weight for shape, weight in weights.items() if shape != "1"}
    whole = math.fsum(growing.values())
    if misfit > _WORST_MISFIT or whole == 0:
        return ()
    ranked = sorted(growing, key=lambda shape: -growing[shape])
    possible = _possible(ranked, {shape: weight / whole for shape, weight in growing.items()}, confidence)
    return tuple(shape for shape in ranked if shape not in possible)


def _representative(fits: list[_Fit], form: Answer) -> _Fit:
    """The likeliest fit of the form, or of all when it cannot be told."""
    eligible = [fit for fit in fits if form in {"cannot tell", fit.form}]
    return min(eligible, key=lambda fit: (fit.criterion, fit.misfit))
