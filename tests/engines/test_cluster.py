"""A Dask cluster adds up what a simulation does, whatever happens to its workers."""

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import suppress
from copy import copy
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from time import monotonic
from typing import Any

import numpy as np
import polars
import pytest

import folkmoot as fm
from folkmoot.conversation.engine import Cancelled, Control
from folkmoot.conversation.population import Cohort
from folkmoot.conversation.purpose import Purpose
from folkmoot.conversation.rounds import Ask
from folkmoot.engines.dask import DaskCluster, ParquetShard, StoredShard, cluster, shards
from folkmoot.foundation.coins import PublicCoins
from folkmoot.objectives import Objective
from tests.engines.crowds import ask_everyone, crowd, gradient, voluntary
from tests.engines.crowds import shards as deal_shards
from tests.questions.kinds import KINDS, NOISY

distributed = pytest.importorskip("distributed")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning:distributed"),
]
CLIENTS, ITEMS = 60, 12


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    """Two workers in processes of their own, on this machine only."""
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0", memory_limit=0
        ) as local,
        distributed.Client(local) as made,
    ):
        yield made


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("stored") / "clients.npz"
    fm.store.save(crowd(CLIENTS), path)
    return path


@pytest.fixture(scope="module")
def engine(client: Any, stored: Path) -> DaskCluster:
    return DaskCluster(client, stored, parts=5, fan=2)


# Sums.


@pytest.mark.parametrize("name", [name for name in KINDS if name not in NOISY])
def test_sums_are_those_of_a_simulation(engine: DaskCluster, name: str) -> None:
    everyone = crowd(CLIENTS)
    query, simulation = KINDS[name](everyone), fm.Simulation(everyone)
    some = Cohort.of(np.arange(3, 50, 2), np.arange(3, 50, 2) % 4 + 1)
    for cohort in (engine.population.everyone, some):
        ask = Ask(query, cohort, Purpose.SEARCH, "test", 0)
        assert engine(ask).equals(simulation(ask))


def test_nobody_may_answer(engine: DaskCluster) -> None:
    said = engine(ask_everyone(CLIENTS, voluntary(ITEMS, share=1e-12)))
    assert (said.count, said.clients, said.lost) == (0, 0, False)
    assert not said.total.any()


@pytest.mark.parametrize("method", [fm.Auto(cohort=20, jury=40), fm.DiscreteGreedy(expected_answers=15)], ids=repr)
def test_a_whole_run_can_be_verified_in_one_process(engine: DaskCluster, method: fm.Federated, tmp_path: Path) -> None:
    everyone = crowd(CLIENTS)
    result = fm.solve(None, 3, method, engine=engine, seed=3, transcript=tmp_path / "run")
    alone = fm.solve(everyone, 3, method, seed=3)
    assert (result.selected, result.estimate, result.order) == (alone.selected, alone.estimate, alone.order)
    assert fm.verify(tmp_path / "run", engine=fm.Simulation(everyone, "plain")).estimate == result.estimate
    assert fm.verify(tmp_path / "run", engine=engine).estimate == result.estimate


def test_weights_are_kept_where_one_file_is_cut(client: Any, tmp_path: Path) -> None:
    weighted = crowd(CLIENTS, weights=np.arange(CLIENTS) % 5 + 1)
    fm.store.save(weighted, tmp_path / "clients.npz")
    engine, simulation = DaskCluster(client, tmp_path / "clients.npz", everything=weighted), fm.Simulation(weighted)
    cohort = engine.population.draw(30, PublicCoins(1))
    ask = Ask(gradient(ITEMS), cohort, Purpose.SEARCH, "test", 0)
    assert engine(ask).equals(simulation(ask))
    method = fm.FedCG(2)
    assert fm.solve(weighted, 2, method, engine=engine).value == fm.solve(weighted, 2, method).value


def write_parquet(path: Path, objective: fm.FacilityLocation, first: int, last: int) -> ParquetShard:
    """Some clients, in no order, under ids of their own."""
    rows = objective.gains(()).tocoo()
    kept = (rows.row >= first) & (rows.row < last)
    order = np.random.default_rng(0).permutation(int(kept.sum()))
    columns = {"who": rows.row[kept] * 3 + 7, "what": rows.col[kept], "stars": rows.data[kept]}
    polars.DataFrame({name: values[order] for name, values in columns.items()}).write_parquet(path)
    return ParquetShard(str(path), ITEMS, client="who", item="what", value="stars")


def test_shards_may_be_parquet(client: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    everyone = fm.FacilityLocation(rng.integers(1, 6, (CLIENTS, ITEMS)))
    cuts = ((0, 10), (10, 45), (45, CLIENTS))
    parts = [write_parquet(tmp_path / f"{lo}.parquet", everyone, lo, hi) for lo, hi in cuts]
    engine, ask = DaskCluster(client, parts), ask_everyone(CLIENTS, gradient(ITEMS))
    assert engine(ask).equals(fm.Simulation(everyone)(ask))
    assert engine.describe() == fm.Simulation(everyone).describe()


# Workers that die and freeze.


@dataclass(frozen=True)
class Trap:
    """A shard that does something to the first worker that reads it, and to no other."""

    path: str
    mark: str  # the file in which that worker's number is
    signal: int

    def read(self) -> Objective:
        with suppress(FileExistsError):
            with open(self.mark, "x") as file:
                file.write(str(os.getpid()))
            os.kill(os.getpid(), self.signal)
        return StoredShard(self.path).read()


def test_what_a_killed_worker_had_is_done_elsewhere(client: Any, stored: Path, tmp_path: Path) -> None:
    client.wait_for_workers(2)
    engine = DaskCluster(client, [stored])
    trap = Trap(str(stored), str(tmp_path / "mark"), signal.SIGKILL)
    engine.ranges = [cluster.ShardRange(trap, 0, CLIENTS)]  # it is set once the round begins
    ask = ask_everyone(CLIENTS, gradient(ITEMS))
    assert engine(ask).equals(fm.Simulation(crowd(CLIENTS))(ask))
    assert (tmp_path / "mark").exists()


def test_a_frozen_worker_costs_patience_and_not_the_round(
    client: Any, stored: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster, "SILENT", 3.0)
    client.wait_for_workers(2)
    engine, mark = DaskCluster(client, [stored], patience=1.0), tmp_path / "mark"
    engine.ranges = [cluster.ShardRange(Trap(str(stored), str(mark), signal.SIGSTOP), 0, CLIENTS)]
    ask = ask_everyone(CLIENTS, gradient(ITEMS))
    try:
        said = engine(ask)
    finally:
        if mark.exists():
            os.kill(int(mark.read_text()), signal.SIGCONT)
    assert said.equals(fm.Simulation(crowd(CLIENTS))(ask))
    assert len(engine._frozen) == 1  # it gets no tasks until it is heard of again


class Scripted:
    """Workers and what a scheduler says of them, as a script has it."""

    def __init__(self, threads: dict[str, int], silence: dict[str, float]) -> None:
        self.threads, self.silence, self.sent = threads, silence, 0

    def nthreads(self) -> dict[str, int]:
        return self.threads

    def run_on_scheduler(self, _: Any) -> dict[str, float]:
        return self.silence

    def submit(self, *_: Any, **__: Any) -> Any:
        self.sent += 1
        return NeverDone()

    def cancel(self, _: Any) -> None:
        pass


class NeverDone:
    def done(self) -> bool:
        return False


@pytest.mark.parametrize(
    ("threads", "silence", "sentence"),
    [
        ({}, {}, "the cluster has no workers; start some"),
        ({"a": 1}, {"a": 9.0}, "all workers of the cluster are frozen; start some"),
        ({"a": 1, "b": 1}, {"a": 9.0, "b": 9.0}, "all workers of the cluster are frozen"),
    ],
)
def test_where_nobody_can_work_it_says_so(
    engine: DaskCluster, threads: Any, silence: Any, sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(distributed, "wait", lambda *_, **__: None)
    idle = copy(engine)
    idle.client, idle.patience, idle._frozen = Scripted(threads, silence), 0.01, set()
    with pytest.raises(fm.RoundFailed, match=sentence):
        idle(ask_everyone(CLIENTS, gradient(ITEMS)))


def test_a_slow_round_beside_a_frozen_worker_is_not_begun_again(
    engine: DaskCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is given to others once; they take as long as they need."""
    waits: list[int] = []
    monkeypatch.setattr(distributed, "wait", lambda *_, **__: waits.append(1))
    slow = copy(engine)
    script = Scripted({"a": 1, "b": 1}, {"a": 9.0, "b": 0.1})
    slow.client, slow.patience, slow._frozen = script, 0.001, set()
    control = Control(cancelled=lambda: len(waits) > 5_000)
    with pytest.raises(Cancelled):
        slow.add_up(ask_everyone(CLIENTS, gradient(ITEMS)), control)
    assert script.sent == 2 * (5 + 2 + 1)  # five shards and the tree above them, twice
    assert slow._frozen == {"a"}


class Gone(Scripted):
    def submit(self, *_: Any, **__: Any) -> Any:
        raise OSError("gone")


def test_a_scheduler_that_is_gone_ends_the_run_in_one_sentence(engine: DaskCluster) -> None:
    lost = copy(engine)
    lost.client = Gone({"a": 1}, {})
    with pytest.raises(fm.RoundFailed, match=r"the connection to the cluster was lost .*; a stored run can be resumed"):
        lost(ask_everyone(CLIENTS, gradient(ITEMS)))


def test_files_that_vanish_do_not_end_as_wrong_input(client: Any, tmp_path: Path) -> None:
    """The run is kept, and can be resumed when they are back."""
    path = tmp_path / "clients.npz"
    fm.store.save(crowd(CLIENTS), path)
    engine = DaskCluster(client, path)
    path.unlink()
    with pytest.raises(fm.RoundFailed, match=r"a worker cannot read its clients: .*clients\.npz: cannot be read"):
        engine(ask_everyone(CLIENTS, gradient(ITEMS)))


@dataclass(frozen=True)
class Stuck:
    """A shard that nobody can read as long as a file exists."""

    path: str
    gate: str

    def read(self) -> Objective:
        moment = Event()
        while os.path.exists(self.gate):
            moment.wait(0.02)
        return crowd(CLIENTS)


@pytest.mark.parametrize("how", ["deadline", "cancelled"])
def test_a_round_ends_when_the_caller_says_so(client: Any, stored: Path, tmp_path: Path, how: str) -> None:
    engine, gate, heard = DaskCluster(client, [stored]), tmp_path / "gate", list[str]()
    gate.touch()
    engine.ranges = [cluster.ShardRange(Stuck(str(stored), str(gate)), 0, CLIENTS)]
    ask = ask_everyone(CLIENTS, gradient(ITEMS))
    try:
        if how == "deadline":
            said = engine.add_up(ask, Control(deadline=monotonic() + 0.5))
            assert (said.lost, said.spent, said.clients) == (True, False, 0)
            assert engine.add_up(ask, Control(deadline=monotonic())).lost
        else:
            control = Control(cancelled=lambda: bool(heard), progress=lambda what, *_: heard.append(what))
            with pytest.raises(Cancelled):
                engine.add_up(ask, control)
    finally:
        gate.unlink()


def test_progress_counts_shards(engine: DaskCluster) -> None:
    heard: list[tuple[str, int, int]] = []
    engine.add_up(ask_everyone(CLIENTS, gradient(ITEMS)), Control(progress=lambda *said: heard.append(said)))
    assert heard[-1] == ("adding up", 5, 5)


# What a worker keeps open.


@dataclass(frozen=True)
class Counted:
    """A shard of a given size that counts how often it is read."""

    path: str
    reads: list[str] = field(hash=False)

    def read(self) -> Objective:
        self.reads.append(Path(self.path).name)
        return crowd(CLIENTS)


def test_shards_that_do_not_fit_are_closed(tmp_path: Path) -> None:
    size = shards.measure(crowd(CLIENTS))
    reads: list[str] = []
    for name in "123":
        (tmp_path / name).touch()
    one, two, three = (Counted(str(tmp_path / name), reads) for name in "123")
    kept = shards.OpenShards()
    for shard in (one, two, one, two, three, two, three, one):
        assert kept.find(shard, 2.5 * size).n_clients == CLIENTS
    assert reads == ["1", "2", "3", "1"]  # 1 was closed for 3, since 2 was used after it
    small = shards.OpenShards()
    for shard in (one, two):
        small.find(shard, 0.5 * size)
    assert reads[-2:] == ["1", "2"]
    assert list(small._open) == [two]
    small.close([one, two])
    assert not small._open


def test_a_file_that_was_written_anew_is_read_anew(client: Any, tmp_path: Path) -> None:
    path, ask = tmp_path / "clients.npz", ask_everyone(CLIENTS, gradient(ITEMS))
    for scale in (1, 2):
        everyone = fm.FacilityLocation(crowd(CLIENTS).gains(()) * scale, keep_empty=True)
        fm.store.save(everyone, path)
        assert DaskCluster(client, path)(ask).equals(fm.Simulation(everyone)(ask))


def test_shards_are_closed_on_workers(client: Any, stored: Path) -> None:
    engine = DaskCluster(client, stored, parts=3)
    engine(ask_everyone(CLIENTS, gradient(ITEMS)))
    kept = [one.shard for one in engine.ranges]
    assert any(client.run(count_open, kept).values())
    engine.close()
    assert not any(client.run(count_open, kept).values())


def count_open(kept: list[Any]) -> int:
    return sum(one in shards.OPEN._open for one in kept)


# Wrong input.


def test_wrong_input_is_refused(client: Any, stored: Path, tmp_path: Path, engine: DaskCluster) -> None:
    narrow = tmp_path / "narrow.npz"
    fm.store.save(crowd(CLIENTS, items=5), narrow)
    weighted = tmp_path / "weighted.npz"
    fm.store.save(crowd(CLIENTS, weights=np.arange(CLIENTS) + 1), weighted)
    for given, sentence in (
        ([], "^shards: there are none"),
        ([stored, narrow], "^shards: shard 1 has 5 items"),
        ([stored, weighted], "^shards: clients have weights"),
        ([3], "^shards: needs files or shards, got 3"),
        (None, "^shards: needs files or shards, got None"),
        ([stored, str(stored)], "^shards: .*clients.npz is given twice"),
        (tmp_path / "nothing.npz", "nothing.npz: cannot be read"),
        ([ParquetShard(str(stored), ITEMS)], "cannot be read"),
        ([ParquetShard(str(stored), ITEMS, family="Guess")], "^family: is not one of"),
    ):
        with pytest.raises(fm.InputError, match=sentence):
            DaskCluster(client, given)  # type: ignore[arg-type]
    with pytest.raises(fm.InputError, match=r"^everything: is not what the files hold"):
        DaskCluster(client, stored, everything=crowd(CLIENTS + 1))
    with pytest.raises(fm.InputError, match=r"^n_items: needs a whole number"):
        ParquetShard(str(stored), "10")  # type: ignore[arg-type]
    with pytest.raises(fm.InputError, match=r"^parts: is for one file"):
        DaskCluster(client, [stored], parts=3)
    with pytest.raises(fm.InputError, match=r"^client: needs a distributed\.Client"):
        DaskCluster("tcp://127.0.0.1:1", stored)
    with pytest.raises(fm.InputError, match=r"^method: deals clients to groups"):
        engine(ask_everyone(CLIENTS, deal_shards(CLIENTS, 3)))


@pytest.mark.parametrize(
    ("columns", "sentence"),
    [
        ({"client": [1, 2], "item": [0, 12], "value": [1.0, 2.0]}, "item: needs numbers from 0 to 11"),
        ({"client": [1, 2], "item": [0.5, 1.0], "value": [1.0, 2.0]}, "item: needs numbers from 0 to 11"),
        ({"client": [1, None], "item": [0, 1], "value": [1.0, 2.0]}, "has missing values"),
        ({"client": [1, 1], "item": [0, 0], "value": [1.0, 2.0]}, "twice"),
        ({"client": [1, 2], "item": [0, 1], "value": [-1.0, 2.0]}, "-1"),
        ({"client": [1, 2], "item": [0, 1]}, "cannot be read"),
        ({"client": [1.0, float("nan")], "item": [0, 1], "value": [1.0, 2.0]}, "client: needs whole numbers or text"),
        ({"client": [1, 2], "item": [0, 1], "value": ["a", "b"]}, "value: needs numbers"),
    ],
)
def test_wrong_tables_are_refused(tmp_path: Path, columns: dict[str, list[Any]], sentence: str) -> None:
    path = tmp_path / "table.parquet"
    polars.DataFrame(columns).write_parquet(path)
    with pytest.raises(fm.InputError, match=sentence) as caught:
        ParquetShard(str(path), ITEMS).read()
    assert str(path) in str(caught.value)


def test_without_dask_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch, stored: Path) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(fm.InputError, match=r"Dask is not installed; pip install 'folkmoot\[cluster\]'"):
        DaskCluster(None, stored)
