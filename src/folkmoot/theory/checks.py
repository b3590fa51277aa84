"""Look for a counterexample to what every algorithm here relies on: functions are monotone and submodular."""

import numpy as np

from folkmoot.foundation.errors import NotSubmodular
from folkmoot.foundation.inputs import as_count
from folkmoot.foundation.sets import Array, Mask
from folkmoot.objectives.objective import TOLERANCE, Objective, as_objective

MOST = 200  # items of which it is looked at what they add to all others: these sets are large


def check_submodular(
    objective: Objective, *, trials: int = 200, most: int | None = None, seed: int = 0, tolerance: float = TOLERANCE
) -> None:
    """Raise `NotSubmodular` with the client and the sets if a random trial breaks a law; else return.

    Each trial draws S ⊂ T and an item e outside T, and looks at f(∅) ≥ 0, f(S) ≤ f(T) ≤ f(T + e), and
    f(S + e) − f(S) ≥ f(T + e) − f(T), for every client. `most` limits T + e to that many items, where large
    sets cost too much. Passing is evidence, not proof.
    """
    as_objective(objective)
    rng = np.random.default_rng(seed)
    n = objective.n_items
    largest = n if most is None else as_count(most, "most", most=n)
    empty: Mask = np.zeros(n, dtype=bool)
    _refuse(objective.values(empty) < -tolerance, objective, "is negative on the empty set", [])
    for _ in range(as_count(trials, "trials")):
        order = rng.permutation(n)
        large = int(rng.integers(0, largest))
        small = int(rng.integers(0, large + 1))
        item = int(order[large])
        sets = np.zeros((4, n), dtype=bool)
        sets[0, order[:small]] = sets[1, order[:small]] = True
        sets[2, order[:large]] = sets[3, order[:large]] = True
        sets[[1, 3], item] = True
        values: Array = objective.values(sets)
        s, s_e, t, t_e = values.T
        room = tolerance * np.abs(values).max(axis=1)
        shown = [sorted(order[:small].tolist()), sorted(order[:large].tolist()), item]
        _refuse((s > t + room) | (t > t_e + room) | (s > s_e + room), objective, "is not monotone", shown, values)
        _refuse(s_e - s < t_e - t - room, objective, "is not submodular", shown, values)


def refuse_broken(objective: Objective, members: Mask | None = None) -> None:
    """Raise `NotSubmodular` if a function is seen to be negative, to fall, or to gain more where there is more.

    For every client and item, what the item adds to nothing, to the members (if given) and to all other items is
    compared. Families that keep the laws by construction are not looked at. Passing is evidence, not proof.
    """
    if objective.by_construction:
        return
    for first, end in objective.client_blocks():
        _refuse_broken_some(objective[np.arange(first, end)], members, first)


def _refuse_broken_some(objective: Objective, members: Mask | None, first: int) -> None:
    """The same for some of the clients, whose numbers begin at `first`."""
    n, nothing = objective.n_items, np.zeros(objective.n_items, dtype=bool)
    at_nothing = objective.values(nothing)
    scale = np.maximum(at_nothing, objective.find_ceilings())[:, None]
    negative = at_nothing < -TOLERANCE * scale[:, 0]
    _refuse(negative, objective, "is negative on the empty set", [], first=first)
    seen = [("nothing", objective.gains_at(nothing).toarray())]
    if members is not None and members.any():
        beside = objective.gains_at(members).toarray()
        beside[:, members] = np.nan  # what a member adds to the others is not known: every comparison with it is false
        seen.append((str(np.flatnonzero(members).tolist()), beside))
        scale = np.maximum(scale, objective.values(members)[:, None])
    if objective.largest_set is None:
        some = np.unique(np.linspace(0, n - 1, min(n, MOST)).astype(np.int64))
        every = np.ones((len(some) + 1, n), dtype=bool)
        every[np.arange(len(some)), some] = False  # all but one, and all
        values = objective.values_at(every)
        last = np.full((objective.n_clients, n), np.nan)
        last[:, some] = values[:, -1:] - values[:, :-1]
        seen.append(("all others", last))
    for at, (where, gains) in enumerate(seen):
        _refuse_gain(gains < -TOLERANCE * scale, objective, f"is not monotone: to {where}", gains, first)
        for fewer, before in seen[:at]:
            told = f"is not submodular: to {where}, more than to {fewer},"
            _refuse_gain(gains > before + TOLERANCE * scale, objective, told, gains, first)


def _refuse_gain(broken: Mask, objective: Objective, what: str, gains: Array, first: int) -> None:
    if broken.any():
        client, item = np.argwhere(broken)[0]
        _refuse(
            np.asarray(broken.any(axis=1)),
            objective,
            f"{what} item {item} adds {gains[client, item]:g}",
            [],
            first=first,
        )


def _refuse(
    broken: Mask, objective: Objective, what: str, shown: list[object], values: Array | None = None, first: int = 0
) -> None:
    if not broken.any():
        return
    client = int(np.flatnonzero(broken)[0])
    name = f" ({objective.client_names[client]})" if objective.client_names else ""
    problem = f"the function of client {first + client}{name} {what}"
    if values is not None:
        s, s_e, t, t_e = values[client]
        problem += (
            f": with S = {shown[0]}, T = {shown[1]} and item {shown[2]}, f(S) = {s:g}, f(S + e) = {s_e:g}, "
            f"f(T) = {t:g}, f(T + e) = {t_e:g}"
        )
    raise NotSubmodular(
        problem, remedy="correct the function; otherwise the algorithms guarantee nothing", argument="objective"
    )
