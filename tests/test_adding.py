"""Every chapter of "Adding to it" in CONTRIBUTING, followed once: what it says is enough."""

import re
import sys
from dataclasses import dataclass, fields, replace
from functools import cached_property
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console
from scipy import sparse

import folkmoot as fm
from folkmoot.algorithms.central import Selection
from folkmoot.algorithms.federated.search import ChosenSet, SearchProblem
from folkmoot.application.origin import SECTIONS
from folkmoot.application.template import make_template
from folkmoot.conversation import Ask, Population, Purpose, Sum
from folkmoot.conversation.rounds import Run, drive
from folkmoot.conversation.talk import Talk
from folkmoot.data import load as data_load
from folkmoot.data.load import BUILD
from folkmoot.data.loaded import Loaded, Request
from folkmoot.data.worth import ratings
from folkmoot.foundation import settings as all_settings
from folkmoot.foundation.private_coins import PrivateCoins
from folkmoot.foundation.sets import Array, Ids, Mask, Rows
from folkmoot.foundation.settings import Data
from folkmoot.questions import Encoding, Part, Query, Reply
from folkmoot.report import describe as describing
from folkmoot.report import markdown, page
from folkmoot.report.document import Fact, Form, Level, Quantity, Section
from folkmoot.report.html import render_html
from folkmoot.report.notebook import render_notebook
from folkmoot.report.plain import render_plain
from folkmoot.report.story import Story
from folkmoot.report.terminal import print_document
from tests.cli.calling import folkmoot
from tests.coins import toss_for
from tests.report.stories import SHAPES

ROOT = Path(__file__).parents[1]


def chapters() -> list[str]:
    text = (ROOT / "CONTRIBUTING.md").read_text()
    inside = text.partition("## Adding to it")[2].partition("\n## ")[0]
    return re.findall(r"^### (.+)$", inside, re.MULTILINE)


def test_every_chapter_is_followed_here() -> None:
    followed = {name.removeprefix("test_add_").replace("_", " ") for name in globals() if name.startswith("test_add_")}
    assert {chapter.lower() for chapter in chapters()} == followed


def test_the_walk_visits_files_that_exist_once_each() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text().partition("file by file")[2].partition("\n## ")[0]
    visited = re.findall(r"^\| \d+ \| `([^`]+)`", text, re.MULTILINE)
    assert len(visited) > 15
    assert len(set(visited)) == len(visited)
    assert all((ROOT / "src/folkmoot" / file).is_file() for file in visited)


class Likes(fm.Objective):
    """f_i(S) = the share of the items that client i likes which are in S: modular."""

    def __init__(self, liked: Array) -> None:
        self.liked = np.asarray(liked, dtype=np.float64)
        self._describe(self.liked.shape[1], len(self.liked), None, None, None)

    def _keep(self, clients: Ids) -> None:
        self.liked = self.liked[clients]

    def values_at(self, sets: Mask) -> Array:
        return self.liked @ sets.T

    def gains_at(self, members: Mask) -> Rows:
        return sparse.csr_array(np.where(members, 0.0, self.liked))


def test_add_an_objective() -> None:
    likes = Likes(np.random.default_rng(0).random((30, 6)))
    best = np.sort(np.argsort(-likes.liked.mean(axis=0))[:2])
    assert fm.solve(likes, 2).selected == tuple(best)
    assert fm.solve(likes, 2, fm.FedCG(2, cohort=20)).selected == tuple(best)
    fm.check_submodular(likes)


class EveryOther(fm.Matroid):
    """At most one of items 0 and 1, one of 2 and 3, …"""

    def __init__(self, n_items: int) -> None:
        self.n_items = n_items

    def is_independent(self, members: Mask) -> bool:
        return not (members[0::2] & members[1::2]).any()

    def parameters(self) -> dict[str, Any]:
        return {"n_items": self.n_items}


def crowd() -> fm.FacilityLocation:
    return fm.FacilityLocation(np.random.default_rng(1).integers(1, 6, (40, 6)))


def test_add_a_matroid(tmp_path: Path) -> None:
    matroid, clients = EveryOther(6), crowd()
    assert matroid.is_valid()
    assert matroid.rank == 3
    result = fm.solve(clients, matroid, fm.Auto(cohort=20), transcript=tmp_path / "run")
    assert matroid.independent(result.selected)
    assert fm.verify(tmp_path / "run", clients) == result


@dataclass(frozen=True)
class FirstOnes:
    """Takes the first items that the matroid allows."""

    def choose(self, objective: fm.Objective, matroid: fm.Matroid, seed: int) -> Selection:
        base = matroid.first_base(np.arange(objective.n_items) if seed >= 0 else np.arange(0))
        return Selection(np.isin(np.arange(objective.n_items), base))


def test_add_a_central_method() -> None:
    result = fm.solve(crowd(), 2, FirstOnes())
    assert result.selected == (0, 1)
    assert result.value <= fm.solve(crowd(), 2).value <= result.upper_bound


class HappyReply(Reply):
    """How many are happy."""

    @property
    def share(self) -> float:
        return float(self.mean[0])


@dataclass(frozen=True, eq=False, kw_only=True)
class Happy(Query[HappyReply]):
    """Whether a set is worth at least so much to the client."""

    reply_kind = HappyReply

    members: Mask
    least: float

    @cached_property
    def encoding(self) -> Encoding:
        return Encoding((Part(1, 1.0, 1),))

    def write_rows(self, clients: fm.Objective, ids: Ids, times: Ids, own: PrivateCoins) -> Rows:  # noqa: ARG002
        return sparse.csr_array((clients.values_at(self.members[None, :]) >= self.least).astype(np.int64))


def test_add_a_question() -> None:
    """Asked through every way that sums are made, and read by its own reply."""
    clients, members = crowd(), np.array([True, True, False, False, False, False])

    def conversation(talk: Talk) -> Run[HappyReply]:
        return (yield from talk.ask(Happy(members=members, least=5.0), None, Purpose.SEARCH, "who is happy?"))

    expected = float((clients.values(members) >= 5.0).mean())
    assert 0 < expected < 1
    for secure in ("plain", "ideal", "real"):
        engine = fm.Simulation(clients, secure)
        reply = drive(conversation(Talk(engine.population, fm.Uniform(6, 2), 0)), engine)
        assert reply.share == pytest.approx(expected)
        assert reply.count == 40
        assert (reply.question.encoding.l1, reply.question.encoding.linf) == (1, 1)


@dataclass(frozen=True, repr=False)
class MostHappy(fm.Federated):
    """Takes the items with which alone most clients are happy."""

    least: float = 4.0

    def count_search_rounds(self, matroid: fm.Matroid) -> int:
        return matroid.n_items

    def search(self, problem: SearchProblem) -> Run[ChosenSet]:
        shares = []
        for item in range(problem.matroid.n_items):
            question = Happy(members=np.arange(problem.matroid.n_items) == item, least=self.least)
            reply = yield from problem.talk.ask(question, None, Purpose.SEARCH, f"happy with {item}?")
            shares.append(reply.share)
        order = np.argsort(shares)[::-1]
        base = problem.matroid.first_base(order)
        members = np.isin(np.arange(problem.matroid.n_items), base)
        return ChosenSet(members, None, order[members[order]])


def test_add_a_federated_method(tmp_path: Path) -> None:
    clients, method = crowd(), MostHappy(5.0, polish=0)
    result = fm.solve(clients, 2, method, transcript=tmp_path / "run")
    happy = (clients.values(np.eye(6, dtype=bool)) >= 5.0).mean(axis=0)
    assert {*result.selected} == {*np.argsort(happy)[-2:].tolist()}
    assert fm.verify(tmp_path / "run", clients) == fm.resume(tmp_path / "run", clients) == result


class Slowly(fm.Engine):
    """Asks clients one after the other."""

    def __init__(self, clients: fm.Objective) -> None:
        self.clients = clients

    @property
    def population(self) -> Population:
        return Population.of(self.clients)

    def add_up(self, ask: Ask, control: fm.Control) -> Sum:
        total, (ids, times) = np.zeros(ask.query.length, dtype=np.int64), ask.cohort.list_members()
        for at, (client, often) in enumerate(zip(ids, times, strict=True)):
            control.check()
            total += ask.query.total(
                self.clients[int(client)], np.array([client]), np.array([often]), toss_for(ask.query)
            )
            control.progress("asking", at + 1, len(ids))
        return Sum(total, int(times.sum()), len(ids), ask.cohort.weight)


def test_add_an_engine(tmp_path: Path) -> None:
    clients, method = crowd(), fm.FedCG(2, cohort=15, jury=30)
    found = fm.solve(None, 2, method, engine=Slowly(clients), transcript=tmp_path / "run")
    assert found.selected == fm.solve(clients, 2, method).selected
    assert fm.verify(tmp_path / "run", engine=Slowly(clients)) == found


def test_add_a_check_in_secure_aggregation() -> None:
    """Every row of the table has an attack; the docs say so, and name at least as many checks as there are programs."""
    text = (ROOT / "docs/secagg.md").read_text()
    table = text[text.index("Every row of this table has an attack") :]
    rows = [line for line in table.splitlines() if line.startswith("| ")][2:]
    attacks = list((ROOT / "tests/secagg/attacks").glob("test_*.py"))
    assert len(rows) >= 20
    assert len(attacks) >= 35


def test_add_a_setting(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Every field of every section is in the template, and is an option of the command line."""
    template, said = make_template(Data(file="r.csv")), folkmoot(tmp_path, "run", "--help-all")
    shown = re.sub(r"\s+", " ", said.out)
    for section, kind in SECTIONS.items():
        for one in fields(kind):
            assert re.search(rf"^#? ?{one.name} = ", template, re.MULTILINE), (section, one.name)
            if section not in ("limit",) and one.name not in ("file", "count", "name"):
                assert f"--{one.name.replace('_', '-')[:12]}" in shown, (section, one.name)
    monkeypatch.setitem(SECTIONS, "extra", Extra)
    assert "# Whether to shout." in make_template(Data(file="r.csv"))


@dataclass(frozen=True, kw_only=True)
class Extra:
    """Settings that a test adds."""

    loud: bool = all_settings.setting("Whether to shout.", False)


def upside_down(request: Request) -> Loaded:
    """Ratings in which 1 is best."""
    loaded = ratings(request)
    rows = loaded.objective.gains(()).toarray()
    turned = fm.FacilityLocation(np.where(rows > 0, 6 - rows, 0), keep_empty=True)
    return replace(loaded, objective=turned, meaning="six less the rating")


def test_add_a_kind_of_data(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(BUILD, "ranks", upside_down)
    monkeypatch.setattr(sys.modules["folkmoot.data.load"], "KINDS", (*all_settings.KINDS, "ranks"))
    (tmp_path / "r.csv").write_text("user,film,rating\n1,a,1\n1,b,5\n2,a,1\n2,b,4\n3,b,1\n")
    loaded = data_load(Data(file=str(tmp_path / "r.csv"), kind="ranks"))
    assert loaded.meaning == "six less the rating"
    assert fm.solve(loaded.objective, 1).names is None
    np.testing.assert_array_equal(loaded.objective.gains(()).toarray(), [[5, 1], [5, 2], [0, 5]])


def test_add_a_fact_in_the_report(monkeypatch: pytest.MonkeyPatch) -> None:
    def describe_letters(story: Story) -> Section:
        letters = Quantity(len(story.title), Form.COUNT, field="story.letters")
        return Section("The title", (Fact("Letters", letters, level=Level.SUMMARY),))

    monkeypatch.setattr(describing, "SECTIONS", (*describing.SECTIONS, describe_letters))
    story = SHAPES["full"]
    document, out = describing.describe(story), Console(file=StringIO(), width=100)
    print_document(out, document)
    assert isinstance(out.file, StringIO)
    shown = [page(story), str(render_html(document)), markdown(story), out.file.getvalue()]
    shown += [render_notebook(document), render_plain(document)]
    for text in shown:
        assert re.search(rf"Letters.{{0,200}}?{len(story.title)}", text, re.DOTALL)
    assert "Letters" in str(story.result)
    assert f'data-field="story.letters" data-value="{len(story.title)}"' in page(story)
