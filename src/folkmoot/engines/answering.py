"""A question as a party sees it: read from bytes, checked, and answered from the data of its own clients."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from struct import Struct
from typing import Any

import numpy as np

from folkmoot.conversation.codec import digest_of, pack, unpack
from folkmoot.conversation.rounds import Ask, find_coins
from folkmoot.engines.exchange import Bundle
from folkmoot.foundation.coins import PublicCoins
from folkmoot.foundation.errors import InputError
from folkmoot.foundation.private_coins import PrivateCoins
from folkmoot.foundation.registry import find_kinds, name_kind
from folkmoot.foundation.sets import Ids, Mask, Rows
from folkmoot.matroids.matroid import Matroid
from folkmoot.objectives.objective import Objective
from folkmoot.questions.hidden import HiddenQuery
from folkmoot.questions.participation import Participation
from folkmoot.questions.query import Query
from folkmoot.secagg import Announcement, Refused
from folkmoot.secagg.messages import SESSION

TIMES, SPEAKER = Struct("<Q"), Struct("<I")
NOBODY = SPEAKER.pack(2**32 - 1)  # the reply of a client that does not take part
MOST_ROUNDS = 2**32
LONGEST_RUN = 32  # bytes
MOST_TIMES = 2**63 - 1
SMALL, BYTES_PER_ITEM, BYTES_PER_CLIENT = 1 << 22, 1 << 12, 1 << 6  # of a question as text: many sets, a cohort
MANY_PARTS, PARTS_PER_ITEM = 100_000, 64  # elements of lists: groups of a matroid
SHAPELESS = (AttributeError, TypeError, ValueError, KeyError, IndexError, ArithmeticError)


def write_question(ask: Ask, session: bytes, run: bytes = b"") -> bytes:
    """What is sent to all parties: the question, its session, its round and its run."""
    return pack({"query": ask.query, "session": session.hex(), "round": ask.number, **describe_run(run)})


def describe_run(run: bytes) -> dict[str, str]:
    """The run, as it is sent; nothing if it has no name."""
    return {"run": run.hex()} if run else {}


def read_run(asked: Mapping[str, Any]) -> bytes:
    """What was described; raises one of SHAPELESS if it is no run."""
    run = bytes.fromhex(asked.get("run", ""))
    if len(run) > LONGEST_RUN:
        raise ValueError
    return run


def unpack_question(data: bytes, n_items: int, n_clients: int) -> Any:
    """What was sent; how much memory it may take depends on how many items and clients there are."""
    kinds = find_kinds(Query, Matroid, Participation, PublicCoins)
    most, parts = SMALL + BYTES_PER_ITEM * n_items + BYTES_PER_CLIENT * n_clients, MANY_PARTS + PARTS_PER_ITEM * n_items
    return unpack(data, kinds, most_bytes=most, most_items=n_items, most_parts=parts)


def list_kinds(query: Query[Any]) -> list[str]:
    """The kind of a question, and of those it consists of."""
    return [name_kind(type(query)), *(kind for part in query.contained for kind in list_kinds(part))]


def digest_question(query: Query[Any], run: bytes = b"") -> bytes:
    """The digest that clients sign, and answer only once. Without a run, it is that of the query alone.

    It does not include the round or how often clients count: otherwise the same question could be asked again in
    another round, or with other weights, and the difference of the two sums would reveal answers. The round is signed
    as well.
    """
    return bytes.fromhex(digest_of({"query": query, **describe_run(run)} if run else query))


def write_times(ids: Ids, times: Ids) -> dict[int, bytes]:
    """The messages that tell each client how often it counts."""
    return dict(zip(ids.tolist(), map(TIMES.pack, times.tolist()), strict=True))


@dataclass(frozen=True, eq=False)
class Inquiry:
    """A question to some clients of a party."""

    query: Query[Any]
    session: bytes
    round: int
    clients: Objective  # those who answer
    ids: Ids  # their numbers
    times: Ids  # how often each counts
    held: Ids  # the numbers of all clients of the party
    own: PrivateCoins
    run: bytes = b""

    @classmethod
    def read(cls, sent: Bundle, clients: Objective, ids: Ids, n_clients: int, secret: PrivateCoins) -> "Inquiry":
        """What a party with these clients, of `n_clients` in total, was sent; refused if it does not fit them. secret:
        what its clients' coins follow from.
        """
        try:
            asked = unpack_question(sent.question, clients.n_items, n_clients)
            query, session, number = asked["query"], bytes.fromhex(asked["session"]), asked["round"]
            good = isinstance(query, Query) and len(session) == SESSION
            good = good and type(number) is int and 0 <= number < MOST_ROUNDS
            times, run = _read_times(list(sent.letters.values())), read_run(asked)
            if good:
                query.check(clients.n_items, n_clients)
        except InputError as why:
            raise Refused(f"the question cannot be answered: {why}") from None
        except SHAPELESS:
            good = False
        if not good:
            raise Refused(f"no question about {clients.n_items:,} items that says how often each client counts")
        asked_ids = np.array(list(sent.letters), dtype=np.int64)
        order = np.argsort(asked_ids)
        asked_ids, times = asked_ids[order], times[order]
        places = np.minimum(np.searchsorted(ids, asked_ids), len(ids) - 1)
        if not len(asked_ids) or not (ids[places] == asked_ids).all():
            raise Refused("the question is for clients that this party does not hold")
        own = find_coins(secret, query)
        return cls(query, session, number, _select(clients, places), asked_ids, times, ids, own, run)

    @property
    def kind(self) -> str:
        return name_kind(type(self.query))

    @property
    def why(self) -> str:
        return self.kind

    @cached_property
    def digest(self) -> bytes:
        """Of the query alone, in whatever run it is asked."""
        return digest_question(self.query)

    @property
    def cohort(self) -> None:
        """A party sees its own clients only."""

    @property
    def shows_data(self) -> bool:
        """Whether it depends on clients' own data who takes part."""
        who = getattr(self.query, "who", None)
        return self.query.voluntary and not (isinstance(who, Participation) and who.slope == 0)

    def keep(self, mask: Mask) -> "Inquiry":
        """The same question to some of these clients."""
        places = np.flatnonzero(mask)
        some = _select(self.clients, places)
        return replace(self, clients=some, ids=self.ids[places], times=self.times[places])

    def mark_incomplete(self) -> Mask:
        """Which of these clients belong to a group with one speaker that this party does not hold completely."""
        groups = self.query.group_clients()
        if groups is None:
            return np.zeros(len(self.ids), dtype=bool)
        elsewhere = np.delete(np.arange(len(groups)), self.held[self.held < len(groups)])
        unknown = self.ids >= len(groups)
        return np.asarray(unknown | np.isin(groups[np.where(unknown, 0, self.ids)], groups[elsewhere]))

    @cached_property
    def speakers(self) -> Ids:
        """Who speaks for each client."""
        speaking = self.query.speakers(self.ids)
        groups = self.query.group_clients()
        if speaking is None or groups is None:
            return self.ids
        speaker = dict(zip(groups[self.ids[speaking]].tolist(), self.ids[speaking].tolist(), strict=True))
        return np.array([speaker[group] for group in groups[self.ids].tolist()], dtype=np.int64)

    def write_speakers(self) -> dict[int, bytes]:
        """The replies of those who take part: who speaks for each."""
        return dict(zip(self.ids.tolist(), map(SPEAKER.pack, self.speakers.tolist()), strict=True))

    @cached_property
    def rows(self) -> Rows:
        """The answers, one row per client; computed when first needed."""
        if isinstance(self.query, HiddenQuery):
            return self.query.answer_surely(self.clients, self.ids, self.times, self.own)
        return self.query.answers(self.clients, self.ids, self.times, self.own)

    @cached_property
    def places(self) -> dict[int, int]:
        return {client: place for place, client in enumerate(self.ids.tolist())}

    def is_asked(self, client: int) -> bool:
        return client in self.places

    def prepare(self) -> None:
        self.rows  # noqa: B018 - computed once

    def mark_members(self) -> bytes:
        """Those who take part, among all clients of the party."""
        return np.packbits(np.isin(self.held, self.ids, assume_unique=True), bitorder="little").tobytes()

    def find_places(self, speakers: Sequence[int]) -> Ids:
        """Those of them who answer for themselves, among all clients of the party."""
        return np.searchsorted(self.held, np.asarray(speakers, dtype=np.int64))

    def mark_answered(self, before: bytes) -> Mask:
        """Which of these clients are marked."""
        if not before:
            return np.zeros(len(self.ids), dtype=bool)
        marks = np.unpackbits(np.frombuffer(before, dtype=np.uint8), count=len(self.held), bitorder="little")
        return marks[np.searchsorted(self.held, self.ids)].astype(bool)

    @cached_property
    def weights(self) -> Ids:
        """How often each client counts, including those it speaks for; 0 if another client speaks for it."""
        spoken = np.zeros(len(self.ids), dtype=np.int64)
        np.add.at(spoken, np.searchsorted(self.ids, self.speakers), self.times)
        return spoken

    def write_vector(self, client: int) -> Ids:
        """A client's answer before masking: how far each number lies above its lowest possible value."""
        encoding, place = self.query.encoding, self.places[client]
        lowest = encoding.lowest * int(self.weights[place]) - encoding.find_room(1, 1)
        vector = np.full(encoding.length, -lowest, dtype=np.int64)
        span = slice(self.rows.indptr[place], self.rows.indptr[place + 1])
        vector[self.rows.indices[span]] += self.rows.data[span]
        return vector

    def check_round(self, announced: Announcement) -> None:
        """Refuse a round other than the one that this question was sent for."""
        if announced.question != digest_question(self.query, self.run):
            raise Refused("the announced question is not the one that was sent")
        if (announced.session, announced.round) != (self.session, self.round):
            raise Refused("the question was asked for another session or round")

    def check_announcement(self, client: int, announced: Announcement, uneven: bool) -> None:
        """Refuse a round that is not about this question, or has no room for this client's numbers.

        Everyone signs the announcement: if its largest number is exactly this client's, everyone counts as often as
        this client does. Where some count more often, the remainder or the first digits of a sum show one answer.
        """
        self.check_round(announced)
        if client not in self.places or self.speakers[self.places[client]] != client:
            raise Refused("this client was not asked, does not take part, or another client speaks for it")
        encoding, times = self.query.encoding, int(self.times[self.places[client]])
        most = (encoding.limit - encoding.lowest) * times + 2 * encoding.find_room(1, 1)
        largest = announced.largest or announced.most
        if announced.length != encoding.length or largest < most or (largest > most and not uneven):
            raise Refused("the announced size of vectors does not fit the question")
        if announced.room and encoding.noise:
            raise Refused("noisy answers are sent in full, not in a sketch")


def _read_times(letters: list[bytes]) -> Ids:
    if not set(map(len, letters)) <= {TIMES.size}:
        raise ValueError
    times = np.frombuffer(b"".join(letters), dtype="<u8")
    if times.size and not 1 <= times.min() <= times.max() <= MOST_TIMES:
        raise ValueError
    return times.astype(np.int64)


def _select(clients: Objective, places: Ids) -> Objective:
    """Some of the clients; nothing is copied if it is all of them."""
    everyone = len(places) == clients.n_clients and bool((np.diff(places) == 1).all())
    return clients if everyone else clients[places]


def read_speakers(reply: Bundle, groups: bool) -> dict[int, int]:
    """Who speaks for each client, according to its party; without groups, clients can only speak for themselves."""
    size = SPEAKER.size
    letters = {one: letter for one, letter in reply.letters.items() if len(letter) == size and letter != NOBODY}
    said = {one: int(SPEAKER.unpack(letter)[0]) for one, letter in letters.items()}
    return {one: other for one, other in said.items() if (said.get(other) == other if groups else one == other)}
