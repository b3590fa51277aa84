"""What to expect of a run under noise, before anybody is asked: from numbers that are public, and no data."""

from dataclasses import dataclass
from math import ceil, log10

from folkmoot.algorithms.federated.purse import find_inflation
from folkmoot.conversation.population import Population
from folkmoot.foundation.errors import InputError
from folkmoot.privacy.accounting import MOST_EPSILON, Privacy
from folkmoot.privacy.forecast import (
    MEASURED_NEAR,
    Forecast,
    expect_ratio,
    find_enough_clients,
    find_enough_epsilon,
    forecast,
)
from folkmoot.secagg import Policy

NEAR = ("distances", "similarity")  # kinds of data in which items that are near replace each other, without a map
USUAL = (0.1, 0.2, 0.3, 0.5, 1.0, 2.0, 3.0, 5.0, 10.0)  # values of ε that are shown beside the one asked for


@dataclass(frozen=True)
class Outlook:
    """clients: how many there are; asked: how many of them in a round; chosen: how many items; inflation: how many
    times the noise that would hide one honest client of average weight.
    """

    privacy: Privacy
    clients: int
    asked: int
    chosen: int
    inflation: float
    kind: str = ""  # of data

    @classmethod
    def of(
        cls,
        privacy: Privacy,
        population: Population,
        cohort: int | None,
        chosen: int,
        terms: Policy,
        kind: str = "",
    ) -> "Outlook":
        asked = population.n_clients if cohort is None else min(cohort, population.n_clients)
        speakers = asked if population.sizes is None else len(population.sizes)  # parties speak for their clients
        inflation = find_inflation(population, privacy, speakers, terms.protection(speakers).honest)
        return cls(privacy, population.n_clients, asked, chosen, inflation, kind)

    @property
    def caveat(self) -> str:
        """Why to expect less than the forecast; nothing where it was measured on data of this kind. Of places, the best
        ones by themselves lie side by side, and it takes signal to find out which of them replace each other.
        """
        if self.kind not in NEAR:
            return ""
        expected = expect_ratio(self.forecast.signal, MEASURED_NEAR)
        return f"Of {self.kind} expect less, about {expected:.0%}: items that are near replace each other"

    @property
    def delta(self) -> float:
        return self.privacy.find_delta(self.clients)

    @property
    def forecast(self) -> Forecast:
        return self.foresee(self.privacy.epsilon)

    def foresee(self, epsilon: float) -> Forecast:
        mu = Privacy(epsilon, self.delta).find_mu(self.clients)
        return forecast(self.asked, self.chosen, mu, self.inflation)

    def check(self) -> None:
        """Refuse noise that would drown everything, with what would do instead."""
        if not self.forecast.is_hopeless:
            return
        enough = find_enough_clients(self.privacy, self.chosen, self.inflation)
        least = find_enough_epsilon(self.asked, self.chosen, self.delta, self.inflation)
        ways = [] if enough is None else [f"{round_up(enough, 2):,.0f} clients"]
        ways += [f"an epsilon of {round_up(least, 2):g}"] if least <= MOST_EPSILON else []
        raise InputError(
            f"noise would drown the answers of {self.asked:,} clients",
            argument="epsilon",
            remedy=f"it takes {', or '.join([*ways, 'fewer items to choose'])}",
        )

    def list_curve(self) -> list[tuple[float, Forecast]]:
        """What to expect for several ε, the one asked for among them."""
        return [(epsilon, self.foresee(epsilon)) for epsilon in sorted({*USUAL, float(self.privacy.epsilon)})]


def round_up(number: float, digits: int) -> float:
    """To so many digits, never below the number: it is to be enough."""
    unit = 10.0 ** (ceil(log10(number)) - digits)
    return ceil(number / unit - 1e-9) * unit
