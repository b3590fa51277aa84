"""The server's side of a conversation: whom it asks, whom it must not ask again, and its coins."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from folkmoot.conversation.population import Cohort, Population, Sample, Turnout, ids_of
from folkmoot.conversation.purpose import Purpose
from folkmoot.conversation.rounds import Ask, Run, Sum, join_cohorts, read_reply
from folkmoot.conversation.streams import Branch, Stream
from folkmoot.foundation.coins import PublicCoins
from folkmoot.foundation.errors import RoundFailed
from folkmoot.foundation.sets import Ids
from folkmoot.matroids.derived import restrict
from folkmoot.matroids.matroid import Matroid
from folkmoot.questions.query import Query, Reply
from folkmoot.questions.within import Within
from folkmoot.secagg import Policy
from folkmoot.secagg.faults import Fault

DRAWS = 20
ATTEMPTS = 3  # for a round that loses too many clients; then others are asked
UNSURE = " (or whoever carries its messages changed them)"
ReplyT = TypeVar("ReplyT", bound=Reply)
Question = Callable[[PublicCoins], Query[ReplyT]]  # from the coins of its round


def counts_as_attempt(said: Sum) -> bool:
    """A round that a crash of the server broke off is over; who resumes the run starts counting again."""
    return not (said.old and said.sealed)


def describe_excluded(excluded: Mapping[int, Fault], names: Sequence[str] = ()) -> str:
    """Who was left out of lost rounds, and why, as the end of a sentence; empty: nobody was."""
    told = [
        f"{names[one] if names else f'number {one}'} {fault}{'' if fault.is_certain else UNSURE}"
        for one, fault in sorted(excluded.items())
    ]
    return f"; {'; '.join(told)}" if told else ""


def list_branches(purpose: Branch) -> list[tuple[int, ...]]:
    """Of the coins of a round, for one draw after the other until one will do. That the first will not is as rare as
    `asks_everyone` says, so it changes no chances that matter; parties refuse what the last one leaves too much alike.
    """
    return [(purpose,), *((purpose, again) for again in range(1, DRAWS))]


class Talk:
    """Asks cohorts, one round after another. terms: on which clients take part in secure sums; None: sums are plain."""

    def __init__(self, population: Population, matroid: Matroid, seed: int, terms: Policy | None = None) -> None:
        self.population, self.matroid, self.seed, self.terms = population, matroid, seed, terms
        self.rounds = 0
        self.cohort = population.everyone  # who was asked last
        self.items: Ids | None = None  # those that it is about; None: all
        self.whole: Talk | None = None  # the conversation about all items, before it was narrowed
        self.asked: list[Cohort] = []  # cohorts, where they must not be too much alike

    def coins(self, stream: Stream, *parts: int) -> PublicCoins:
        """The server's coins for one use."""
        return PublicCoins.of(self.seed, stream, *parts)

    def narrow(self, items: Ids) -> "Talk":
        """The same conversation about these of all items, which are renumbered; it goes on where this one is."""
        whole = self if self.whole is None else self.whole
        population = replace(whole.population, n_items=len(items))
        narrow = Talk(population, restrict(whole.matroid, items), self.seed, self.terms)
        narrow.rounds, narrow.cohort, narrow.items, narrow.whole = self.rounds, self.cohort, items, whole
        narrow.asked = self.asked
        return narrow

    def _phrase(self, query: Query[ReplyT]) -> Query[ReplyT]:
        """As clients are asked, who know all items."""
        return query if self.items is None else Within(items=self.items, question=query)

    def ask(
        self, question: Query[ReplyT] | Question[ReplyT], size: int | None, purpose: Purpose, label: str
    ) -> Run[ReplyT]:
        """Ask `size` fresh clients; if too few answer, ask others. A question with coins is built from those of its
        round.

        Clients who sent an answer in a round that was lost are not asked the same question again: two sums over nearly
        the same clients would reveal the answers of those who are in only one of them. But where everyone was asked,
        and somebody was caught, all others are asked again: what the two sums can show is what the caught one said.
        """
        sent: Ids | None = None
        attempts, excluded = 0, dict[int, Fault]()
        while attempts < ATTEMPTS:
            number, coins = self._begin_round()
            query = self._phrase(question if isinstance(question, Query) else question(coins))
            self.cohort = self._draw(size, coins, sent)
            said = yield (ask := self._put(query, purpose, label, number))
            if not said.lost:
                return read_reply(query, said)
            attempts += counts_as_attempt(said)
            excluded |= said.excluded
            if said.spent and not said.sealed and not (said.caught and self.cohort.everyone):
                sent = self._leave_out(size, label, sent, excluded)
        raise self._explain_failure(ask, said, excluded)

    def ask_juries(
        self,
        question: Question[ReplyT],
        size: int | None,
        count: int,
        purpose: Purpose,
        label: str,
        *,
        some_suffice: bool = False,
    ) -> Run[ReplyT]:
        """Ask `count` juries of `size` clients each, one round per jury, and add up their replies.

        They are drawn as one large jury, and represent everyone as it would: no client is in two of them. A jury that
        is lost is asked again if nobody had sent an answer; otherwise other clients take its place.

        some_suffice: where no others are left, go on without that jury, unless all are lost. It then counts as asked
        and not answered, like clients who drop out. Coins dealt it, so where clients are missing by chance, those
        who answered are still a sample of everyone, only smaller; elsewhere `Sample` takes the worst of its clients.
        """
        if size is None:
            return (yield from self.ask(question, None, purpose, label))
        coins = PublicCoins.of(self.seed, self.rounds)
        whole = self.population.draw(count * size, coins.branch(Branch.COHORT))
        for branch in list_branches(Branch.JURIES):
            dealt = whole.deal(size, coins.branch(*branch))
            if self._are_apart(dealt):
                break
        if len(dealt) == 1:
            return (yield from self.ask(question, count * size, purpose, label))
        query = self._phrase(question(coins))
        assert not (some_suffice and query.voluntary)  # volunteers stand for all who were asked, and so for the lost
        drawn = ids_of(whole)  # and, later, those who replace a lost jury
        juries, replies = list[Cohort](), list[ReplyT]()
        for at, jury in enumerate(dealt):
            self.cohort, part = jury, f"{label}, jury {at + 1} of {len(dealt)}"
            attempts = 0
            while attempts < ATTEMPTS:
                number, coins = self._begin_round()
                said = yield (ask := self._put(query, purpose, part, number))
                if not said.lost:
                    break
                attempts += counts_as_attempt(said)
                if said.spent:  # sealed or not: all juries are asked the same, with the same coins
                    hopeless = at == len(dealt) - 1 and not any(reply.count for reply in replies)
                    if some_suffice and not hopeless and self._find_obstacle(jury.size, drawn):
                        said = replace(said, clients=0)  # whoever was left, no answer counts
                        break
                    drawn = self._leave_out(jury.size, part, drawn, said.excluded)
                    self.cohort = self._draw(jury.size, coins, drawn)
            else:
                raise self._explain_failure(ask, said, said.excluded)
            juries.append(self.cohort)
            replies.append(read_reply(query, said))
            drawn = drawn if self.cohort is jury else np.union1d(drawn, ids_of(self.cohort))
        self.cohort = replace(join_cohorts(juries), everyone=whole.everyone)
        joined = replies[0]
        for reply in replies[1:]:
            joined = joined + reply
        return joined

    def begin(self, query: Query[ReplyT], cohort: Cohort, purpose: Purpose, label: str) -> Ask:
        """The next round, for a method that decides itself whom to ask, and what to do if the round is lost."""
        number, _ = self._begin_round()
        self.cohort = cohort
        return self._put(self._phrase(query), purpose, label, number)

    def sample(self, tally: Turnout) -> Sample:
        """How those who answered last represent everyone."""
        return self.population.sample(self.cohort, tally)

    def _draw(self, size: int | None, coins: PublicCoins, without: Ids | None) -> Cohort:
        """A cohort that is not too much like an earlier one."""
        for branch in list_branches(Branch.COHORT):
            cohort = self.population.draw(size, coins.branch(*branch), without=without)
            if self._are_apart([cohort]):
                break
        return cohort

    def _are_apart(self, cohorts: list[Cohort]) -> bool:
        return all(self.population.is_apart(cohort, self.asked) for cohort in cohorts)

    def _put(self, query: Query[Any], purpose: Purpose, label: str, number: int) -> Ask:
        """The question, as clients are asked it, to the cohort that was drawn last."""
        if self.population.apart > 1:
            self.asked.append(self.cohort)
        return Ask(query, self.cohort, purpose, label, number)

    def _begin_round(self) -> tuple[int, PublicCoins]:
        """The number of the next round, and its coins."""
        number = self.rounds
        self.rounds += 1
        return number, PublicCoins.of(self.seed, number)

    def _explain_failure(self, ask: Ask, said: Sum, excluded: Mapping[int, Fault]) -> RoundFailed:
        later = "a stored run can be resumed once more clients are available; the logs of parties say what they refused"
        return RoundFailed(
            f"too few clients answered, {ATTEMPTS} times in a row (most recently {said.clients:,} of "
            f"{ask.cohort.size:,}){describe_excluded(excluded)}",
            remedy=None if said.spent else later,
            place=ask.label,
            excluded=excluded,
        )

    def _leave_out(self, size: int | None, label: str, sent: Ids | None, excluded: Mapping[int, Fault]) -> Ids:
        """All clients who must not be asked again; refused if too few others are left."""
        obstacle = self._find_obstacle(size, sent)
        if obstacle is None:
            return self._join_sent(sent)
        raise RoundFailed(
            f"the round was lost after clients had sent their answers, and {obstacle}; asking the same clients again, "
            f"with other survivors, could reveal one client's answer by subtraction{describe_excluded(excluded)}",
            remedy="ask smaller cohorts",
            place=label,
            excluded=excluded,
        )

    def _find_obstacle(self, size: int | None, sent: Ids | None) -> str | None:
        """Why others cannot be asked instead of those who were asked last; None: they can."""
        population = self.population
        if size is None or population.asks_everyone(size):
            return "everyone was asked"
        if population.weights is not None:
            return "where weights differ, leaving them out would bias the sum"
        left = population.n_clients - len(self._join_sent(sent))
        return None if left >= size else f"only {left:,} others are left"

    def _join_sent(self, sent: Ids | None) -> Ids:
        """These and those who were asked last."""
        ids = ids_of(self.cohort)
        return ids if sent is None else np.union1d(sent, ids)
