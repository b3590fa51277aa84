"""What a client remembers between two messages, as bytes. What it no longer needs is forgotten at once."""

from dataclasses import dataclass, field
from enum import IntEnum

import numpy as np

from folkmoot.secagg.messages import SHARE, Announcement
from folkmoot.secagg.primitives import DIGEST, KEY, SEED
from folkmoot.secagg.wire import U8, U32, Malformed, Numbers, Reader

CHOSEN, HELD = U32.size + KEY, U32.size + 2 * SHARE


class Stage(IntEnum):
    """What the client did last."""

    IDLE = 0
    ADVERTISED = 1
    SHARED = 2
    MASKED = 3
    CONSENTED = 4


@dataclass(frozen=True)
class State:
    """Empty where there is nothing to remember. Idle, it still knows its last round, which it will not run again."""

    stage: Stage = Stage.IDLE
    announced: bytes = b""  # the round it is in, or was in last
    channel_seed: bytes = field(default=b"", repr=False)
    mask_seed: bytes = field(default=b"", repr=False)
    own_seed: bytes = field(default=b"", repr=False)
    said: bytes = b""
    threshold: bytes = b""
    roll: bytes = b""  # who is on it, four bytes each
    chosen: bytes = b""  # neighbours: number and mask key
    sharing: bytes = b""
    held: bytes = field(default=b"", repr=False)  # number, share of its own seed, share of its mask seed
    survivors: bytes = b""

    def encode(self) -> bytes:
        parts = [getattr(self, name) for name in PARTS]
        return U8.pack(self.stage) + b"".join(U32.pack(len(part)) + part for part in parts)

    @classmethod
    def decode(cls, data: bytes) -> "State":
        if not data:
            return cls()
        reader = Reader(data)
        stage = reader.number(U8)
        parts = {name: reader.take(reader.count(1, len(data))) for name in PARTS}
        reader.end()
        fits = all(len(parts[name]) in sizes for name, sizes in SIZES.items())
        fits = fits and not any(len(parts[name]) % size for name, size in MULTIPLES.items())
        if stage not in list(Stage) or not fits or any(not parts[name] for name in NEEDED[Stage(stage)]):
            raise Malformed("a stored state is not one that a client stores")
        if parts["announced"]:
            Announcement.decode(parts["announced"])
        return cls(Stage(stage), **parts)

    @property
    def announcement(self) -> Announcement:
        return Announcement.decode(self.announced)

    @property
    def order(self) -> Numbers:
        """Who is on the roll."""
        return np.frombuffer(self.roll, dtype="<u4").astype(np.int64)

    @property
    def neighbours(self) -> dict[int, bytes]:
        """The mask keys of those it chose."""
        return {one: entry[U32.size :] for one, entry in entries(self.chosen, CHOSEN)}

    @property
    def shares(self) -> dict[int, tuple[bytes, bytes]]:
        """Of others: of the seed of its own mask, and of its mask key's."""
        parts = {one: entry[U32.size :] for one, entry in entries(self.held, HELD)}
        return {one: (both[:SHARE], both[SHARE:]) for one, both in parts.items()}


def entries(data: bytes, size: int) -> list[tuple[int, bytes]]:
    return [(int(U32.unpack_from(data, at)[0]), data[at : at + size]) for at in range(0, len(data), size)]


PARTS = list(State.__dataclass_fields__)[1:]
SIZES = {
    **dict.fromkeys(("channel_seed", "mask_seed", "own_seed"), (0, SEED)),
    "said": (0, DIGEST),
    "threshold": (0, U32.size),
}
MULTIPLES = {"roll": U32.size, "chosen": CHOSEN, "held": HELD}
SEEDS = ["channel_seed", "mask_seed", "own_seed"]
ROLL = ["said", "threshold", "roll", "chosen"]
NEEDED = {
    Stage.IDLE: [],
    Stage.ADVERTISED: ["announced", *SEEDS],
    Stage.SHARED: ["announced", *SEEDS, *ROLL],
    Stage.MASKED: ["announced", *ROLL, "sharing"],
    Stage.CONSENTED: ["announced", *ROLL, "sharing", "survivors"],
}
