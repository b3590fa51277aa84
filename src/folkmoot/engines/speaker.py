"""Taking part in rounds of secure aggregation: what is replied to which message, and what is stored before.

A server learns nothing but the replies. A message that was answered gets the same reply again, and a process continues
the round in which another one died. What is refused is left out of the reply; the reason is kept here.
"""

import sqlite3
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from hashlib import sha256
from threading import Lock

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from folkmoot.engines.bookkeeping import Bookkeeper
from folkmoot.engines.credit import Credits
from folkmoot.engines.exchange import Bundle
from folkmoot.engines.memory_store import MemoryStore
from folkmoot.engines.odometer import Charge
from folkmoot.engines.past_cohorts import PastCohort
from folkmoot.engines.policy import PartyPolicy
from folkmoot.engines.round_inquiry import RoundInquiry
from folkmoot.engines.store import GivenReply, LedgerEntry, OpenRound, Refusal, SentMessage, StateStore, StoreUpdate
from folkmoot.foundation.errors import FolkmootError, InputError
from folkmoot.foundation.private_coins import SECRET, PrivateCoins
from folkmoot.foundation.randomness import as_private
from folkmoot.privacy.noise import NoiseSource
from folkmoot.secagg import Announcement, Malformed, Member, Refused, Roster
from folkmoot.secagg.client import Answer, Random, foresee_crowd
from folkmoot.secagg.messages import Roll, kind_of
from folkmoot.secagg.state import State
from folkmoot.secagg.together import FORGETTING, LONG, NAMES, STAGES, ends_of, exchange_in_process
from folkmoot.secagg.work import SharedWork

VECTOR = "vector"  # the exchange in which clients answer
AT_HAND = 1_000  # refusals: a server that keeps sending nonsense must not fill the memory


@dataclass(frozen=True)
class Step:
    """A reply, and what must be stored before it may leave."""

    reply: Bundle
    states: Mapping[int, State] = field(default_factory=dict)
    entry: LedgerEntry | None = None
    members: bytes = b""  # which of the party's clients answered, as bits
    charge: Charge | None = None  # what those pay whose vectors leave
    cohort: PastCohort | None = None  # who was asked, if that must be remembered
    credits: Mapping[int, float] = field(default_factory=dict)  # readings (`Credits`)


NOTHING = Step(Bundle({}))


class Speaker(ABC):
    """Answers a server's bundles in rounds of secure aggregation; `reply` is all that a transport calls.

    identities: the keys that it signs with, by number on the roster. store: keeps what must survive the process. Where
    there is one, a message that was answered in this round gets the same reply again, byte for byte, and a process
    continues the round in which another one died. None: nothing survives the process, and nothing is said twice.
    clock: seconds, for the ledger and for answers per day. uptime: seconds by a clock that nobody sets, for the days
    after which a round that was broken off is forgiven. coins: what its clients decide by chance with; None: from a
    secret of its own, which is kept in the store. Others are for simulations and tests. population: how many clients
    there are, at all parties. hiding: the fewest honest shares of noise that a sum must hold, unless the policy says
    so. It is in one round at a time.
    """

    def __init__(
        self,
        identities: Mapping[int, Ed25519PrivateKey],
        roster: Roster,
        policy: PartyPolicy | None,
        store: StateStore | None,
        random: Random,
        clock: Callable[[], float],
        uptime: Callable[[], float],
        noise: NoiseSource,
        coins: PrivateCoins | None,
        population: int,
        hiding: int,
    ) -> None:
        self.identities, self.roster = identities, roster
        self.policy = PartyPolicy() if policy is None else policy
        if self.policy.budget is not None and store is None:
            raise InputError("is needed: a budget must not be forgotten when the process ends", argument="store")
        self._repeats = store is not None
        self.store = MemoryStore() if store is None else store
        self.random, self.clock, self.uptime = as_private(random), clock, uptime
        self.coins = PrivateCoins(self.store.keep_secret(random.random(SECRET))) if coins is None else coins
        self.bookkeeper = Bookkeeper(self.policy, self.store, clock, noise, population, hiding)
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
        changed = now or step.states or step.entry or leaving or step.credits
        if changed:  # a message that was refused altogether changes nothing but what is forgiven
            said = step.states, step.entry, step.members
            self.store.save(StoreUpdate(*said, now, given, leaving, step.charge, step.cohort, step.credits))

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
        self._known_crowd = b"", b""  # the roll that was checked, and for what; usually all clients are sent the same
        self._work = SharedWork()  # clients have no secrets from their own party

    def _take_turns(self, sent: Bundle) -> Step:
        """Reply to messages of secure aggregation, one per client."""
        inquiry, letters = self._inquiry, dict[int, bytes]()
        states: dict[int, State] = {}
        credits = Credits(self.store, self.uptime, self.policy.terms.unfinished)
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
                    state = credits.forgive(client, state)
                elif state.announced:
                    inquiry.check_announcement(client, state.announcement, self.policy.uneven)
                    self._check_crowd(inquiry, client, letter, state)
                else:
                    raise Refused("this client is in no round")
            except (Refused, Malformed) as why:
                self._refuse(stage, client, why)
            else:
                letters[client], states[client] = letter, state
        if inquiry is None or not letters:
            return NOTHING
        step = self._reply_each(inquiry, stage, letters, states)
        return replace(step, credits=credits.list_readings(step.states))

    def _check_crowd(self, inquiry: RoundInquiry, client: int, letter: bytes, state: State) -> None:
        """Refuse a roll among which answers could not be hidden, before the client draws neighbours: a round that it
        refuses later counts as broken off.
        """
        if kind_of(letter) != Roll.kind or (letter, state.announced) == self._known_crowd:
            return
        crowd = foresee_crowd(self._find_member(client), state.announcement, Roll.decode(letter))
        self.bookkeeper.check_crowd(inquiry, crowd)
        self._known_crowd = letter, state.announced

    def _reply_each(
        self, inquiry: RoundInquiry, stage: str, letters: dict[int, bytes], states: dict[int, State]
    ) -> Step:
        members = {client: self._find_member(client) for client in letters}
        first = next(iter(letters))
        announced = Announcement.decode(letters[first]) if stage == STAGES[0] else states[first].announcement
        beyond = frozenset[int]()
        if stage == VECTOR:
            inquiry.prepare()
            beyond = self.bookkeeper.find_beyond(inquiry, list(letters))
        with suppress(Malformed):  # clients that were sent such a message refuse it below
            self._work.agree(ends_of(stage, states, letters))

        def answer(client: int) -> Answer:
            return lambda crowd: self.bookkeeper.write_vector(inquiry, client, crowd, client in beyond)

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
            entry = self.bookkeeper.make_entry(inquiry, stage, len(replies))
            charge = self.bookkeeper.make_charge(inquiry, list(replies))
            return Step(Bundle(replies), after, entry, inquiry.mark_members(), charge, inquiry.cohort)
        return Step(Bundle(replies), after)

    def _find_member(self, client: int) -> Member:
        if client not in self._members:
            self._members[client] = Member(client, self.identities[client], self.roster, self.policy.terms)
        return self._members[client]

    def _refuse(self, stage: str, client: int | None, why: FolkmootError) -> None:
        refusal = Refusal(self.clock(), stage, str(why), client)
        self._refused.append(refusal)
        self.refusals.append(refusal)
