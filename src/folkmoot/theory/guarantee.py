"""What theorems promise for a run, term by term; what the data prove is computed elsewhere.

With probability 1 − δ, (1 − (1 − η)^R)·OPT ≤ F̂(x) + (the sum of the terms called "additive"). For the paper's own
answers this follows from its Theorems 1 to 3; where the server takes the best base of the summed gradient, the terms
follow from Hoeffding's inequality (docs/mathematics.md). Clients are never asked for γ: |∇f̂_i − ∇F̂| ≤ max_i max_e
f_i(e), since gradients of monotone submodular functions lie between 0 and the singleton values. A simulation, which has
all data, can measure γ and what else is bounded.
"""

from dataclasses import dataclass, replace
from math import exp, log, sqrt
from typing import Any, Protocol

from folkmoot.foundation.sets import add_in_order

DELTA = 0.05
MEASURABLE = ("gamma_t", "D", "L_t", "Q", "sigma")


@dataclass(frozen=True)
class Term:
    """One quantity of a theorem."""

    symbol: str
    value: float
    meaning: str
    measured: float | None = None  # what a simulation found in place of the bound; None: it was not asked to


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

    @property
    def promised_as_measured(self) -> float | None:
        """`promised`, with what a simulation measured in place of bounds; None: it did not, or no theorem applies."""
        if self.factor <= 0 or all(term.measured is None for term in self.terms):
            return None
        parts = [term for term in self.terms if term.meaning.startswith("additive")]
        spared = add_in_order(part.value - part.measured for part in parts if part.measured is not None)
        return self.promised + spared

    def mark_not_covered(self) -> "Guarantee":
        """The same terms for a run that no theorem covers: shortlists, lost clients, gradients from sampled sets."""
        return replace(
            self, theorem=f"{self.theorem}, which does not cover this run", factor=0.0, promised=0.0, vacuous=True
        )

    def __str__(self) -> str:
        lines = [f"{self.theorem}: {'vacuous here' if self.vacuous else f'at least {self.promised:.4g}'}"]
        for term in self.terms:
            found = "" if term.measured is None else f" (measured: {term.measured:.5g})"
            lines.append(f"  {term.symbol:<14} {term.value:<12.5g} {term.meaning}{found}")
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
class Sizes:
    """The quantities of Theorems 1 to 3 that depend on the data: bounds on them, or as a simulation measured them."""

    gamma: float  # γ_t of the worst round: max_i |∇f̂_i(x) − ∇F̂(x)|_∞
    D: float  # Σ γ_t
    L: float  # L_t of the worst round: how fast gradients change on clients' local walks
    Q: float  # Σ L_t
    sigma: float  # the largest error of a sampled gradient


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
    delta: float = DELTA
    measured: Sizes | None = None
    off: float = 0.0  # how far fixed point can move the mean of a gradient

    def _noises(self) -> list[tuple[str, float, float, str]]:
        """What moves the mean of the answers: its name, how far one answer can move, how many there are, their symbol.

        A client that is drawn twice tosses its coin once, so where weights differ, coins are a noise of their own.
        """
        sampling = [] if self.cohort is None else [("sampling", self.reach, float(self.cohort), "K")]
        tossed = self.coin > 0 and (self.cohort is None or self.alike < self.clients * (1 - 1e-9))
        return [*sampling, *([("coins", self.coin, self.alike, "A")] if tossed else [])]

    @property
    def steps(self) -> int:
        return self.rounds * self.local_steps

    def bound_sizes(self, largest: float) -> Sizes:
        """What is certain beforehand. `largest`: the most an item is worth to any client."""
        L = largest * sqrt(self.rank) if self.local_steps > 1 else 0.0
        sigma = 0.0
        if self.samples is not None:
            asked = self.cohort or self.clients  # the union bound runs over everyone who samples
            sigma = largest * sqrt(log(2 * self.n_items * self.steps * asked / self._share) / (2 * self.samples))
        return Sizes(largest, self.rounds * largest, L, self.rounds * L, sigma)

    @property
    def _share(self) -> float:
        """Gradients that are sampled can fail the promise, and so can clients that are drawn: each has half of δ."""
        return self.delta if self.samples is None else self.delta / 2

    def guarantee(self, largest: float, m_F: float, value: float) -> Guarantee:
        name, terms, parts = self._evaluate(self.bound_sizes(largest), m_F)
        factor = 1.0 - (1.0 - 1.0 / self.rounds) ** self.rounds
        additive = add_in_order(part.value for part in parts)
        promised = factor * value - additive
        said = [*terms, *parts]
        if self.measured is not None:
            _, again, parts = self._evaluate(self.measured, m_F)
            said = [
                replace(one, measured=two.value) if one.symbol in MEASURABLE or one.value != two.value else one
                for one, two in zip(said, [*again, *parts], strict=True)
            ]
        return Guarantee(name, tuple(said), factor, additive, promised, promised <= 0)

    def _evaluate(self, sizes: Sizes, m_F: float) -> tuple[str, list[Term], list[Term]]:
        """The theorem, what it speaks of, and its additive terms."""
        r, rounds, delta = self.rank, self.rounds, self.delta
        eta = 1.0 / rounds
        terms = [
            Term("r", r, "rank of the matroid"),
            Term("T", self.steps, "steps"),
            Term("rounds", rounds, "rounds of communication"),
            Term("eta", eta, "step of the server"),
            Term("gamma_t", sizes.gamma, "bound on |∇f̂_i − ∇F̂| in every round: the largest singleton"),
            Term("D", sizes.D, "Σ γ_t"),
            Term("m_F", m_F, "the largest singleton of F"),
            Term("delta", delta, "chance that the promise fails"),
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
                off = moved * sqrt(log(2 * len(noises) * self.n_items * rounds / delta) / (2 * answers))
                meaning = f"additive: 2r·(largest number)·sqrt(ln({2 * len(noises)}nT/δ)/2{number})"
                parts.append(Term(what, 2 * r * off, meaning))
            if self.off:
                parts.append(Term("fixed point", 2 * r * self.off, "additive: what rounding may lose"))
            if self.memory:
                # An old gradient exceeds a new one by at most the curvature between their points.
                lag = self.memory / (1 - self.memory)
                parts.append(Term("memory", lag * eta * r**2 * m_F, "additive: lag of the averaged gradient"))
        else:
            local = 2 * sizes.sigma * r + 2 * eta * r**1.5 * sizes.Q
            parts.append(Term("heterogeneity", eta * r * sizes.D, "additive: η·r·Σγ_t"))
            name = "Theorem 1 (everybody answers)"
            if self.local_steps > 1 or self.samples is not None:
                name = "Theorem 3 (local steps)"
                terms += [
                    Term("L_t", sizes.L, "Lipschitz constant of the gradients: at most max_i m_{f_i}·√r"),
                    Term("Q", sizes.Q, "Σ L_t"),
                    Term("sigma", sizes.sigma, "error of a sampled gradient"),
                ]
                parts.append(Term("local steps", local, "additive: 2σr + 2η·r^1.5·ΣL_t"))
            elif self.cohort is not None:
                name = "Theorem 2 (a cohort answers)"
            if self.cohort is not None:
                spread = sqrt(rounds) * (6 * eta * r * sizes.D + local) / sqrt(self.cohort * self._share)
                parts.append(Term("sampling", spread, "additive: client sampling"))
        return name, terms, parts


def kappa_in_theory(rank: int, n_items: int, epsilon: float) -> float:
    """κ = 12·r·ln(2r·n^(r+1))/ε²: enough for one fixed sample of clients to stand for all of them.

    f_i(S) ≤ Σ_{e∈S} f_i(e) ≤ w_i·Σ_{e∈S} F(e) ≤ r·w_i·F(S), so no term of a sampled F(S) is above r/κ of it.
    By Chernoff's bound and the union bound over fewer than r·n^r sets, the sample values every allowed set to ±ε/2
    of its worth, except with probability 1/n. Then greedy on the sample loses at most ε of the optimum. (The paper
    says Õ(rn/ε²); its source has 3·ln(2r·n^r/δ)/ε² in a commented line, which lacks the factor r:
    docs/mathematics.md.)
    """
    return 12 * rank * (log(2 * rank) + (rank + 1) * log(n_items)) / epsilon**2


def epsilon_in_theory(rank: int, n_items: int, kappa: float) -> float:
    """The ε for which this κ is enough; at most 1, where nothing is promised."""
    return min(sqrt(kappa_in_theory(rank, n_items, 1.0) / kappa) * (1 + 1e-12), 1.0)


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
