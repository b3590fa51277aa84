"""A round from its first message to its sum: led over any exchange of messages, or with all clients in one process.

No network, no files, no clock: those belong to the exchange.
"""

from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from folkmoot.foundation.errors import FolkmootError
from folkmoot.foundation.kernels import run_on_threads
from folkmoot.foundation.randomness import SYSTEM
from folkmoot.secagg.client import Answer, Random, Refused, Turn, take
from folkmoot.secagg.keys import channel_private, mask_private, mask_seed
from folkmoot.secagg.member import Member, Policy, Roster
from folkmoot.secagg.messages import Announcement, Neighbours, kind_of
from folkmoot.secagg.primitives import KEY
from folkmoot.secagg.server import Aggregate, Inbox, Outbox, serve
from folkmoot.secagg.state import State
from folkmoot.secagg.wire import Malformed
from folkmoot.secagg.work import SharedWork, Work

STAGES = ("keys", "choice", "shares", "receipt", "vector", "consent", "unmasking")
ANSWERS = "answers"  # an exchange with those of whom somebody complained, between receipt and vector
NAMES = dict(zip((1, 3, 5, 7, 9, 11, 13, 15), (*STAGES[:4], ANSWERS, *STAGES[4:]), strict=True))  # by kind of message
FORGETTING = ("receipt", "vector")  # after these nothing that two agreed on is needed again
PLACES = {ANSWERS: STAGES.index("vector")} | {stage: place for place, stage in enumerate(STAGES)}
LONG = 1 << 15  # numbers from which on clients work in threads: with fewer they only wait for each other's lock
Answers = Callable[[int], Answer]  # from a client's number
Drops = Callable[[str, int], bool]  # of (stage, client): whether it is gone before it answers
Watch = Callable[[str, int, bytes, bytes], None]  # of (stage, client, received, sent)
ByClient = Callable[[dict[int, bytes]], Mapping[int, bytes]]  # what clients are sent, what they reply
Begin = Callable[[str, int], bool]  # of (stage, its place among the stages): whether there is time left for it


def members_of(identities: Mapping[int, Ed25519PrivateKey], policy: Policy) -> dict[int, Member]:
    """Clients that know each other, all on the same terms."""
    roster = Roster({client: key.public_key().public_bytes_raw() for client, key in identities.items()})
    return {client: Member(client, key, roster, policy) for client, key in identities.items()}


@dataclass
class Meter:
    """Bytes of the messages to and from clients, and how many clients replied to the last of them."""

    down: int = 0
    up: int = 0
    present: int = 0

    def count(self, outbox: Mapping[int, bytes], inbox: Mapping[int, bytes]) -> None:
        self.down += sum(map(len, outbox.values()))
        self.up += sum(map(len, inbox.values()))
        self.present = len(inbox)


def lead(
    server: Generator[Outbox, Inbox, Aggregate],
    exchange: ByClient,
    begin: Begin | None = None,
    watch: Watch | None = None,
    meter: Meter | None = None,
) -> Aggregate:
    """A round: what the server sends goes out, what clients reply comes back, until there is a sum.

    Whoever is missing from a reply has dropped out. `begin` is called before each exchange; once it says that there is
    no time left, nobody is asked any more, and the round fails as if everyone had dropped out.
    """
    meter = Meter() if meter is None else meter
    outbox = next(server)
    while True:
        stage = stage_of(outbox)
        in_time = begin is None or begin(stage, PLACES[stage])
        replies = dict(exchange(outbox)) if in_time and outbox else {}
        meter.count(outbox if in_time else {}, replies)
        if watch is not None:
            for client, reply in replies.items():
                watch(stage, client, outbox[client], reply)
        try:
            outbox = server.send(replies)
        except StopIteration as end:
            result: Aggregate = end.value
            return result


def aggregate(
    announcement: Announcement,
    members: Mapping[int, Member],
    answers: Answers,
    drops: Drops | None = None,
    watch: Watch | None = None,
    random: Random = SYSTEM,
    states: dict[int, State] | None = None,
) -> Aggregate:
    """Lead a round with these members; a client that is gone once stays away. `states` are what they have stored."""
    first = next(iter(members.values()))
    stored = dict.fromkeys(members, State()) if states is None else states
    work = SharedWork()

    def exchange(outbox: dict[int, bytes]) -> dict[int, bytes]:
        stage = stage_of(outbox)
        there = {client: sent for client, sent in outbox.items() if drops is None or not drops(stage, client)}
        work.agree(ends_of(stage, stored, there))
        replies = exchange_in_process(members, stored, there, answers, random, work, in_turn=announcement.words < LONG)
        if stage in FORGETTING:
            work.forget()
        return replies

    return lead(serve(announcement, first.roster, sorted(members), first.policy), exchange, watch=watch)


def ends_of(
    stage: str, states: Mapping[int, State], outbox: Mapping[int, bytes]
) -> Iterator[tuple[bytes, bytes, bytes]]:
    """The keys that clients are about to agree with: their own private and public, and another's."""
    for client, message in outbox.items() if stage in ("shares", "vector") else ():
        state = states[client]
        if stage == "shares":
            bodies = Neighbours.decode(message, len(state.order)).adverts.values()
            private, mine, others = channel_private(state.seed), state.channel_key, [body[:KEY] for body in bodies]
        else:
            private, mine = mask_private(mask_seed(state.seed)), state.mask_key
            others = [key for key in state.mask_keys.values() if mine < key]  # the other end has them, too
        for other in others:
            yield private, mine, other


def stage_of(outbox: Mapping[int, bytes]) -> str:
    """The exchange that these messages begin; none is left where nobody is."""
    return NAMES[kind_of(next(iter(outbox.values())))] if outbox else STAGES[-1]


def ignore(client: int, why: FolkmootError) -> None:
    """A refusal that nobody looks at."""


def exchange_in_process(
    members: Mapping[int, Member],
    states: dict[int, State],
    inbox: dict[int, bytes],
    answers: Answers,
    random: Random,
    work: Work,
    in_turn: bool = False,
    refused: Callable[[int, FolkmootError], None] = ignore,
) -> dict[int, bytes]:
    """One exchange, clients in threads or in turn. Who refuses is silent; `refused` hears why."""
    clients = list(inbox)
    replies: dict[int, bytes] = {}

    def some(lo: int, hi: int) -> None:
        for client in clients[lo:hi]:
            try:
                turn = Turn(members[client], states[client], inbox[client], answers(client), random, work)
                states[client], replies[client] = take(turn)
            except (Refused, Malformed) as why:
                refused(client, why)

    if in_turn:
        some(0, len(clients))
    else:
        run_on_threads(some, [(at, at + 1) for at in range(len(clients))])
    return replies
