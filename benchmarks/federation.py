"""Ten parties on this machine over FLARE, tcp with mutual TLS, each in processes of its own: a stage of the protocol
against a bare echo of the same bytes, whole runs on MovieLens, and a round of a million clients.

Parties are started as people start them (`folkmoot federation join`), and all of this runs on whatever cores there are.
"""

import json
import lzma
import os
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, time
from typing import Any

import numpy as np
import polars
from scipy import sparse

import folkmoot as fm
from benchmarks.instances import HERE, Missing, crowd, data_file
from benchmarks.table import Floor, show
from folkmoot.application.federation.founding import Founding, establish
from folkmoot.application.federation.loopback import Loopback, find_port
from folkmoot.application.federation.networked import open_federation, prepare_networked
from folkmoot.application.folder import Folder
from folkmoot.application.problem import Problem
from folkmoot.application.run import begin_run
from folkmoot.conversation.purpose import Purpose
from folkmoot.conversation.rounds import Ask
from folkmoot.data import load
from folkmoot.engines.exchange import Bundle
from folkmoot.engines.flare.frames import Frame, connect, receive_frame, send_frame
from folkmoot.engines.flare.hardening import PARTY_GATE
from folkmoot.engines.flare.kits import SERVER, Place
from folkmoot.engines.flare.line import FlareLine
from folkmoot.engines.gathering import PartyLine, gather
from folkmoot.engines.journal import RoundJournal, write_inbox
from folkmoot.foundation.coins import PublicCoins
from folkmoot.foundation.settings import Data
from folkmoot.questions import Gradient
from folkmoot.secagg.messages import NAME, VERSION
from folkmoot.secagg.together import NAMES

PARTIES = tuple(f"party-{number}" for number in range(10))
MOST, K, SEED = 5.0, 20, 1
BYTES, TURNS = 400_000, 6  # of a message each way; rounds of eight stages
CLIENTS, ITEMS, RATED, WARM = 100_000, 10_000, 100, 5  # per party; rounds after the first
WAIT = 300.0
UNCHECKED = (  # Folkmoot, with kits in which the benchmark's own classes run
    "-c",
    "from folkmoot.engines.flare import hardening; hardening.check_settings = lambda _: None; "
    "from folkmoot.cli import main; main()",
)


@contextmanager
def start(founding: Founding, files: Mapping[str, Path]) -> Iterator[None]:
    """The server's process and every party's; what they compute, they compute on one thread each."""
    paths = os.pathsep.join(filter(None, (str(HERE), os.environ.get("PYTHONPATH"))))
    joins = {name: ["--data", str(file)] for name, file in files.items()}
    environment = {**os.environ, "FOLKMOOT_THREADS": "1", "PYTHONPATH": paths}
    with Loopback(founding.folder, joins, environment, UNCHECKED) as processes:
        try:
            yield
        except fm.FolkmootError:
            processes.check()  # one that could not start says why
            raise


def found(folder: Path, items: Path) -> Founding:
    data = Data(file="", kind="ratings", items=str(items), most=MOST)
    return establish(folder, PARTIES, Place("localhost", find_port()), data)


# A stage of the protocol, and a bare echo.


def allow_echoes(founding: Founding) -> None:
    """Let the benchmark's own classes run in these kits, in place of the product's."""
    from benchmarks.federation_echo import ANSWERING, GATE, RELAYING

    for kit in (SERVER, *PARTIES):
        path = founding.folder / kit / "local" / "resources.json"
        resources = json.loads(path.read_text())
        resources["class_allow_list"] = [RELAYING if kit == SERVER else ANSWERING]
        for one in resources["components"]:
            if one["path"] == PARTY_GATE:
                one["path"] = GATE
        path.write_text(json.dumps(resources))


@contextmanager
def open_echo_line(founding: Founding) -> Iterator[FlareLine]:
    """A line whose jobs are of the benchmark's own classes."""
    from benchmarks.federation_echo import EchoLeader

    line = FlareLine(founding.server, PARTIES, len(PARTIES))
    line.leader = EchoLeader(line.kit)
    line.start()
    try:
        yield line
    finally:
        line.close()


def draw_outboxes(rng: np.random.Generator) -> Iterator[dict[int, Bundle]]:
    """The messages of a round, stage by stage, of the same size each; other bytes for every party."""
    yield {party: Bundle({party: b""}, rng.bytes(BYTES)) for party in range(len(PARTIES))}
    for kind in NAMES:
        head = NAME + bytes([VERSION, kind])
        yield {party: Bundle({party: head + rng.bytes(BYTES - len(head))}) for party in range(len(PARTIES))}


def measure_stages(founding: Founding, room: Path) -> tuple[list[float], list[float]]:
    """Seconds of each stage, and of a bare echo after each."""
    from benchmarks.federation_echo import FOLDER

    task = prepare_networked(Problem.from_kit(founding.server, choose=K))
    rng, stages, echoes = np.random.default_rng(SEED), list[float](), list[float]()
    with open_echo_line(founding) as line:
        book = gather(line, task.registrar, WAIT)
        exchange = PartyLine(line, dict(enumerate(book.names)), task.agreement.quorum, fingerprint=book.fingerprint)
        exchange.await_quorum(None)
        with connect(founding.server / FOLDER) as link:
            for number in range(TURNS + 1):
                with closing(RoundJournal(room / f"journal-{number}")) as journal:
                    for outbox in draw_outboxes(rng):
                        begun = perf_counter()
                        journal.write_once(partial(hold, exchange, outbox))
                        stages.append(perf_counter() - begun)
                        send_frame(link, Frame(number, FOLDER, 0.0, rng.bytes(BYTES)))
                        echoes.append(receive_frame(link).seconds)
    warm = len(stages) // (TURNS + 1)  # the first round is not counted
    assert min(echoes) > 0, "a bare echo failed"
    return stages[warm:], echoes[warm:]


def hold(exchange: PartyLine, outbox: Mapping[int, Bundle]) -> bytes:
    """One stage: the replies of all parties, as they are written down."""
    replies = exchange(outbox, None)
    for party, sent in outbox.items():
        assert replies[party].letters == ({party: sent.question} if sent.question else sent.letters)
    return write_inbox(replies)


def ask_everybody(n_items: int, everyone: Any, number: int) -> Ask:
    """Everybody's gradient, at another point in each round: parties answer a question only once."""
    x = np.full(n_items, 0.001 * (1 + number))
    question = Gradient(x=x, whole=MOST, single=MOST, bits=20, stochastic=False, coins=PublicCoins(1))
    return Ask(question, everyone, Purpose.SEARCH, "everybody's gradient", number)


# Whole runs.


@dataclass(frozen=True)
class TimedRun:
    """A run, from the first process to its end."""

    startup: float  # until all parties were enrolled
    seconds: float  # since then
    same: bool  # whether the simulator chooses the same set, by the same estimate
    rounds: int


def run_films(room: Path) -> TimedRun:
    """The default method on MovieLens, 10 rounds of search."""
    ratings, items = (
        data_file("movielens-latest-small", f"2018-09_{name}") for name in ("ratings.csv.xz", "movies.csv")
    )
    founding = found(room / "films", items)
    files = split_users(ratings, room)
    problem = Problem.from_kit(founding.server, choose=K, rounds=10, seed=SEED, folder=str(room / "run"))
    start_time = time()
    with start(founding, files):
        finished = begin_run(problem)
        ended = time()
    enrolled = finished.folder.federation.stat().st_mtime
    result, job = finished.result, finished.job
    assert job is not None
    whole = load(Data(file=str(ratings), kind="ratings", items=str(items), most=MOST)).objective
    alone = fm.solve(whole, job.matroid, job.method, seed=SEED, progress=False)
    same = (alone.selected, alone.estimate) == (result.selected, result.estimate)
    return TimedRun(enrolled - start_time, ended - enrolled, same, len(result.rounds or ()))


def split_users(ratings: Path, room: Path) -> dict[str, Path]:
    """A file per party, with as many users each; in the order of the whole file."""
    frame = polars.read_csv(lzma.decompress(ratings.read_bytes())).select("userId", "movieId", "rating")
    users = frame["userId"].unique(maintain_order=True).to_numpy()
    files = {}
    for name, own in zip(PARTIES, np.array_split(users, len(PARTIES)), strict=True):
        files[name] = room / f"{name}.csv"
        frame.filter(polars.col("userId").is_in(own.tolist())).write_csv(files[name])
    return files


# A million clients.


def write_crowds(room: Path) -> dict[str, Path]:
    files = {}
    for number, name in enumerate(PARTIES):
        files[name] = room / f"{name}.npz"
        sparse.save_npz(files[name], crowd(CLIENTS, ITEMS, RATED, seed=number), compressed=False)
    return files


def run_million(room: Path) -> dict[str, float]:
    """Rounds in which everybody answers."""
    files, items = write_crowds(room), room / "items.csv"
    items.write_text("\n".join(["item", *(f"i{at}" for at in range(ITEMS))]) + "\n")
    founding = found(room / "million", items)
    folder = Folder(room / "rounds")
    folder.path.mkdir()
    begun = perf_counter()
    with start(founding, files):
        task = prepare_networked(Problem.from_kit(founding.server, choose=K, patience=120))
        with open_federation(task, folder.path) as engine:
            marks, asks = (
                [perf_counter()],
                [ask_everybody(ITEMS, engine.population.everyone, at) for at in range(1 + WARM)],
            )
            sums = []
            for ask in asks:
                sums.append(engine(ask))
                marks.append(perf_counter())
    expected = np.zeros_like(sums[-1].total)
    for file in files.values():
        part = fm.Simulation(load(Data(file=str(file), kind="ratings", items=str(items), most=MOST)).objective, "plain")
        expected = expected + part(ask_everybody(ITEMS, part.population.everyone, WARM)).total
    first, *warm = (after - before for before, after in pairwise(marks))
    return {
        "start-up, s": marks[0] - begun,
        "first round, s": first,
        "warm round, s": float(np.median(warm)),
        "the sum is right": float(np.array_equal(sums[-1].total, expected)),
    }


def main() -> list[Floor]:
    return [*compare_stages(), *compare_runs(), *watch_million()]


def compare_stages() -> list[Floor]:
    with TemporaryDirectory() as name:
        room = Path(name)
        items = room / "items.csv"
        items.write_text("\n".join(["item", *(f"i{at}" for at in range(K))]) + "\n")
        founding = found(room / "echoes", items)
        allow_echoes(founding)
        files = {party: room / f"{party}.csv" for party in PARTIES}
        for party, file in files.items():
            file.write_text("user,item,rating\n" + "".join(f"{party}-{at},i{at},3\n" for at in range(K)))
        with start(founding, files):
            stages, echoes = measure_stages(founding, room)
    stage = float(np.median(stages))
    ratio = float(np.median(np.divide(stages, echoes)))  # turn by turn: both saw the same weather
    show(
        f"{BYTES:,} bytes to and from each of {len(PARTIES)} parties, seconds",
        ["", "median", "fastest", "slowest"],
        [
            [what, *(f"{one:.3f}" for one in (np.median(found), min(found), max(found)))]
            for what, found in (("a stage", stages), ("a bare echo", echoes))
        ],
    )
    return [
        Floor(f"FLARE, ten parties, {BYTES // 1000} kB each way: a stage, seconds", stage, at_most=0.25),
        Floor(f"FLARE, ten parties, {BYTES // 1000} kB each way: a stage / a bare echo", ratio, at_most=2),
    ]


def compare_runs() -> list[Floor]:
    with TemporaryDirectory() as name:
        try:
            run = run_films(Path(name))
        except Missing as reason:
            print(reason)
            return []
    row = [f"{run.startup:.1f}", f"{run.seconds:.1f}", str(run.rounds), "same set" if run.same else "OTHER"]
    show("MovieLens latest-small over ten parties", ["start-up, s", "run, s", "rounds", "simulator"], [row])
    return [
        Floor("FLARE, MovieLens, ten parties: seconds", run.seconds, at_most=30),
        Floor("FLARE, MovieLens, ten parties: as the simulator", float(run.same), at_least=1),
    ]


def watch_million() -> list[Floor]:
    with TemporaryDirectory() as name:
        found = run_million(Path(name))
    rows = [[what, f"{value:.3g}"] for what, value in found.items()]
    show(
        f"Ten parties × {CLIENTS:,} clients × {RATED} of {ITEMS:,} items, everybody's gradient", ["", "measured"], rows
    )
    return [
        Floor("FLARE, ten parties × 100,000 clients: a warm round, seconds", found["warm round, s"], at_most=5),
        Floor("FLARE, ten parties × 100,000 clients: the sum is right", found["the sum is right"], at_least=1),
    ]
