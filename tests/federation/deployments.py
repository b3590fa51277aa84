"""Federations of five parties on this machine, with TLS, for tests: their data, their kits, their processes."""

import json
import os
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import psutil

import folkmoot as fm
from folkmoot.application.federation.founding import Founding, establish
from folkmoot.application.federation.loopback import Loopback, find_port
from folkmoot.application.federation.membership import STORE
from folkmoot.conversation.codec import unpack
from folkmoot.conversation.engine import Control, Engine
from folkmoot.conversation.population import Population
from folkmoot.conversation.rounds import Ask, Sum
from folkmoot.conversation.transcript import Transcript
from folkmoot.data import load
from folkmoot.engines import FolderStore
from folkmoot.engines.flare.kits import Place
from folkmoot.engines.flare.processes import list_jobs
from folkmoot.foundation.registry import find_kinds
from folkmoot.foundation.settings import Data
from tests.coins import SIMULATED, toss_for
from tests.federation.proxy import Cable

# Folkmoot, as somebody would have changed it who wants to join with a kit of other settings.
CARELESS = (
    "-c",
    "from folkmoot.engines.flare import hardening; hardening.check_settings = lambda _: None; "
    "from folkmoot.cli import main; main()",
)
PARTIES = ("north", "south", "east", "west", "centre")
ITEMS = 30
SIZES = (60, 45, 70, 55, 50)
MOST = 5.0
PROBLEM = """seed = {seed}
[choose]
count = 5
[method]
name = "fedcg"
rounds = {rounds}
cohort = 150
polish = 2
[privacy]
patience = {patience}
wait = 120
"""


@dataclass
class Deployment:
    """A federation in a folder, with a cable between each party and the server."""

    folder: Path
    founding: Founding
    files: dict[str, Path]
    cables: dict[str, Cable] = field(default_factory=dict)

    def start(self) -> Loopback:
        joins = {name: ["--data", str(file)] for name, file in self.files.items()}
        return Loopback(self.founding.folder, joins, {**os.environ, "FOLKMOOT_THREADS": "1"})

    def write_problem(self, *, seed: int = 1, rounds: int = 4, patience: float = 5.0) -> Path:
        path = self.folder / f"problem-{seed}.toml"
        path.write_text(PROBLEM.format(seed=seed, rounds=rounds, patience=patience))
        return path

    def find_job(self, name: str) -> psutil.Process | None:
        """The job process of a party, or of the server."""
        found = list_jobs(self.founding.folder / name)
        return found[0] if found else None

    def find_parent(self, loopback: Loopback, name: str) -> psutil.Process | None:
        """FLARE's own process of a party, or of the server, which starts job processes."""
        try:
            children = psutil.Process(loopback.processes[name].pid).children()
        except psutil.NoSuchProcess:
            return None
        return children[0] if children else None

    def load_everything(self) -> fm.Objective:
        """All clients in one place, as only a test can have them, in the order of the parties."""
        parts = [load(Data(file=str(file), **self._settings)).objective for file in self.files.values()]
        rows = np.concatenate([np.asarray(_rows(part)) for part in parts])
        return fm.FacilityLocation(rows, most=MOST, keep_empty=True)

    @property
    def _settings(self) -> dict[str, Any]:
        return {"kind": "ratings", "items": str(self.folder / "items.csv"), "most": MOST}

    def close(self) -> None:
        for cable in self.cables.values():
            cable.close()


def _rows(part: Any) -> Any:
    """The ratings of each client."""
    singles = part.gains_at(np.zeros(part.n_items, dtype=bool))
    return singles.toarray()


def deploy(folder: Path, *, cables: bool = False, seed: int = 0) -> Deployment:
    """Write data, make kits. With cables, parties reach the server through proxies. Parties keep the coins of
    simulations, so that sums can be counted again: of real ones nobody else knows them.
    """
    files = write_ratings(folder, seed)
    data = Data(file="", kind="ratings", items=str(folder / "items.csv"), most=MOST)
    port = find_port()
    founding = establish(folder / "moot", PARTIES, Place("localhost", port), data)
    for party in PARTIES:
        policy = founding.find_kit(party) / "policy.toml"
        policy.write_text(policy.read_text() + "\nlargest_share = 0.9\n")
        with closing(FolderStore(founding.find_kit(party) / STORE)) as store:
            store.keep_secret(SIMULATED.secret)
    deployment = Deployment(folder, founding, files)
    for party in PARTIES if cables else ():
        deployment.cables[party] = Cable(port)
        path = founding.find_kit(party) / "startup" / "fed_client.json"
        config = json.loads(path.read_text())
        config["servers"][0]["service"]["target"] = f"localhost:{deployment.cables[party].port}"
        path.write_text(json.dumps(config))
    return deployment


def write_ratings(folder: Path, seed: int) -> dict[str, Path]:
    rng = np.random.default_rng(seed)
    (folder / "items.csv").write_text("\n".join(["film,title", *(f"f{at},Film {at}" for at in range(ITEMS))]) + "\n")
    files = {}
    for party, size in zip(PARTIES, SIZES, strict=True):
        liked = rng.random(ITEMS) ** 2
        lines = ["user,film,rating"]
        for user in range(size):
            rated = np.flatnonzero(rng.random(ITEMS) < 0.1 + 0.3 * liked)
            rated = rated if len(rated) else np.array([0])
            lines += [f"{party}{user},f{film},{rng.integers(1, 6)}" for film in rated]
        files[party] = folder / f"{party}.csv"
        files[party].write_text("\n".join(lines) + "\n")
    return files


class Recount(Engine):
    """Adds up again, in the clear, over exactly those clients whom a transcript says to be in each sum."""

    def __init__(self, everything: fm.Objective, transcript: Path) -> None:
        self.clients, self.transcript = everything, transcript
        with Transcript.reopen(transcript, reading=True) as store:
            self.about: Mapping[str, Any] = unpack(store.read_entry("population") or b"", find_kinds(Population))

    @property
    def population(self) -> Population:
        population: Population = self.about["population"]
        return population

    def describe(self) -> Mapping[str, Any]:
        described: Mapping[str, Any] = self.about["engine"]
        return described

    @property
    def can_recompute(self) -> bool:
        return True

    def add_up(self, ask: Ask, control: Control) -> Sum:  # noqa: ARG002
        with Transcript.reopen(self.transcript, reading=True) as store:
            known = store.recall(ask)
        assert known is not None
        if known.lost:
            return known
        ids, times = ask.cohort.list_members()
        if known.present is not None:
            ids, times = ids[known.present], times[known.present]
        total = ask.query.total(self.clients[ids], ids, times, toss_for(ask.query))
        return Sum(total, int(times.sum()), len(ids), ask.cohort.weight, present=known.present)
