"""What people would watch, summed up without anybody revealing it: a look inside one round of secure aggregation."""

import os
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from rich.table import Table

from folkmoot.foundation.errors import InputError
from folkmoot.foundation.inputs import as_count, as_number
from folkmoot.foundation.sets import Array, Ids
from folkmoot.secagg import Aggregate, Announcement, Policy, aggregate
from folkmoot.secagg.masks import as_words
from folkmoot.secagg.messages import masked_vector
from folkmoot.secagg.packing import add_packed
from folkmoot.secagg.together import STAGES, members_of

FILMS = (
    "Alien",
    "Brazil",
    "Casablanca",
    "Dune",
    "Evita",
    "Fargo",
    "Gravity",
    "Heat",
    "Ikiru",
    "Jaws",
    "Klute",
    "Laura",
)
STARS = 5
MOST = 2_000  # people; a round of 1,000 takes half a minute


@dataclass
class Demonstration:
    """A round, as somebody who sees everything would describe it."""

    clients: int
    answers: Ids  # people × films
    announcement: Announcement
    vanished: dict[int, str]  # by client: the exchange in which it drops out
    seen: dict[int, Ids] = field(default_factory=dict)  # by client: its masked vector, as the server received it
    down: dict[str, list[int]] = field(default_factory=lambda: {stage: [] for stage in STAGES})
    up: dict[str, list[int]] = field(default_factory=lambda: {stage: [] for stage in STAGES})
    result: Aggregate | None = None

    def watch(self, stage: str, client: int, received: bytes, sent: bytes) -> None:
        self.down[stage].append(len(received))
        self.up[stage].append(len(sent))
        if stage == "vector":
            words = as_words(np.zeros(len(FILMS)), self.announcement.ring_bits)
            add_packed(masked_vector(sent, self.announcement), self.announcement.ring_bits, words)
            self.seen[client] = words.astype(np.int64)

    def document(self) -> dict[str, object]:
        """What happened, as JSON."""
        assert self.result is not None
        survivors = self.result.survivors
        person = survivors[len(survivors) // 2]
        return {
            "films": list(FILMS),
            "people": self.clients,
            "survivors": list(survivors),
            "person": person,
            "said": self.answers[person].tolist(),
            "seen": self.seen[person].tolist(),
            "learned": self.result.total.tolist(),
            "ring_bits": self.announcement.ring_bits,
            "bytes_down": {stage: float(np.mean(sizes)) for stage, sizes in self.down.items()},
            "bytes_up": {stage: float(np.mean(sizes)) for stage, sizes in self.up.items()},
        }


def run(clients: int, gone: float, seed: int) -> Demonstration:
    """One round with people of different tastes, some of whom drop out at one exchange or another."""
    terms = Policy()
    count = as_count(clients, "clients", least=terms.quorum(0), most=MOST)
    share = as_number(gone, "gone")
    if share > terms.dropout:
        raise InputError(
            f"a round tolerates {terms.dropout:.0%} of its clients dropping out, got {share:.0%}", argument="gone"
        )
    if count - int(share * count) < terms.quorum(count):
        raise InputError(
            f"{count} minus {share:.0%} leaves fewer than the {terms.quorum(count)} that are needed",
            argument="clients",
        )
    rng = np.random.default_rng(as_count(seed, "seed", least=0))
    liked: Array = rng.dirichlet(np.full(len(FILMS), 0.15), count) * STARS * 2
    answers = np.minimum(np.rint(liked), STARS).astype(np.int64)
    leavers = rng.permutation(count)[: int(share * count)].tolist()
    vanished = {one: STAGES[int(rng.integers(len(STAGES)))] for one in leavers}
    members = members_of({one: Ed25519PrivateKey.generate() for one in range(count)}, terms)
    roster = members[0].roster.digest
    announcement = Announcement(os.urandom(16), 1, bytes(32), roster, count, len(FILMS), STARS * count)
    shown = Demonstration(count, answers, announcement, vanished)
    shown.result = aggregate(
        announcement,
        members,
        lambda client: lambda _: answers[client],
        lambda stage, client: vanished.get(client) == stage,
        shown.watch,
    )
    return shown


def tabulate(shown: Demonstration) -> Iterator[Table | str]:
    """What happened, as tables and sentences."""
    assert shown.result is not None
    total, survivors = shown.result.total, shown.result.survivors
    person = survivors[len(survivors) // 2]
    ring = 2**shown.announcement.ring_bits
    plain = shown.answers[list(survivors)].sum(axis=0)
    table = Table(title=f"{len(survivors)} of {shown.clients} people, {len(FILMS)} films, 0 to {STARS} stars each")
    table.add_column("film")
    for column in (f"person {person} gave", "the server saw", "the server learned"):
        table.add_column(column, justify="right")
    for film, stars, noise, learned in zip(
        FILMS, shown.answers[person].tolist(), shown.seen[person].tolist(), total.tolist(), strict=True
    ):
        table.add_row(film, f"{stars}", f"{noise:,}", f"{learned:,}")
    yield table
    yield (
        f"What the server saw of person {person} is noise: every number from 0 to {ring - 1:,} is as likely as any "
        f"other. The sum is {'exactly' if (total == plain).all() else 'NOT'} that of the {len(survivors)} people "
        "whose numbers arrived."
    )
    stages = Table(title="The round (neighbours are drawn afresh every time, so bytes vary a little)")
    for column in ("exchange", "answered", "gone", "bytes to a client (mean)", "from it"):
        stages.add_column(column, justify="left" if column == "exchange" else "right")
    for stage in STAGES:
        gone = sum(1 for when in shown.vanished.values() if when == stage)
        down, up = (int(np.mean(sizes[stage])) for sizes in (shown.down, shown.up))
        stages.add_row(stage, f"{len(shown.up[stage])}", f"{gone or ''}", f"{down:,}", f"{up:,}")
    yield stages
    yield f"Protected: {shown.result.parameters}."
