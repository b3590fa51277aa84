"""What a client remembers between two messages, as bytes. It forgets at once what it no longer needs."""

from dataclasses import dataclass, field
from enum import IntEnum
from functools import cached_property
from itertools import accumulate, pairwise
from struct import Struct
from typing import Any, TypeAlias

import numpy as np

from folkmoot.foundation.sets import Ids
from folkmoot.secagg.dealing import CONTENT, MARKS, SHARE
from folkmoot.secagg.keys import CHECK, FINGERPRINT
from folkmoot.secagg.ledger import Ledger
from folkmoot.secagg.messages import BOX, Advertisement, Announcement
from folkmoot.secagg.primitives import DIGEST, KEY, SEED
from folkmoot.secagg.wire import U32, Malformed, is_bitmap, numbers, read_entries, write_entries

ByClient: TypeAlias = dict[int, bytes]  # in the order of their numbers


class Stage(IntEnum):
    """What the client did last."""

    IDLE = 0
    ADVERTISED = 1
    CHOSE = 2
    SHARED = 3
    CHECKED = 4
    ANSWERED = 5
    MASKED = 6
    CONSENTED = 7


@dataclass(frozen=True)
class State:
    """A field is empty if there is nothing to remember. An idle client keeps its ledger and its last announcement, so
    that it does not take part in that round again.
    """

    stage: Stage = Stage.IDLE
    ledger: bytes = b""
    announced: bytes = b""  # the announcement of its current or last round
    seed: bytes = field(default=b"", repr=False)  # of all coins of the round
    advert: bytes = b""  # the body of its advertisement
    roll_hash: bytes = b""  # of the announcement and the roll
    packed_threshold: bytes = b""
    roll: bytes = b""  # the numbers of the clients on it, four bytes each
    prints: bytes = b""  # fingerprints, of everybody on the roll
    chosen: bytes = b""  # its neighbours, one bit per client on the roll
    sealed: ByClient = field(default_factory=dict)  # box and marks, for those it chose
    mask_keys: ByClient = field(default_factory=dict)  # of those it chose; later also of those who chose it
    holders: ByClient = field(default_factory=dict, repr=False)  # keys for word and consent, with those it chose
    dealers: ByClient = field(default_factory=dict, repr=False)  # the same, with those who chose it
    held: ByClient = field(default_factory=dict, repr=False)  # both shares of those who chose it
    sharing: bytes = b""
    survivors: bytes = b""

    def encode(self) -> bytes:
        parts = [write_entries(getattr(self, name)) if name in ENTRIES else getattr(self, name) for name in PARTS]
        return SHAPE.pack(self.stage, *map(len, parts)) + b"".join(parts)

    @classmethod
    def decode(cls, data: bytes) -> "State":
        if not data:
            return cls()
        if len(data) < SHAPE.size:
            raise Malformed("a stored state is not one that a client stores")
        stage, *sizes = SHAPE.unpack_from(data)
        ends = list(accumulate(sizes, initial=SHAPE.size))
        if (
            stage not in STAGES
            or ends[-1] != len(data)
            or not are_possible(Stage(stage), dict(zip(PARTS, sizes, strict=True)))
        ):
            raise Malformed("a stored state is not one that a client stores")
        parts: dict[str, Any] = {name: data[lo:hi] for name, (lo, hi) in zip(PARTS, pairwise(ends), strict=True)}
        state = cls(Stage(stage), **parts | {name: read_entries(parts[name], size) for name, size in ENTRIES.items()})
        if not state.is_whole():
            raise Malformed("a stored state is not one that a client stores")
        return state

    def is_whole(self) -> bool:
        """The checks that need more than sizes."""
        on_roll = len(self.roll) // U32.size
        if self.held.keys() != self.dealers.keys():
            return False
        if any(bits and not is_bitmap(bits, on_roll) for bits in (self.chosen, self.sharing, self.survivors)):
            return False
        if self.announced:
            self.announcement  # noqa: B018 - raises Malformed
        ledger = self.record  # may raise Malformed
        if self.stage > Stage.ADVERTISED and ledger.finished == ledger.begun:  # this round is not finished
            return False
        return not self.packed_threshold or 1 <= self.threshold <= int.from_bytes(self.chosen, "little").bit_count()

    @cached_property
    def announcement(self) -> Announcement:
        return Announcement.decode(self.announced)

    @cached_property
    def record(self) -> Ledger:
        return Ledger.decode(self.ledger)

    @cached_property
    def order(self) -> Ids:
        """The clients on the roll."""
        return numbers(self.roll)

    def fingerprint(self, place: int) -> bytes:
        """The fingerprint at a place of the roll."""
        return self.prints[place * FINGERPRINT : (place + 1) * FINGERPRINT]

    def places(self, clients: list[int]) -> list[int]:
        """The places of these clients on the roll; −1 for those who are not on it."""
        order = self.order
        found = np.minimum(np.searchsorted(order, clients), len(order) - 1)
        return list(np.where(order[found] == clients, found, -1).tolist())

    @property
    def threshold(self) -> int:
        """How many neighbours can reconstruct a secret."""
        return int(U32.unpack(self.packed_threshold)[0])

    @property
    def channel_key(self) -> bytes:
        return self.advert[:KEY]

    @property
    def mask_key(self) -> bytes:
        return self.advert[KEY : 2 * KEY]

    @property
    def shares(self) -> dict[int, tuple[bytes, bytes]]:
        """The shares it holds, by owner: of the own mask's seed, and of the mask key's."""
        return {one: (both[:SHARE], both[SHARE:]) for one, both in self.held.items()}


def are_possible(stage: Stage, sizes: dict[str, int]) -> bool:
    """Whether every part that the stage needs is there, and every part has a possible size."""
    return (
        all(sizes[name] for name in NEEDED[stage])
        and all(sizes[name] in (0, size) for name, size in SIZES.items())
        and not any(sizes[name] % size for name, size in MULTIPLES.items())
        and sizes["prints"] // FINGERPRINT in (0, sizes["roll"] // U32.size)
    )


STAGES = {int(stage) for stage in Stage}
PARTS = list(State.__dataclass_fields__)[1:]
SHAPE = Struct(f"<B{len(PARTS)}I")  # the stage, and how long each part is
SIZES = {
    "seed": SEED,
    "advert": Advertisement.SIZE,
    "roll_hash": DIGEST,
    "packed_threshold": U32.size,
}
ENTRIES = {
    "sealed": BOX + MARKS,
    "mask_keys": KEY,
    "holders": 2 * CHECK,
    "dealers": 2 * CHECK,
    "held": CONTENT,
}
MULTIPLES = {"roll": U32.size, "prints": FINGERPRINT, **{name: U32.size + size for name, size in ENTRIES.items()}}
BEGUN = ["announced", "seed", "advert"]
ROLL = ["roll_hash", "packed_threshold", "roll", "chosen"]
NEEDED = {
    Stage.IDLE: [],
    Stage.ADVERTISED: BEGUN,
    Stage.CHOSE: [*BEGUN, *ROLL, "prints"],
    Stage.SHARED: [*BEGUN, *ROLL, "prints", "sealed", "mask_keys", "holders"],
    Stage.CHECKED: [*BEGUN, *ROLL, "sealed", "mask_keys", "holders"],
    Stage.ANSWERED: [*BEGUN, *ROLL, "mask_keys", "holders"],
    Stage.MASKED: ["announced", *ROLL, "holders", "sharing"],
    Stage.CONSENTED: ["announced", *ROLL, "holders", "sharing", "survivors"],
}
