"""What theorems promise for a run, term by term; what the data prove is computed elsewhere.

With probability 1 − δ, (1 − (1 − η)^R)·OPT ≤ F̂(x) + (the sum of the terms called "additive"). For the paper's own
answers this follows from its Theorems 1 to 3; where the server takes the best base of the summed gradient, the terms
follow from Hoeffding's inequality (docs/mathematics.md). Clients are never asked for γ: |∇f̂_i − ∇F̂| ≤ max_i max_e
f_i(e), since gradients of monotone submodular functions lie between 0 and the singleton values.
"""

from dataclasses import dataclass, replace
from math import exp, log, sqrt
from typing import Any, Protocol

from folkmoot.foundation.sets import add_in_order

DELTA = 0.05


@dataclass(frozen=True)
class Term:
    """One quantity of a theorem."""

    symbol: str
    value: float
    meaning: str


@dataclass(frozen=True)
class Guarantee:
    """F̂(x) ≥ factor · OPT − additive, with probability 1 − δ; vacuous if the right side is 0 or less."""

    theorem: str
    terms: tuple[Term, ...]
    factor: float
    additive: float
    promised: float  # factor · (the value found, which is at most OPT) − additive
    vacuous: bool

    def __getitem__(self, symbol: str) -> float:
        return next(term.value for term in self.terms if term.symbol == symbol)

    def mark_not_covered(self) -> "Guarantee":
        """The same terms for a run that no theorem covers: shortlists, lost clients, gradients from sampled sets."""
        return replace(
            self, theorem=f"{self.theorem}, which does not cover this run", factor=0.0, promised=0.0, vacuous=True
        )

    def __str__(self) -> str:
        lines = [f"{self.theorem}: {'vacuous here' if self.vacuous else f'at least {self.promised:.4g}'}"]
        lines += [f"  {term.symbol:<14} {term.value:<12.5g} {term.meaning}" for term in self.terms]
        return "\n".join(lines)

    @classmethod
    def from_document(cls, document: dict[str, Any]) -> "Guarantee":
        return cls(**{**document, "terms": tuple(Term(**term) for term in document["terms"])})


class Promise(Protocol):
    """What a theorem needs to know about a run before it starts; the other numbers are known at its end."""

    def guarantee(self, largest: float, m_F: float, value: float) -> Guarantee:
        """`largest`: the most an item is worth to any client; `m_F`: the most an item is worth on average."""
        ...


@dataclass(frozen=True)
class Continuous:
    """Continuous greedy, with the paper's answers or with gradients."""

    rank: int
    n_items: int
    rounds: int  # of communication
    cohort: int | None  # None: everyone
    clients: int
    alike: float  # 1/Σp_i²: the number of clients of equal weight whose coins would be as noisy
    bases: bool  # whether clients answer with bases of their own (as in the paper)
    local_steps: int = 1
    samples: int | None = None
    memory: float = 0.0
    reach: float = 0.0  # the largest number that a client can answer for an item
    coin: float = 0.0  # how far a coin can move that number
    off: float = 0.0  # how far fixed point can move the mean of a gradient

    def _noises(self) -> list[tuple[str, float, float, str]]:
        """What moves the mean of the answers: its name, how far one answer can move, how many there are, their symbol.

        A client that is drawn twice tosses its coin once, so where weights differ, coins are a noise of their own.
        """
        sampling = [] if self.cohort is None else [("sampling", self.reach, float(self.cohort), "K")]
        tossed = self.coin > 0 and (self.cohort is None or self.alike < self.clients * (1 - 1e-9))
        return [*sampling, *([("coins", self.coin, self.alike, "A")] if tossed else [])]

    def guarantee(self, largest: float, m_F: float, value: float) -> Guarantee:
        r, rounds, gamma = self.rank, self.rounds, largest
        eta = 1.0 / rounds
        horizon = rounds * self.local_steps
        D = rounds * gamma
        factor = 1.0 - (1.0 - eta) ** rounds
        terms = [
            Term("r", r, "rank of the matroid"),
            Term("T", horizon, "steps"),
            Term("rounds", rounds, "rounds of communication"),
            Term("eta", eta, "step of the server"),
            Term("gamma_t", gamma, "bound on |∇f̂_i − ∇F̂| in every round: the largest singleton"),
            Term("D", D, "Σ γ_t"),
            Term("m_F", m_F, "the largest singleton of F"),
            Term("delta", DELTA, "chance that the promise fails"),
        ]
        parts = [Term("curvature", rounds * eta**2 * r**2 * m_F / 2, "additive: rounds·η²·r²·m_F/2")]
        if self.cohort is not None:
            terms.append(Term("K", self.cohort, "clients per round"))
        if not self.bases and self.coin:
            terms.append(Term("A", self.alike, "1/Σp_i²: as many clients of equal weight have equally noisy coins"))
        if not self.bases:
            name = "best base of the summed gradient (Hoeffding)"
            noises = self._noises()
            for what, moved, answers, number in noises:
                off = moved * sqrt(log(2 * len(noises) * self.n_items * rounds / DELTA) / (2 * answers))
                meaning = f"additive: 2r·(largest number)·sqrt(ln({2 * len(noises)}nT/δ)/2{number})"
                parts.append(Term(what, 2 * r * off, meaning))
            if self.off:
                parts.append(Term("fixed point", 2 * r * self.off, "additive: what rounding may lose"))
            if self.memory:
                # An old gradient exceeds a new one by at most the curvature between their points.
                lag = self.memory / (1 - self.memory)
                parts.append(Term("memory", lag * eta * r**2 * m_F, "additive: lag of the averaged gradient"))
        else:
            L = largest * sqrt(r) if self.local_steps > 1 else 0.0
            sigma = 0.0
            if self.samples is not None:
                asked = self.cohort or self.clients  # the union bound runs over everyone who samples
                sigma = largest * sqrt(log(2 * self.n_items * horizon * asked / DELTA) / (2 * self.samples))
            Q = rounds * L
            local = 2 * sigma * r + 2 * eta * r**1.5 * Q
            parts.append(Term("heterogeneity", eta * r * D, "additive: η·r·Σγ_t"))
            name = "Theorem 1 (everybody answers)"
            if self.local_steps > 1 or self.samples is not None:
                name = "Theorem 3 (local steps)"
                terms += [
                    Term("L_t", L, "Lipschitz constant of the gradients: at most max_i m_{f_i}·√r"),
                    Term("Q", Q, "Σ L_t"),
                    Term("sigma", sigma, "error of a sampled gradient"),
                ]
                parts.append(Term("local steps", local, "additive: 2σr + 2η·r^1.5·ΣL_t"))
            elif self.cohort is not None:
                name = "Theorem 2 (a cohort answers)"
            if self.cohort is not None:
                spread = sqrt(rounds) * (6 * eta * r * D + local) / sqrt(self.cohort * DELTA)
                parts.append(Term("sampling", spread, "additive: client sampling"))
        additive = add_in_order(part.value for part in parts)
        promised = factor * value - additive
        return Guarantee(name, (*terms, *parts), factor, additive, promised, promised <= 0)


def kappa_in_theory(rank: int, n_items: int, epsilon: float) -> float:
    """κ = 12·r·ln(2r·n^(r+1))/ε²: enough for one fixed sample of clients to stand for all of them.

    f_i(S) ≤ Σ_{e∈S} f_i(e) ≤ w_i·Σ_{e∈S} F(e) ≤ r·w_i·F(S), so no term of a sampled F(S) is above r/κ of it.
    By Chernoff's bound and the union bound over fewer than r·n^r sets, the sample values every allowed set to ±ε/2
    of its worth, except with probability 1/n. Then greedy on the sample loses at most ε of the optimum. (The paper
    says Õ(rn/ε²); its source has 3·ln(2r·n^r/δ)/ε² in a commented line, which lacks the factor r:
    docs/mathematics.md.)
    """
    return 12 * rank * (log(2 * rank) + (rank + 1) * log(n_items)) / epsilon**2


@dataclass(frozen=True)
class Discrete:
    """Discrete greedy. Theorem 4: (1 − 1/e − ε)·OPT under a cardinality constraint, (1/2 − ε)·OPT under any matroid,
    if κ is large enough and the same sample of clients answers in all rounds. With new coins in every round, every
    round maximises another function: the errors of r rounds add up, and no theorem is claimed.
    """

    rank: int
    n_items: int
    kappa: float | None  # None: everybody answers, and nothing is lost to sampling
    epsilon: float
    cardinality: bool
    applies: bool  # importance factors as the theorem has them, and one fixed sample
    batch: int = 1
    lost: float = 0.0  # the most that fixed-point rounding may lose when gains and sets are compared

    def guarantee(self, largest: float, m_F: float, value: float) -> Guarantee:
        needed = kappa_in_theory(self.rank, self.n_items, self.epsilon)
        kept = self.batch == 1 and (self.kappa is None or (self.applies and self.kappa >= needed))
        loss = 0.0 if self.kappa is None else self.epsilon
        factor = max((1 - exp(-1) if self.cardinality else 0.5) - loss, 0.0) if kept else 0.0
        additive = self.lost if factor else 0.0
        promised = factor * value - additive
        terms = (
            Term("r", self.rank, "rank of the matroid"),
            Term("n", self.n_items, "items"),
            Term("epsilon", loss, "what sampling may cost"),
            Term("kappa", 0.0 if self.kappa is None else self.kappa, "κ_i ≥ min(1, κ·w_i); 0: everybody answers"),
            Term("kappa needed", needed, "12·r·ln(2r·n^(r+1))/ε²"),
            Term("gamma_t", largest, "the largest singleton of a client"),
            Term("m_F", m_F, "the largest singleton of F"),
            Term("delta", 1 / self.n_items, "chance that the promise fails"),
            Term("fixed point", additive, "additive: what rounding may lose"),
        )
        return Guarantee("Theorem 4 (discrete greedy)", terms, factor, additive, promised, promised <= 0)
