"""What a client remembers between two messages, as bytes. What it no longer needs is forgotten at once."""

from dataclasses import dataclass, field
from enum import IntEnum

from folkmoot.secagg.keys import FINGERPRINT
from folkmoot.secagg.messages import SHARE, Announcement
from folkmoot.secagg.primitives import DIGEST, KEY, SEED
from folkmoot.secagg.wire import U8, U32, Malformed, Reader, bitmap_size, marked, numbers
from folkmoot.sets import Ids

HELD = U32.size + 2 * SHARE


class Stage(IntEnum):
    """What the client did last."""

    IDLE = 0
    ADVERTISED = 1
    CHOSE = 2
    SHARED = 3
    MASKED = 4
    CONSENTED = 5


@dataclass(frozen=True)
class State:
    """Empty where there is nothing to remember. Idle, it still knows its last round, which it will not run again."""

    stage: Stage = Stage.IDLE
    announced: bytes = b""  # the round it is in, or was in last
    channel_seed: bytes = field(default=b"", repr=False)
    mask_seed: bytes = field(default=b"", repr=False)
    own_seed: bytes = field(default=b"", repr=False)
    fingerprint: bytes = b""  # of its advertisement
    said: bytes = b""
    threshold: bytes = b""
    roll: bytes = b""  # who is on it, four bytes each
    prints: bytes = b""  # of all on the roll
    chosen: bytes = b""  # neighbours, a bit for each of the roll
    mask_keys: bytes = b""  # of the neighbours
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
        try:
            reader = Reader(data)
            stage = reader.number(U8)
            parts = {name: reader.take(reader.count(1, len(data))) for name in PARTS}
            reader.end()
        except Malformed:
            raise Malformed("a stored state is not one that a client stores") from None
        state = cls(Stage(stage) if stage in list(Stage) else Stage.IDLE, **parts)
        if state.stage != stage or not state.is_whole():
            raise Malformed("a stored state is not one that a client stores")
        return state

    def is_whole(self) -> bool:
        """Every part there that the stage needs, each of a size that it can have."""
        sizes = {name: len(getattr(self, name)) for name in PARTS}
        on_roll = sizes["roll"] // U32.size
        if not all(sizes[name] for name in NEEDED[self.stage]):
            return False
        if any(sizes[name] not in (0, size) for name, size in SIZES.items()):
            return False
        if any(sizes[name] % size for name, size in MULTIPLES.items()):
            return False
        if any(sizes[name] not in (0, bitmap_size(on_roll)) for name in ("chosen", "sharing", "survivors")):
            return False
        if self.announced:
            self.announcement  # noqa: B018 - malformed, if it is
        for bits in (self.chosen, self.sharing, self.survivors):
            if bits:
                marked(bits, self.order)
        if sizes["prints"] // FINGERPRINT not in (0, on_roll):
            return False
        if self.threshold and not 1 <= self.needed <= len(marked(self.chosen, self.order)):
            return False
        return not self.mask_keys or sizes["mask_keys"] // KEY == len(marked(self.chosen, self.order))

    @property
    def announcement(self) -> Announcement:
        return Announcement.decode(self.announced)

    @property
    def order(self) -> Ids:
        """Who is on the roll."""
        return numbers(self.roll)

    @property
    def fingerprints(self) -> dict[int, bytes]:
        parts = (self.prints[at : at + FINGERPRINT] for at in range(0, len(self.prints), FINGERPRINT))
        return dict(zip(self.order.tolist(), parts, strict=True))

    @property
    def needed(self) -> int:
        """The threshold."""
        return int(U32.unpack(self.threshold)[0])

    @property
    def neighbours(self) -> dict[int, bytes]:
        """The mask keys of those it chose."""
        keys = (self.mask_keys[at : at + KEY] for at in range(0, len(self.mask_keys), KEY))
        return dict(zip(sorted(marked(self.chosen, self.order)), keys, strict=True))

    @property
    def shares(self) -> dict[int, tuple[bytes, bytes]]:
        """Of others: of the seed of its own mask, and of its mask key's."""
        entries = (self.held[at : at + HELD] for at in range(0, len(self.held), HELD))
        return {U32.unpack_from(one)[0]: (one[U32.size : -SHARE], one[-SHARE:]) for one in entries}


PARTS = list(State.__dataclass_fields__)[1:]
SIZES = {
    **dict.fromkeys(("channel_seed", "mask_seed", "own_seed"), SEED),
    "fingerprint": FINGERPRINT,
    "said": DIGEST,
    "threshold": U32.size,
}
MULTIPLES = {"roll": U32.size, "prints": FINGERPRINT, "mask_keys": KEY, "held": HELD}
SEEDS = ["channel_seed", "mask_seed", "own_seed", "fingerprint"]
ROLL = ["said", "threshold", "roll", "chosen"]
NEEDED = {
    Stage.IDLE: [],
    Stage.ADVERTISED: ["announced", *SEEDS],
    Stage.CHOSE: ["announced", *SEEDS, *ROLL, "prints"],
    Stage.SHARED: ["announced", *SEEDS, *ROLL, "prints", "mask_keys"],
    Stage.MASKED: ["announced", *ROLL, "sharing"],
    Stage.CONSENTED: ["announced", *ROLL, "sharing", "survivors"],
}
