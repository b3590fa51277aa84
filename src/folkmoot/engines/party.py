"""A party: some clients with their data, their identities, their stored states, a policy and a ledger.

A server learns nothing about it except its replies. Whether a client takes part, and who speaks for whom, is decided
here, from the party's own data. What it refuses to answer is left out of the reply; the reason is kept here.
"""

import sqlite3
from abc import ABC, abstractmethod
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import sha256
from threading import Lock
from time import time
from typing import Any, Protocol

import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from numpy.typing import ArrayLike

from folkmoot.conversation.codec import digest_of
from folkmoot.engines.answering import NOBODY, Inquiry, list_kinds
from folkmoot.engines.exchange import QUESTION, Bundle
from folkmoot.engines.holdings import Holdings
from folkmoot.engines.odometer import FEWEST_CLIENTS, Charge, Odometer, charge_for
from folkmoot.engines.policy import PartyPolicy
from folkmoot.engines.store import GivenReply, LedgerEntry, MemoryStore, OpenRound, Refusal, SentMessage, StateStore
from folkmoot.foundation.errors import FolkmootError, InputError
from folkmoot.foundation.randomness import SYSTEM, as_private
from folkmoot.foundation.sets import Ids
from folkmoot.objectives.objective import Objective, as_objective
from folkmoot.privacy.noise import SYSTEM_NOISE, NoiseSource
from folkmoot.questions.hidden import HiddenQuery
from folkmoot.questions.query import Query
from folkmoot.secagg import Announcement, Malformed, Member, Refused, Roster
from folkmoot.secagg.client import Answer, Crowd, Random
from folkmoot.secagg.messages import Roll, kind_of
from folkmoot.secagg.parameters import count_share
from folkmoot.secagg.state import State
from folkmoot.secagg.together import FORGETTING, LONG, NAMES, STAGES, ends_of, exchange_in_process
from folkmoot.secagg.work import SharedWork

VECTOR = "vector"  # the exchange in which clients answer
DAY = 24 * 60 * 60.0
AT_HAND = 1_000  # refusals: a server that keeps sending nonsense must not fill the memory


def count_answers(entries: Iterable[LedgerEntry]) -> int:
    """Each reply that says who takes part counts as one, and so does each answered round without such a reply."""
    polls, answers = Counter[tuple[str, int, str]](), Counter[tuple[str, int, str]]()
    for entry in entries:
        (polls if entry.stage == QUESTION else answers)[entry.session, entry.round, entry.question] += 1
    return (polls | answers).total()


def mark_places(places: Ids) -> bytes:
    """These places, as bits."""
    marks = np.zeros(int(places.max(initial=-1)) + 1, dtype=bool)
    marks[places] = True
    return np.packbits(marks, bitorder="little").tobytes()


class RoundInquiry(Protocol):
    """A question that a party has agreed to answer, as a round of secure aggregation needs it."""

    @property
    def query(self) -> Query[Any]: ...

    @property
    def session(self) -> bytes: ...

    @property
    def round(self) -> int: ...

    @property
    def run(self) -> bytes: ...

    @property
    def kind(self) -> str: ...

    @property
    def why(self) -> str:
        """The kind of the question, and what it is for as far as the server says so."""
        ...

    @property
    def digest(self) -> bytes:
        """Of the query alone, in whatever run it is asked."""
        ...

    def is_asked(self, client: int) -> bool: ...

    def check_announcement(self, client: int, announced: Announcement, uneven: bool) -> None: ...

    def prepare(self) -> None:
        """Compute what all clients need, before threads ask for it."""
        ...

    def write_vector(self, client: int) -> Ids: ...

    def mark_members(self) -> bytes:
        """Which of the party's clients answer, as bits."""
        ...

    def find_places(self, speakers: Sequence[int]) -> Ids:
        """Who is heard in the vectors of these speakers: places among all clients of the party."""
        ...


@dataclass(frozen=True)
class Step:
    """A reply, and what must be stored before it may leave."""

    reply: Bundle
    states: Mapping[int, State] = field(default_factory=dict)
    entry: LedgerEntry | None = None
    members: bytes = b""  # which of the party's clients answered, as bits
    charge: Charge | None = None  # what those pay whose vectors leave


NOTHING = Step(Bundle({}))


class Speaker(ABC):
    """Answers a server's bundles in rounds of secure aggregation; `reply` is all that a transport calls.

    identities: the keys that it signs with, by number on the roster. store: keeps what must survive the process. Where
    there is one, a message that was answered in this round gets the same reply again, byte for byte, and a process
    continues the round in which another one died. None: nothing survives the process, and nothing is said twice.
    clock: seconds, for the ledger and for answers per day. population: how many clients there are, at all parties.
    hiding: the fewest honest shares of noise that a sum must hold, unless the policy says so. It is in one round at a
    time.
    """

    def __init__(
        self,
        identities: Mapping[int, Ed25519PrivateKey],
        roster: Roster,
        policy: PartyPolicy | None,
        store: StateStore | None,
        random: Random,
        clock: Callable[[], float],
        noise: NoiseSource,
        population: int,
        hiding: int,
    ) -> None:
        self.noise = noise
        self.identities, self.roster = identities, roster
        self.policy = PartyPolicy() if policy is None else policy
        if self.policy.budget is not None and store is None:
            raise InputError("is needed: a budget must not be forgotten when the process ends", argument="store")
        self.odometer = Odometer(self.policy.budget, population, self.policy.honest or hiding)
        self._repeats = store is not None
        self.store = MemoryStore() if store is None else store
        self.random, self.clock = as_private(random), clock
        self.refusals: deque[Refusal] = deque(maxlen=AT_HAND)  # by this process; the store keeps them all
        self._refused: list[Refusal] = []  # in this exchange
        self._members: dict[int, Member] = {}
        self._lock = Lock()  # one exchange at a time, however many threads a transport has
        self._inquiry: RoundInquiry | None
        self._unsure = False  # whether something else may be stored than this process remembers
        self._forget()

    @abstractmethod
    def _consider(self, sent: Bundle) -> Step:
        """Reply to a question, and remember it as the inquiry if it is accepted."""

    @abstractmethod
    def _read_again(self, sent: Bundle, reply: Bundle) -> RoundInquiry | None:
        """A question that was accepted before, with this reply; None: nobody takes part."""

    @property
    def ledger(self) -> list[LedgerEntry]:
        """What was answered, in order."""
        return self.store.read_ledger()

    @property
    def outbox(self) -> list[SentMessage]:
        """All that ever left this party, in order, if its store keeps that."""
        return self.store.read_outbox()

    def _describe_sent(self, sent: Bundle, data: bytes, again: bool = False) -> SentMessage | None:
        """What is written down about a reply to this that is about to leave; None: nothing is."""
        if not data or not self.store.keeps_outbox:
            return None
        why = "who takes part" if self._inquiry is None else self._inquiry.why
        why += " (again)" if again else ""
        return SentMessage(self.clock(), sent.stage, why, len(data), sha256(data).hexdigest())

    def reply(self, sent: Bundle) -> Bundle:
        """One exchange. Clients that refuse are missing from the reply; states are stored before it is returned.

        Whatever a server sends, no exception leaves except those of the store.
        """
        with self._lock:
            try:
                if self._unsure:
                    self._restore()
                return self._reply(sent)
            except (sqlite3.Error, OSError):
                self._unsure = True
                raise
            except Exception as error:  # its text may contain data
                self._forget()
                self._refuse(sent.stage, None, Refused(f"answering failed with {type(error).__name__}"))
                return Bundle({})
            finally:
                if self._refused:
                    self.store.note_refusals(self._refused)
                    self._refused = []

    def _reply(self, sent: Bundle) -> Bundle:
        message = sent.encode() if self._repeats else b""
        digest = sha256(message).digest()
        known = self.store.find_reply(digest) if self._repeats else None
        if known is not None:
            self.store.make_sure()
            again = self._describe_sent(sent, known, again=True)
            if again is not None:
                self.store.note_sent(again)
            return Bundle.decode(known)
        step = self._consider(sent) if sent.question else self._take_turns(sent)
        reply, keeps = step.reply, self._repeats or self.store.keeps_outbox
        data = reply.encode() if reply.letters and keeps else b""
        leaving = self._describe_sent(sent, data)
        self._save(step, message if sent.question else b"", digest, data, leaving)
        return reply

    def _save(self, step: Step, question: bytes, digest: bytes, data: bytes, leaving: SentMessage | None) -> None:
        """Whatever the reply depends on, the reply itself if it may have to be repeated, and that it leaves."""
        now, given = None, None
        if self._repeats and question:
            now = OpenRound(question if data else b"")
        elif self._repeats and data:
            now = OpenRound(self.store.read_round().question, self._announced, self._answered)
        if self._repeats and data:
            given = GivenReply(digest, data)
        if now or step.states or step.entry or leaving:  # a message that was refused altogether has changed nothing
            self.store.save(step.states, step.entry, step.members, now, given, leaving, step.charge)

    def _restore(self) -> None:
        """Continue the round that is stored: another process was in it, or this one could not store what came next."""
        now = self.store.read_round() if self._repeats else OpenRound()
        self._forget()
        self._unsure = False
        if now.question:
            with suppress(Refused):  # it may have been another version, which reads questions in another way
                reply = self.store.find_reply(sha256(now.question).digest()) or Bundle({}).encode()
                self._inquiry = self._read_again(Bundle.decode(now.question), Bundle.decode(reply))
                self._announced, self._answered = now.announced, now.answered

    def _forget(self) -> None:
        self._inquiry = None
        self._announced = b""  # the only announcement that is accepted for this inquiry
        self._answered = False  # whether any vector of this inquiry has left
        self._work = SharedWork()  # clients have no secrets from their own party

    def _check_habits(self, query: Query[Any], clients: Objective) -> None:
        """Refuse questions of a sort that is not answered here, and more rounds than are answered in a day."""
        policy, limit = self.policy, clients.largest_set
        for kind in list_kinds(query):
            if not policy.allows(kind):
                raise Refused(f"this party does not answer questions of the kind {kind}")
        self.odometer.check_question(query)
        if not policy.singletons and query.shows_singletons:
            raise Refused("this party does not say what single items are worth by themselves")
        private = isinstance(query, HiddenQuery)  # whether those are answered must not depend on any data
        if limit is not None and query.largest_set > limit and not private:  # which sets are too large is private
            raise Refused(f"this party's clients look at no sets of more than {limit} items")
        if policy.per_day is not None:
            answered = count_answers(self.store.read_ledger(self.clock() - DAY))
            if answered >= policy.per_day:
                raise Refused(f"{answered} rounds were answered in the last 24 hours, and no more are allowed")

    def _take_turns(self, sent: Bundle) -> Step:
        """Reply to messages of secure aggregation, one per client."""
        inquiry, letters = self._inquiry, dict[int, bytes]()
        states: dict[int, State] = {}
        stage = NAMES.get(kind_of(next(iter(sent.letters.values()), b"")), "")
        for client, letter in sent.letters.items():
            try:
                if inquiry is None or not inquiry.is_asked(client):
                    raise Refused("this client is in no round")
                state = self.store.load(client)
                if NAMES.get(kind_of(letter)) != stage:
                    raise Malformed("messages of several exchanges arrived together")
                if kind_of(letter) == Announcement.kind:
                    inquiry.check_announcement(client, Announcement.decode(letter), self.policy.uneven)
                    if self._answered or letter != (self._announced or letter):
                        raise Refused("another round was announced for this question")
                    self._announced = letter
                elif state.announced:
                    inquiry.check_announcement(client, state.announcement, self.policy.uneven)
                    self._check_letter(letter, state.announcement)
                else:
                    raise Refused("this client is in no round")
            except (Refused, Malformed) as why:
                self._refuse(stage, client, why)
            else:
                letters[client], states[client] = letter, state
        if inquiry is None or not letters:
            return NOTHING
        return self._reply_each(inquiry, stage, letters, states)

    def _check_letter(self, letter: bytes, announced: Announcement) -> None:  # noqa: B027 - most refuse nothing
        """Refuse what is against the interest of a whole party, not of a single client."""

    def _reply_each(
        self, inquiry: RoundInquiry, stage: str, letters: dict[int, bytes], states: dict[int, State]
    ) -> Step:
        members = {client: self._find_member(client) for client in letters}
        first = next(iter(letters))
        announced = Announcement.decode(letters[first]) if stage == STAGES[0] else states[first].announcement
        beyond = frozenset[int]()
        if stage == VECTOR:
            inquiry.prepare()
            beyond = self._find_beyond(inquiry, list(letters))
        with suppress(Malformed):  # clients that were sent such a message refuse it below
            self._work.agree(ends_of(stage, states, letters))

        def answer(client: int) -> Answer:
            return lambda crowd: self._write_vector(inquiry, client, crowd, client in beyond)

        replies = exchange_in_process(
            members,
            states,
            letters,
            answer,
            self.random,
            self._work,
            in_turn=announced.words < LONG,
            refused=lambda client, why: self._refuse(stage, client, why),
        )
        if stage in FORGETTING:
            self._work.forget()
        self._answered |= stage == VECTOR and bool(replies)
        after = {client: states[client] for client in replies}
        if stage == VECTOR and replies:
            entry = self._make_entry(inquiry, stage, len(replies))
            charge = charge_for(inquiry.query, mark_places(inquiry.find_places(list(replies))))
            return Step(Bundle(replies), after, entry, inquiry.mark_members(), charge)
        return Step(Bundle(replies), after)

    def _find_beyond(self, inquiry: RoundInquiry, speakers: list[int]) -> frozenset[int]:
        """Speakers of whose clients any cannot pay for an answer: other rounds may have cost something meanwhile."""
        if self.policy.budget is None:
            return frozenset()
        spent = self.store.read_mileage()

        def is_beyond(some: list[int]) -> bool:
            return bool(self.odometer.mark_beyond(inquiry.query, spent, inquiry.find_places(some)).any())

        return frozenset(one for one in speakers if is_beyond([one])) if is_beyond(speakers) else frozenset()

    def _write_vector(self, inquiry: RoundInquiry, client: int, crowd: Crowd, beyond: bool) -> Ids:
        """An answer before masking, with its share of the noise, if the question says that there is some.

        The answer was cut to its range before; nothing is cut after noise was added, except what lies beyond all room.
        Refused where the noise would not be enough, or costs more than the client may pay: then nothing is drawn.
        """
        self.odometer.check_crowd(inquiry.query, crowd)
        if beyond:
            raise self.odometer.refuse_beyond()
        vector, noise = inquiry.write_vector(client), inquiry.query.added_noise
        if noise is None:
            return vector
        return vector + noise.draw_share(len(vector), crowd.honest, self.noise.find_private(inquiry.round, client))

    def _make_entry(self, inquiry: RoundInquiry, stage: str, clients: int) -> LedgerEntry:
        session, digest, run = inquiry.session.hex(), inquiry.digest.hex(), inquiry.run.hex()
        noise = inquiry.query.added_noise
        mu = 0.0 if noise is None else noise.mu
        return LedgerEntry(stage, inquiry.kind, digest, session, inquiry.round, self.clock(), clients, run, mu)

    def _read_answered(self, inquiry: RoundInquiry) -> bytes:
        """Which of the party's clients may not answer this any more, as bits."""
        return self.store.read_members(inquiry.digest.hex(), inquiry.run.hex() if self.policy.again else None)

    def _find_member(self, client: int) -> Member:
        if client not in self._members:
            self._members[client] = Member(client, self.identities[client], self.roster, self.policy.terms)
        return self._members[client]

    def _refuse(self, stage: str, client: int | None, why: FolkmootError) -> None:
        refusal = Refusal(self.clock(), stage, str(why), client)
        self._refused.append(refusal)
        self.refusals.append(refusal)


class Party(Speaker):
    """Some clients, each of which is one client of the secure sum.

    clients: their functions. ids: their numbers on the roster, increasing. identities: the keys that they sign with.
    roster: all clients of the population, not only this party's. holdings: who enrolled which of them; None: they are
    not told apart, and a single party may hold as many as it likes.
    """

    def __init__(
        self,
        clients: Objective,
        ids: ArrayLike,
        identities: Mapping[int, Ed25519PrivateKey],
        roster: Roster,
        policy: PartyPolicy | None = None,
        store: StateStore | None = None,
        *,
        holdings: Holdings | None = None,
        random: Random = SYSTEM,
        clock: Callable[[], float] = time,
        noise: NoiseSource = SYSTEM_NOISE,
    ) -> None:
        super().__init__(
            identities, roster, policy, store, random, clock, noise, len(roster.keys), hiding=FEWEST_CLIENTS
        )
        self.clients = as_objective(clients)
        self.ids: Ids = np.asarray(ids, dtype=np.int64)
        if self.ids.shape != (self.clients.n_clients,) or (np.diff(self.ids) <= 0).any():
            raise InputError(f"needs {self.clients.n_clients:,} numbers in increasing order", argument="ids")
        if not roster.knows(self.ids) or any(one not in identities for one in self.ids.tolist()):
            raise InputError("needs clients that are on the roster and have an identity", argument="ids")
        self.holdings = holdings
        self._own = "" if holdings is None else holdings.find_owner(self.ids)
        self._known_roll = b"", 0  # that was checked; usually all clients are sent the same
        if isinstance(identities, dict):  # finds keys that differ from the roster now; derived keys are right
            for client in self.ids.tolist():
                self._find_member(client)
        known = [self.clients.n_clients, self.clients.n_items, list(self.clients.client_names or ())]
        self.store.pin("clients", digest_of(known))  # by their places among the party's own
        self._restore()

    def _consider(self, sent: Bundle) -> Step:
        """Reply to a question: who takes part, and who speaks for whom."""
        self._forget()
        try:
            inquiry = Inquiry.read(sent, self.clients, self.ids, len(self.roster.keys))
            self._check_policy(inquiry)
        except Refused as why:
            self._refuse(QUESTION, None, why)
            return NOTHING
        incomplete, answered = inquiry.mark_incomplete(), inquiry.mark_answered(self._read_answered(inquiry))
        for client in inquiry.ids[incomplete].tolist():
            self._refuse(QUESTION, client, Refused("this party does not hold all clients of this client's group"))
        for client in inquiry.ids[answered & ~incomplete].tolist():
            self._refuse(QUESTION, client, Refused("this client has already answered this question"))
        beyond = np.isin(inquiry.ids, list(self._find_beyond(inquiry, inquiry.ids.tolist())))
        for client in inquiry.ids[beyond & ~answered & ~incomplete].tolist():
            self._refuse(QUESTION, client, self.odometer.refuse_beyond())
        out = incomplete | answered | beyond
        if out.all():
            return NOTHING
        inquiry = inquiry.keep(~out)
        absent, entry = dict[int, bytes](), None
        willing = inquiry.query.takes_part(inquiry.clients, inquiry.ids, inquiry.times)
        if willing is not None:  # who takes part reveals something, so it counts as an answer
            entry = self._make_entry(inquiry, QUESTION, int(willing.sum()))
            absent = dict.fromkeys(inquiry.ids[~willing].tolist(), NOBODY)
            if not willing.any():
                return Step(Bundle(absent), entry=entry)
            inquiry = inquiry.keep(willing)
        self._inquiry = inquiry
        return Step(Bundle(absent | inquiry.write_speakers()), entry=entry)

    def _read_again(self, sent: Bundle, reply: Bundle) -> Inquiry | None:
        inquiry = Inquiry.read(sent, self.clients, self.ids, len(self.roster.keys))
        taking_part = [client for client, letter in reply.letters.items() if letter != NOBODY]
        return inquiry.keep(np.isin(inquiry.ids, taking_part)) if taking_part else None

    def _check_policy(self, inquiry: Inquiry) -> None:
        policy = self.policy
        self._check_habits(inquiry.query, self.clients)
        if inquiry.shows_data:
            if not policy.volunteers:
                raise Refused("this party does not let its clients' data decide who takes part")
            if not policy.uneven and (inquiry.times != 1).any():  # other counts would show more at every try
                raise Refused("who takes part is said only where everyone counts once")

    def _check_letter(self, letter: bytes, announced: Announcement) -> None:
        """Refuse a roll on which another party holds more clients than may be corrupt: it may have invented them."""
        if self.holdings is None or kind_of(letter) != Roll.kind or (letter, announced.clients) == self._known_roll:
            return
        most = count_share(self.policy.terms.corrupt, announced.clients)
        for name, held in self.holdings.count(Roll.decode(letter).ids).items():
            if held > most and name != self._own:
                raise Refused(
                    f"{name} holds {held:,} of the {announced.clients:,} clients announced and may have invented them; "
                    f"{most:,} may be corrupt"
                )
        self._known_roll = letter, announced.clients
