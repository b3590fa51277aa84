"""What a party agrees to before it answers anything."""

from dataclasses import dataclass, field
from typing import Any

from folkmoot.foundation.errors import InputError
from folkmoot.foundation.inputs import as_count, as_number
from folkmoot.foundation.registry import name_kind
from folkmoot.privacy.accounting import Privacy
from folkmoot.questions.query import Query
from folkmoot.secagg import Policy


@dataclass(frozen=True)
class PartyPolicy:
    """The conditions on which a party's clients take part.

    terms: what each of them requires of a round (the smallest cohort, shares of corrupt clients and of dropouts). Under
    noise all parties must assume the same share of corrupt clients: who assumes less adds too little noise for the
    others.
    questions: the kinds of questions that they answer; None: all known kinds. per_day: the most rounds that they answer
    in 24 hours; None: no limit.
    again: whether a question that they answered in one run may be answered again, in the same words, in another. The
    two sums show the difference between their clients, if not all of them answered both.
    apart: whether they answer questions whose sum shows each party's answer apart from the others', because no two
    parties are asked about the same item.
    uneven: whether some clients may count more often than others. The server is then trusted with how often each
    counts: there are counts with which a sum shows one client's answer.
    volunteers: whether they answer questions where taking part depends on their own data. The server then learns who
    has large values. Where a party speaks for its clients, the server is then trusted with their chances: with small
    ones, one client is often alone in a sum.
    singletons: whether they answer questions that say what single items are worth by themselves. Most methods begin
    with one. Refusing them guards against accidents, and not against a server that wants to know: what items add to
    one that nobody wants is what they are worth by themselves.
    clients: where parties speak for their clients, the fewest clients that must be asked, at all parties together, and
    by which these must differ from those asked before, unless they are the same or there is a budget.
    Those who count unequally count as (Σw)²/Σw². largest_share: the most that one party may be of such a sum, whoever
    drops out and whoever lies: the sum says nearly as much about a party that is nearly all of it as its own vector.
    budget: what may ever be found out about each client, in all rounds of all runs and servers together. Then only
    questions with noise are answered, and each client is charged when its masked vector leaves. None: no limit.
    honest: with a budget, the fewest honest shares of noise that any sum must hold; None: 5, or 2 where parties speak
    for their clients.
    """

    terms: Policy = field(default_factory=Policy)
    questions: tuple[type[Query[Any]], ...] | None = None
    per_day: int | None = None
    again: bool = False
    apart: bool = False
    uneven: bool = False
    volunteers: bool = False
    singletons: bool = True
    clients: int = 10
    largest_share: float = 0.75
    budget: Privacy | None = None
    honest: int | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.terms, Policy):
            raise InputError(f"needs a Policy, got {self.terms!r}", argument="terms")
        if self.per_day is not None:
            as_count(self.per_day, "per_day", least=0)
        as_count(self.clients, "clients")
        if not 0 < as_number(self.largest_share, "largest_share") <= 1:
            raise InputError(f"needs a share between 0 and 1, got {self.largest_share}", argument="largest_share")
        if not isinstance(self.budget, Privacy | None):
            raise InputError(f"needs a Privacy, got {self.budget!r}", argument="budget")
        if self.honest is not None:
            as_count(self.honest, "honest")
        for kind in self.questions or ():
            if not (isinstance(kind, type) and issubclass(kind, Query)):
                raise InputError(f"needs kinds of questions, got {kind!r}", argument="questions")

    def allows(self, kind: str) -> bool:
        """Whether questions of this kind, given by name, are answered."""
        return self.questions is None or kind in {name_kind(one) for one in self.questions}
