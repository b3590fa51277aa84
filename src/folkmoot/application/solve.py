"""The front door: an objective, a constraint and a method in; a result out. Stored runs are continued and verified."""

from collections.abc import Callable
from itertools import pairwise
from math import inf
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from folkmoot.algorithms.central import Greedy, Method, order_by_gains
from folkmoot.algorithms.federated.auto import Auto
from folkmoot.algorithms.federated.private import PrivateGreedy
from folkmoot.conversation.conduct import Steering, conduct, continue_transcript, verify_transcript
from folkmoot.conversation.engine import Engine, as_engine, never
from folkmoot.conversation.outcome import Conversation
from folkmoot.conversation.progress import Watcher
from folkmoot.conversation.result import Result, describe_broken
from folkmoot.engines.simulate import Simulation
from folkmoot.foundation.errors import InputError
from folkmoot.foundation.inputs import as_count
from folkmoot.foundation.sets import add_in_order
from folkmoot.matroids.matroid import Matroid, as_matroid
from folkmoot.matroids.simple import Uniform
from folkmoot.objectives.information import Information
from folkmoot.objectives.objective import Objective, as_objective
from folkmoot.privacy.accounting import Privacy
from folkmoot.theory.certificate import bound_along, bound_from_nothing
from folkmoot.theory.checks import refuse_broken

ROUNDING, BROKEN = 1e-12, 1e-9


def solve(
    objective: Objective | None,
    matroid: Matroid | int | np.integer[Any],
    method: Method | Conversation | None = None,
    *,
    privacy: Privacy | None = None,
    engine: Engine | None = None,
    seed: int = 0,
    transcript: str | Path | None = None,
    progress: bool | Watcher | None = None,
    deadline: float | None = None,
    cancelled: Callable[[], bool] = never,
) -> Result:
    """Choose a set that the matroid allows and that is worth much to everyone together.

    `matroid` may be a number k, for at most k items. The method is `Greedy()` unless given, which sees every
    function; a federated one such as `Auto()` (the default where an engine is given) sees sums alone. It asks
    the engine, or a `Simulation` of the objective. `privacy`: noise hides every single client in all sums
    (docs/privacy.md); the method is `PrivateGreedy` then. `transcript`: a file in which every round is stored as it
    comes, for `resume` and `verify`. `progress`: a function of (rounds done, rounds planned, last round), or
    False; a bar is shown on terminals. `deadline`: seconds that a round may take before it is lost. `cancelled`: a
    function that is looked at while a round runs; once it says True, the run ends with `Cancelled`, and can be resumed
    if it has a transcript. The same seed gives the same result, on any number of threads.
    """
    if engine is None:
        n_items = as_objective(objective).n_items
    else:
        n_items = as_engine(engine).population.n_items
        if objective is not None and engine.everything not in (None, objective):
            raise InputError(
                "was made with another objective than the one given",
                remedy="pass the same objective, or none",
                argument="engine",
            )
    known = objective if objective is not None or engine is None else engine.everything
    if isinstance(matroid, int | np.integer):
        matroid = Uniform(n_items, matroid)
    as_matroid(matroid, kinds="a matroid or a whole number of items")
    if matroid.n_items != n_items:
        raise InputError(
            f"is over {matroid.n_items} items, the objective is over {n_items}; "
            "they must be the same items (check the length of groups, edges or columns)",
            argument="matroid",
        )
    matroid.refuse_broken()
    chosen_method: Any = method
    if privacy is not None:
        chosen_method = make_private(method, privacy)
    elif method is None:
        chosen_method = Greedy() if engine is None and transcript is None else Auto()
    fits = isinstance(chosen_method, Conversation) or (engine is None and hasattr(chosen_method, "choose"))
    if not fits or isinstance(chosen_method, type):
        wanted = "Greedy(), ContinuousGreedy(50) or Auto()" if engine is None else "Auto(), since an engine is given"
        raise InputError(f"needs a method with its brackets, such as {wanted}, got {method!r}", argument="method")
    seed = as_count(seed, "seed", least=0)
    limit = getattr(known, "largest_set", None)
    if limit is not None and matroid.rank > limit:
        found = "too many joint states at a client"
        if isinstance(known, Information):
            found = f"{known.describe_width(known.measure_width(matroid.rank))}, which is too many"
        raise InputError(
            f"{matroid.rank} items are to be chosen, but so many of these features can have {found}",
            remedy=f"choose {limit} or fewer, or merge rare values",
            argument="matroid",
        )
    if matroid.rank == 0:
        raise InputError("allows nothing but the empty set; there is nothing to choose", argument="matroid")
    if isinstance(chosen_method, Conversation):
        if engine is None:
            engine = Simulation(as_objective(objective))
        if known is not None:
            refuse_broken(known)
        return conduct(chosen_method, matroid, engine, seed, transcript, Steering(progress, deadline, cancelled))
    if transcript is not None:
        raise InputError(
            f"{chosen_method!r} asks nobody anything; only federated methods have a transcript", argument="transcript"
        )
    return solve_centrally(as_objective(objective), matroid, chosen_method, seed)


def make_private(method: Any, privacy: Privacy) -> PrivateGreedy:
    """The method for sums with noise; others ask questions whose sums would not hide anybody."""
    if not isinstance(privacy, Privacy):
        raise InputError(f"needs Privacy(epsilon), got {privacy!r}", argument="privacy")
    if method is not None:
        raise InputError(
            f"{method!r} asks questions without noise",
            remedy="leave the method out under privacy, or pass PrivateGreedy(epsilon=…) alone",
            argument="method",
        )
    return PrivateGreedy(epsilon=privacy.epsilon, delta=privacy.delta, adjacency=privacy.adjacency)


def resume(
    path: str | Path,
    objective: Objective | None = None,
    *,
    engine: Engine | None = None,
    matroid: Matroid | None = None,
    progress: bool | Watcher | None = None,
    deadline: float | None = None,
    cancelled: Callable[[], bool] = never,
) -> Result:
    """Continue a run that was stopped: stored sums are replayed, and every question must be the same again.

    The transcript holds sums, so the clients are given again: an objective, or an engine.
    """
    if engine is None:
        if objective is None:
            raise InputError(
                "the transcript holds sums, and not the clients",
                remedy="pass the objective or an engine again",
                argument="objective",
            )
        engine = Simulation(objective)
    return continue_transcript(path, as_engine(engine), matroid, Steering(progress, deadline, cancelled))


def verify(
    path: str | Path,
    objective: Objective | None = None,
    *,
    engine: Engine | None = None,
    matroid: Matroid | None = None,
) -> Result:
    """Work out a finished run again: every question from the sums before it, and the result from all of them.

    With the objective (or a simulator) every sum without noise is computed again too, and the result is the one written
    down; sums with noise are replayed, as nobody can compute them again.
    Without, or with an engine of real clients, nobody is asked anything: it says what the stored sums say, and the
    value over every client is not among that. Raises `TranscriptError` with what does not fit. Nothing is written to
    the file.
    """
    if engine is None and objective is not None:
        engine = Simulation(objective)
    return verify_transcript(path, None if engine is None else as_engine(engine), matroid)


def solve_centrally(objective: Objective, matroid: Matroid, chosen_method: Method, seed: int) -> Result:
    """Solve by a method that sees every function, and bound what is possible."""
    start = perf_counter()
    choice = chosen_method.choose(objective, matroid, seed)
    exact = choice.gains is not None and choice.walk is not None and choice.walk.current
    value = add_in_order(choice.gains or ()) if exact else float(objective.mean_values(choice.members))
    bound = choice.bound
    if value * (1 - ROUNDING) <= bound <= value * (1 + ROUNDING):
        bound = value  # the same sum in another order may end a last digit apart
    elif bound > value:
        if not exact:  # a walk that knows its gains has looked on its way
            bound = min(bound, bound_from_nothing(objective, matroid))
        walk = choice.walk or objective.walk(choice.members)
        bound = min(bound, objective.ceiling, bound_along(walk, value, matroid))
    refuse_broken(objective, choice.members)
    broken = bound < value * (1 - BROKEN)
    order, gains = choice.order, choice.gains
    if order is None or gains is None or not is_falling(gains):
        order, gains = order_by_gains(objective, choice.members)
    return Result(
        method=repr(chosen_method),
        n_items=objective.n_items,
        selected=tuple(np.flatnonzero(choice.members).tolist()),
        value=value,
        upper_bound=inf if broken else max(bound, value),
        seconds=perf_counter() - start,
        seed=seed,
        order=order,
        gains=gains,
        fractional=choice.fractional,
        names=tuple(objective.item_names[item] for item in order) if objective.item_names else None,
        broken=describe_broken(value, bound) if broken else None,
    )


def is_falling(gains: tuple[float, ...]) -> bool:
    """Whether no gain is above the one before it, but for the last digits."""
    return all(late <= early + abs(early) * BROKEN for early, late in pairwise(gains))
