"""Seeds from the shares that came back. What is recovered must be what was committed to; wrong shares are left out."""

from collections.abc import Callable

import numpy as np

from folkmoot.errors import FolkmootError
from folkmoot.secagg import shamir
from folkmoot.secagg.correction import at, polynomial_through
from folkmoot.secagg.keys import commitment, mask_pair
from folkmoot.secagg.messages import Advertisement
from folkmoot.secagg.primitives import SEED


class Unrecoverable(FolkmootError):
    """Too few right shares of a seed came back."""


class Recovery:
    """`held`: by holder, the shares that it gave. A holder stands at the point that its place among the owner's
    neighbours gives it, whatever it says. Holders found to lie are asked last from then on.
    """

    def __init__(
        self,
        announced: bytes,
        threshold: int,
        adverts: dict[int, Advertisement],
        boxes: dict[int, dict[int, bytes]],
        held: dict[int, dict[int, bytes]],
    ) -> None:
        self.announced, self.threshold, self.adverts = announced, threshold, adverts
        self.boxes, self.held = boxes, held
        self.liars: set[int] = set()

    def own_seed(self, owner: int) -> bytes:
        """Of an own mask; it must match its commitment."""
        committed = self.adverts[owner].commitment
        return self._seed(owner, lambda seed: commitment(self.announced, owner, seed) == committed)

    def mask_seed(self, owner: int) -> bytes:
        """Of a mask key; it must match the public key."""
        public = self.adverts[owner].mask_key
        return self._seed(owner, lambda seed: mask_pair(seed)[1] == public)

    def _seed(self, owner: int, fits: Callable[[bytes], bool]) -> bytes:
        places = [
            (holder in self.liars, place, holder)
            for place, holder in enumerate(sorted(self.boxes[owner]), start=1)
            if owner in self.held.get(holder, ())
        ]
        if len(places) < self.threshold:
            raise Unrecoverable(
                f"{len(places)} shares of client {owner}'s secret came back; {self.threshold} are needed"
            )
        places.sort()
        points = np.array([place for _, place, _ in places])
        shares = shamir.from_bytes([self.held[holder][owner] for _, _, holder in places])
        first = slice(self.threshold)
        seed = shamir.combine(points[first], shares[first], SEED)
        if seed is not None and fits(seed):
            return seed
        lines = [polynomial_through(points.tolist(), limb.tolist(), self.threshold) for limb in shares.T]
        found = [line for line in lines if line is not None]
        if len(found) == len(lines):
            seed = shamir.from_limbs(np.array([at(line, 0) for line in found], dtype=np.uint64), SEED)
            if seed is not None and fits(seed):
                for (_, place, holder), share in zip(places, shares, strict=True):
                    if any(at(line, place) != limb for line, limb in zip(found, share.tolist(), strict=True)):
                        self.liars.add(holder)
                return seed
        raise Unrecoverable(f"the shares of client {owner}'s secret do not bring it back")
