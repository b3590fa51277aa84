"""All parties of a round in one process: every byte of the protocol, no network. For tests and for simulation."""

import os
from collections.abc import Callable, Mapping

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from folkmoot.kernels import on_threads
from folkmoot.secagg.client import Answer, Random, Refused, step
from folkmoot.secagg.member import Member, Policy, Roster
from folkmoot.secagg.messages import Announcement
from folkmoot.secagg.server import Aggregate, serve

STAGES = ("keys", "choice", "shares", "vector", "consent", "unmasking")
Answers = Callable[[int], Answer]  # from a client's number
Drops = Callable[[str, int], bool]  # of (stage, client): whether it is gone before it answers
Watch = Callable[[str, int, bytes, bytes], None]  # of (stage, client, received, sent)


def members_of(identities: Mapping[int, Ed25519PrivateKey], policy: Policy) -> dict[int, Member]:
    """Clients that know each other, all on the same terms."""
    roster = Roster({client: key.public_key().public_bytes_raw() for client, key in identities.items()})
    return {client: Member(client, key, roster, policy) for client, key in identities.items()}


def aggregate(
    announcement: Announcement,
    members: Mapping[int, Member],
    answers: Answers,
    drops: Drops | None = None,
    watch: Watch | None = None,
    random: Random = os.urandom,
) -> Aggregate:
    """Lead a round with these members; a client that is gone once stays away."""
    first = next(iter(members.values()))
    server = serve(announcement, first.roster, sorted(members), first.policy)
    states = dict.fromkeys(members, b"")
    outbox = next(server)
    stages = iter(STAGES)
    while True:
        stage = next(stages)
        there = [client for client in outbox if drops is None or not drops(stage, client)]
        replies = answered(members, states, {client: outbox[client] for client in there}, answers, random)
        if watch is not None:
            for client, reply in replies.items():
                watch(stage, client, outbox[client], reply)
        try:
            outbox = server.send(replies)
        except StopIteration as end:
            result: Aggregate = end.value
            return result


def answered(
    members: Mapping[int, Member],
    states: dict[int, bytes],
    inbox: dict[int, bytes],
    answers: Answers,
    random: Random,
) -> dict[int, bytes]:
    """One exchange, clients in threads; who refuses is silent."""
    clients = list(inbox)
    replies: dict[int, bytes] = {}

    def some(lo: int, hi: int) -> None:
        for client in clients[lo:hi]:
            try:
                states[client], replies[client] = step(
                    members[client], states[client], inbox[client], answers(client), random
                )
            except Refused:
                continue

    on_threads(some, [(at, at + 1) for at in range(len(clients))])
    return replies
