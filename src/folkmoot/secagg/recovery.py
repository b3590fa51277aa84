"""Seeds from the shares that came back. Every share is checked by itself; wrong ones are left out."""

from dataclasses import dataclass

import numpy as np

from folkmoot.secagg import shamir
from folkmoot.secagg.dealing import MARK, MASKING, OWN, SHARE, are_on_lines, mark_of
from folkmoot.secagg.faults import AggregationFailed, Fault
from folkmoot.secagg.keys import mask_private, own_digest
from folkmoot.secagg.messages import BOX, Advertisement
from folkmoot.secagg.primitives import SEED, public_of


@dataclass(frozen=True)
class Dealer:
    """What the server knows about a dealing: boxes, marks and values of the lines by holder; and the challenge."""

    sealed: dict[int, bytes]  # boxes with their marks
    values: dict[int, bytes]
    challenge: int


class Recovery:
    """Reconstructs seeds. `given`: the shares that came back, by holder. `shown`: by owner and holder, both shares that
    the owner showed in answer to a complaint. Clients that returned or dealt something else are added to `excluded`.
    A seed that is not what its client committed to is empty: `check` then names all such clients together.
    """

    def __init__(
        self,
        roll_hash: bytes,
        threshold: int,
        adverts: dict[int, Advertisement],
        digests: dict[int, bytes],
        dealers: dict[int, Dealer],
        given: dict[int, dict[int, bytes]],
        shown: dict[int, dict[int, bytes]],
        excluded: dict[int, Fault],
    ) -> None:
        self.roll_hash, self.threshold, self.adverts, self.digests = roll_hash, threshold, adverts, digests
        self.dealers, self.given, self.shown, self.excluded = dealers, given, shown, excluded

    def own_seed(self, owner: int) -> bytes:
        """The seed of an own mask; it must match what its client committed to."""
        seed = self._seed(owner, OWN)
        if seed is None or own_digest(seed) != self.digests[owner]:
            return self._note_other_secret(owner)
        return seed

    def mask_seed(self, owner: int) -> bytes:
        """The seed of a mask key; it must match the public key."""
        seed = self._seed(owner, MASKING)
        if seed is None or public_of(mask_private(seed)) != self.adverts[owner].mask_key:
            return self._note_other_secret(owner)
        return seed

    def _note_other_secret(self, owner: int) -> bytes:
        self.excluded[owner] = Fault.SECRET
        return b""

    def check(self) -> None:
        """Refuse a sum that needs the secret of a client that dealt another."""
        liars = [owner for owner, fault in sorted(self.excluded.items()) if fault is Fault.SECRET]
        if liars:
            who = f"client {liars[0]}" if len(liars) == 1 else f"clients {', '.join(map(str, liars))}"
            why = f"{who} dealt shares of a secret that is not {'its' if len(liars) == 1 else 'their'} own"
            raise AggregationFailed(why, self.excluded, answered=True)

    def _seed(self, owner: int, which: int) -> bytes | None:
        dealer, shown = self.dealers[owner], self.shown.get(owner, {})
        places, shares, values = list[int](), list[bytes](), list[bytes]()
        at_mark, at_value = slice(BOX + which * MARK, BOX + (which + 1) * MARK), slice(8 * which, 8 * which + 8)
        for place, (holder, sealed) in enumerate(dealer.sealed.items(), start=1):
            if holder in shown:
                share = shown[holder][which * SHARE : (which + 1) * SHARE]
            elif owner in self.given.get(holder, ()):
                share = self.given[holder][owner]
            else:
                continue
            if mark_of(which, self.roll_hash, owner, holder, share) != sealed[at_mark]:
                self.excluded[holder] = Fault.SHARE
                continue
            places.append(place)
            shares.append(share)
            values.append(dealer.values[holder][at_value])
        fits = are_on_lines(shares, [dealer.challenge] * len(shares), values)
        found = np.flatnonzero(fits)[: self.threshold]  # one that misses its line was dealt to an accomplice
        if len(found) < self.threshold:
            why = f"{len(found)} shares of client {owner}'s secret came back; {self.threshold} are needed"
            raise AggregationFailed(why, self.excluded, answered=True)
        limbs = shamir.from_bytes(shares)[found, :-1]
        return shamir.combine(np.array(places)[found], limbs, SEED)
