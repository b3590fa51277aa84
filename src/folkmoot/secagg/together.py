"""All parties of a round in one process: every byte of the protocol, no network. For tests and for simulation."""

import os
from collections.abc import Callable, Mapping

from folkmoot.kernels import on_threads
from folkmoot.secagg.client import Member, Random, Refused, step
from folkmoot.secagg.masks import Words
from folkmoot.secagg.messages import Announcement
from folkmoot.secagg.server import Aggregate, serve

STAGES = ("keys", "shares", "vector", "consent", "unmasking")
Vectors = Callable[[int], Words]  # from a client's number
Drops = Callable[[str, int], bool]  # of (stage, client): whether its message is lost


def nobody(stage: str, client: int) -> bool:
    return False


def aggregate(
    announcement: Announcement,
    members: Mapping[int, Member],
    vectors: Vectors,
    drops: Drops = nobody,
    random: Random = os.urandom,
) -> Aggregate:
    """Lead a round with these members; a client whose message is lost stays away from then on."""
    roster = next(iter(members.values())).roster
    server = serve(announcement, roster, sorted(members))
    states = dict.fromkeys(members, b"")
    outbox = next(server)
    for stage in STAGES:
        there = [client for client in outbox if not drops(stage, client)]
        replies: dict[int, bytes] = {}

        def one(
            lo: int, hi: int, stage: str = stage, there: list[int] = there, outbox: dict[int, bytes] = outbox
        ) -> None:
            for client in there[lo:hi]:
                vector = vectors(client) if stage == "vector" else None
                try:
                    states[client], replies[client] = step(
                        members[client], states[client], outbox[client], random, vector
                    )
                except Refused:
                    continue  # a client that refuses is silent

        size = max(len(there) // 16, 1)
        on_threads(one, [(at, min(at + size, len(there))) for at in range(0, len(there), size)])
        try:
            outbox = server.send(replies)
        except StopIteration as end:
            result: Aggregate = end.value
            return result
    raise AssertionError("the server asks for more stages than there are")
