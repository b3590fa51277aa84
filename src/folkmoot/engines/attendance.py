"""Who is present in a round of a simulation, and in which exchange the others drop out."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from folkmoot.conversation.rounds import Ask
from folkmoot.conversation.streams import Chance
from folkmoot.engines.exchange import QUESTION, Bundle, Exchange
from folkmoot.foundation.coins import PublicCoins
from folkmoot.foundation.sets import Ids
from folkmoot.secagg.together import STAGES

BEFORE, AFTER = STAGES[: STAGES.index("vector") + 1], STAGES[STAGES.index("vector") + 1 :]


@dataclass(frozen=True, eq=False)
class Attendance:
    """Who of a cohort answers, and who drops out before sending a vector."""

    ids: Ids
    gone: Ids

    def decide_leaving(self, ask: Ask, seed: int, late: float) -> dict[int, str]:
        """The exchange in which each client leaves, by a coin per client; some of those who answer fall silent later.

        Who volunteers, or speaks for others, is only known once the question was answered: with such questions, all
        who drop out do so in the first exchange.
        """
        silent = self.ids[PublicCoins.of(seed, ask.number, Chance.SILENCE).toss(self.ids) < late]
        polled = ask.query.voluntary or not ask.query.all_speak
        coins = PublicCoins.of(seed, ask.number, Chance.STAGE)
        leaving: dict[int, str] = {}
        for clients, stages in ((self.gone, (QUESTION,) if polled else BEFORE), (silent, AFTER)):
            places = (coins.toss(clients) * len(stages)).astype(np.int64)
            leaving |= {client: stages[place] for client, place in zip(clients.tolist(), places.tolist(), strict=True)}
        return leaving

    def count_gone_before_roll(self, ask: Ask, seed: int) -> int:
        """How many leave before they have given keys."""
        stages = self.decide_leaving(ask, seed, 0.0).values()
        return sum(stage in (QUESTION, STAGES[0]) for stage in stages)


@dataclass
class LossyExchange:
    """An exchange that no longer reaches clients once they have left."""

    exchange: Exchange
    leaving: Mapping[int, str] = field(default_factory=dict)  # the exchange in which a client leaves

    def __call__(self, outbox: Mapping[int, Bundle], deadline: float | None) -> Mapping[int, Bundle]:
        if not self.leaving:
            return self.exchange(outbox, deadline)
        there = {name: self._keep_present(sent) for name, sent in outbox.items()}
        return self.exchange(there, deadline)

    def _keep_present(self, sent: Bundle) -> Bundle:
        stage = sent.stage
        return sent.select(lambda client: self.leaving.get(client) != stage)
