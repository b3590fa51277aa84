"""A user's own matroid or method is stored, resumed and verified like Folkmoot's own; or refused before it begins."""

import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from folkmoot import Auto, FacilityLocation, FedCG, Federated, InputError, Matroid, resume, solve, verify
from folkmoot.algorithms.federated.search import ChosenSet, SearchProblem
from folkmoot.conversation.codec import pack
from folkmoot.conversation.purpose import Purpose
from folkmoot.conversation.rounds import Run
from folkmoot.foundation.registry import find_kinds, name_kind
from folkmoot.foundation.sets import Mask
from folkmoot.questions import Query
from folkmoot.questions.gains import ask_singletons
from tests.engines.kinds import Toy, Wrapper

ITEMS = 6


class NoNeighbours(Matroid):
    """At most one of each pair (0, 1), (2, 3), …"""

    def __init__(self, n_items: int) -> None:
        self.n_items = n_items

    def is_independent(self, members: Mask) -> bool:
        return bool((np.add.reduceat(members.astype(int), np.arange(0, self.n_items, 2)) <= 1).all())

    def parameters(self) -> dict[str, Any]:
        return {"n_items": self.n_items}

    def __repr__(self) -> str:
        return f"NoNeighbours({self.n_items})"


class Forgetful(NoNeighbours):
    """Its parameters do not make it again."""

    def parameters(self) -> dict[str, Any]:
        return {"size": self.n_items}


@dataclass(frozen=True, repr=False)
class ByPopularity(Federated):
    """Asks everyone what each item is worth, and takes the best base."""

    asked_of: int | None = None

    def count_search_rounds(self, matroid: Matroid) -> int:
        return matroid.rank // matroid.rank

    def search(self, problem: SearchProblem) -> Run[ChosenSet]:
        question = ask_singletons(problem.matroid.n_items, problem.ranges.single)
        reply = yield from problem.talk.ask(question, self.asked_of, Purpose.SEARCH, "popularity")
        order = np.argsort(-reply.mean, kind="stable")
        base = problem.matroid.first_base(order)
        members = np.isin(np.arange(problem.matroid.n_items), base)
        return ChosenSet(members, None, order[members[order]])


def crowd() -> FacilityLocation:
    return FacilityLocation(np.random.default_rng(0).integers(1, 6, (30, ITEMS)))


CASES: dict[str, tuple[Matroid | int, Federated]] = {
    "matroid": (NoNeighbours(ITEMS), FedCG(2, cohort=10, jury=12)),
    "matroid that clients are told": (NoNeighbours(ITEMS), FedCG(2, cohort=10, jury=12, answer="base")),
    "method": (2, ByPopularity(12, jury=15)),
    "both": (NoNeighbours(ITEMS), ByPopularity(jury=15)),
}


@pytest.mark.parametrize("name", CASES)
def test_own_kinds_survive_store_resume_and_verify(name: str, tmp_path: Path) -> None:
    matroid, method = CASES[name]
    clients, path = crowd(), tmp_path / "run"
    result = solve(clients, matroid, method, seed=3, transcript=path)
    assert verify(path, clients) == resume(path, clients) == result
    assert verify(path).estimate == result.estimate


def test_a_run_that_was_stopped_is_resumed_with_own_kinds(tmp_path: Path) -> None:
    matroid, method = CASES["both"]
    clients, path = crowd(), tmp_path / "run"
    stop = iter(range(3))

    def watch(*_: object) -> None:
        if next(stop, None) is None:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        solve(clients, matroid, method, seed=3, transcript=path, progress=watch)
    assert resume(path, clients) == solve(clients, matroid, method, seed=3)


def test_a_kind_that_is_not_imported_is_named(tmp_path: Path) -> None:
    """Another process that has not imported this file: one sentence, and nothing is imported by itself."""
    path = tmp_path / "run"
    solve(crowd(), *CASES["matroid"], transcript=path)
    script = f"import folkmoot as fm; fm.verify({str(path)!r})"
    said = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert said.returncode == 1
    last = said.stderr.strip().splitlines()[-1]
    expected = "contains a 'NoNeighbours', which is not known here; first import 'tests.conversation.test_own_kinds'"
    assert expected in last


def local_kinds() -> tuple[Matroid, Federated]:
    class Local(NoNeighbours):
        pass

    @dataclass(frozen=True, repr=False)
    class LocalMethod(ByPopularity):
        pass

    return Local(ITEMS), LocalMethod()


@pytest.mark.parametrize("what", ["matroid", "method", "parameters"])
def test_what_cannot_be_stored_is_refused_before_anyone_is_asked(what: str, tmp_path: Path) -> None:
    local_matroid, local_method = local_kinds()
    matroid: Matroid | int = {"matroid": local_matroid, "parameters": Forgetful(ITEMS)}.get(what, 2)
    method = local_method if what == "method" else Auto()
    engine = Wrapper(Toy(crowd()))
    argument = "method" if what == "method" else "matroid"
    with pytest.raises(InputError, match=rf"^{argument}: .*a stored run could not be read back; "):
        solve(None, matroid, method, engine=engine, transcript=tmp_path / "run")
    assert not engine.asked
    assert not list(tmp_path.iterdir())
    solve(None, matroid, method, engine=engine)  # without a transcript nothing needs to be read back


def test_kinds_of_questions_are_known_by_name() -> None:
    kinds: Mapping[str, type] = find_kinds(Query)
    assert {"Gradient", "Votes", "Magnitude", "Appraisal"} <= kinds.keys()
    assert all(name_kind(kind) == name for name, kind in kinds.items())
    assert name_kind(NoNeighbours) == "tests.conversation.test_own_kinds:NoNeighbours"


def test_what_has_no_parameters_is_refused_in_a_sentence() -> None:
    """A family of objectives is a kind that stores know, but private data is never written into a question."""
    with pytest.raises(InputError, match=r"^a FacilityLocation has no parameters\(\), so it cannot be written down$"):
        pack(crowd())
