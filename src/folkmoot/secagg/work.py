"""What a client computes for each of its neighbours; many clients in one process compute it once per pair."""

from collections.abc import Iterable

from folkmoot.foundation.kernels import run_on_threads
from folkmoot.secagg.dealing import MARKS, mark
from folkmoot.secagg.keys import fingerprint, keys_in
from folkmoot.secagg.primitives import KEY, SIGNATURE, agree, is_signed, keyed_hash, seal, unseal
from folkmoot.secagg.wire import U32

AT_ONCE = 64  # key agreements per task of a thread


class Work:
    """The computations of a single client."""

    def fingerprint(self, announced: bytes, identity: bytes, client: int, body: bytes) -> bytes | None:
        """The fingerprint of an advertisement's body; None if its client did not sign it for this round."""
        content, signature = body[:-SIGNATURE], body[-SIGNATURE:]
        keys, commitment = (content[:KEY], content[KEY : 2 * KEY]), content[2 * KEY :]
        if not is_signed(identity, signature, "advertisement", announced, U32.pack(client), *keys, commitment):
            return None
        return fingerprint(client, keys_in(body))

    def secret(self, private: bytes, mine: bytes, theirs: bytes) -> bytes | None:  # noqa: ARG002 - subclasses use it
        """The secret shared by a private key (whose public key is `mine`) and another's public key; None if bad."""
        return agree(private, theirs)

    def keys(self, secret: bytes, purpose: bytes, size: int) -> bytes:
        """Keys from a shared secret."""
        return keyed_hash(secret, purpose, size)

    def mark_box(self, key: bytes, content: bytes, roll_hash: bytes, dealer: int, holder: int) -> bytes:
        """What a holder is dealt: a box for it alone, and marks."""
        return seal(key, content, roll_hash) + mark(roll_hash, dealer, holder, content)

    def content(self, key: bytes, marked_box: bytes, roll_hash: bytes, dealer: int, holder: int) -> bytes | None:
        """The content of a box; None if it does not open, or does not match its marks."""
        content = unseal(key, marked_box[:-MARKS], roll_hash)
        return (
            content if content is not None and mark(roll_hash, dealer, holder, content) == marked_box[-MARKS:] else None
        )


class SharedWork(Work):
    """Computes everything once for all clients. For simulations only: this object knows everybody's secrets."""

    def __init__(self) -> None:
        self._prints: dict[tuple[bytes, int, bytes], bytes | None] = {}
        self._secrets: dict[bytes, bytes | None] = {}
        self._keys: dict[bytes, bytes] = {}
        self._contents: dict[tuple[bytes, bytes, bytes, int, int], bytes] = {}

    def agree(self, ends: Iterable[tuple[bytes, bytes, bytes]]) -> None:
        """Shared secrets of (private key, its public key, another's public key): once per pair, in threads."""
        wanted = {pair_of(mine, theirs): (private, theirs) for private, mine, theirs in ends}
        missing = [(pair, *ends) for pair, ends in wanted.items() if pair not in self._secrets]

        def some(lo: int, hi: int) -> None:
            for pair, private, theirs in missing[lo:hi]:
                self._secrets[pair] = agree(private, theirs)

        run_on_threads(some, [(at, min(at + AT_ONCE, len(missing))) for at in range(0, len(missing), AT_ONCE)])

    def fingerprint(self, announced: bytes, identity: bytes, client: int, body: bytes) -> bytes | None:
        name = announced, client, body
        if name not in self._prints:
            self._prints[name] = super().fingerprint(announced, identity, client, body)
        return self._prints[name]

    def secret(self, private: bytes, mine: bytes, theirs: bytes) -> bytes | None:
        pair = pair_of(mine, theirs)
        if pair not in self._secrets:
            self._secrets[pair] = super().secret(private, mine, theirs)
        return self._secrets[pair]

    def keys(self, secret: bytes, purpose: bytes, size: int) -> bytes:
        name = secret + purpose
        if name not in self._keys:
            self._keys[name] = super().keys(secret, purpose, size)
        return self._keys[name]

    def mark_box(self, key: bytes, content: bytes, roll_hash: bytes, dealer: int, holder: int) -> bytes:
        box = super().mark_box(key, content, roll_hash, dealer, holder)
        self._contents[key, box, roll_hash, dealer, holder] = content
        return box

    def content(self, key: bytes, marked_box: bytes, roll_hash: bytes, dealer: int, holder: int) -> bytes | None:
        known = self._contents.get((key, marked_box, roll_hash, dealer, holder))
        return super().content(key, marked_box, roll_hash, dealer, holder) if known is None else known

    def forget(self) -> None:
        """Forget all shared secrets, and what was derived from them."""
        self._secrets.clear()
        self._keys.clear()
        self._contents.clear()


def pair_of(one: bytes, other: bytes) -> bytes:
    return one + other if one < other else other + one
