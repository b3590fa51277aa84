"""Stories of every shape that a run can have, and one comparison. Made up, except for the one that is a real run."""

from dataclasses import replace
from math import inf
from typing import Any

import numpy as np

import folkmoot as fm
from folkmoot.conversation.purpose import Purpose
from folkmoot.conversation.result import Difference, Estimate, Exclusion, PrivacyAccount, Result, Round, Spending
from folkmoot.conversation.rounds import Making
from folkmoot.privacy.forecast import Forecast
from folkmoot.report import Baseline, Comparison, Entry, Item, PartyFacts, Story, View
from folkmoot.secagg.faults import Fault
from folkmoot.theory.guarantee import Guarantee, Term

HOSTILE = (
    "<img src=x onerror=alert(1)>",
    "</script><script>alert(2)</script>",
    "\"quotes\" and 'quotes' & more",
    "שלום עולם",
    "\u202egnitrap\u202c",
    "a | b `c` *d* [e](javascript:alert(3)) <!-- f",
    "https://example.org/ @everyone",
    "var(--ink)",
    "line\nbreak\u2028and\ttab",
    "",
)
ESTIMATE = Estimate(4.2, 4.15, 4.25, 4.4, 4.45, 0.95, 3000, False, 3.7, 2.4)
ROUNDS = (
    Round("range of values", 2000, 1950, 87810, 15865, None, purpose=Purpose.RANGE),
    *(Round(f"step {step}", 100, 98, 20398, 5989, 0.4 * step, purpose=Purpose.SEARCH) for step in range(1, 9)),
    Round("bound, all items", 2000, 1950, 88178, 20444, 5.1, purpose=Purpose.BOUND),
    Round("polishing 1", 2000, 1950, 96289, 23137, 4.21, purpose=Purpose.POLISHING),
    Round("appraisal", 2000, 1950, 88262, 15418, 4.2, purpose=Purpose.APPRAISAL),
)
THEORY = Guarantee(
    "Theorem 2 (a cohort answers)",
    (Term("r", 5, "rank of the matroid"), Term("delta", 0.05, "chance that the promise fails")),
    *(0.63, 9.5, -6.9, True),
)
MEASURED = replace(
    THEORY,
    terms=(
        Term("gamma_t", 5.0, "bound on |∇f̂_i − ∇F̂| in every round: the largest singleton", 0.4),
        Term("heterogeneity", 9.5, "additive: η·r·Σγ_t", 0.76),
    ),
)
BASELINES = (
    Baseline("central greedy", 4.25, "a solver that sees all data", sees_everything=True),
    Baseline("most popular", 3.7, "the items with the highest sums"),
    Baseline("random", 2.4, "the mean of random allowed sets"),
)
NOISY = replace(ESTIMATE, popularity=None, random=None, range_from="public")
ACCOUNT = PrivacyAccount(
    epsilon=1.0,
    delta=1.2e-5,
    adjacency="zero-out",
    mu=0.24,
    spendings=(
        Spending("narrowing, round 1", 0.12, 1100),
        Spending("narrowing, round 2", 0.12, 0, lost=True),
        Spending("narrowing, round 2", 0.12, 1100),
        Spending("picking, round 1 of 1", 0.11, 1100),
        Spending("appraisal", 0.04, 1100),
    ),
    honest=1100,
    fresh=False,
    signal=12.0,
    contrast=6.5,
)
PARTIES = ("north", "south", "east", "west", "centre")
EXCLUDED = (Exclusion(0, Fault.SHARE), Exclusion(3, Fault.SECRET))
VIEW = View("User 17", 24, "step 1", ("Alien", "Brazil"), (3, 0), (56966, 38152), (82, 67), 16, rehearsed=True)


def make_federated(names: tuple[str, ...], gains: tuple[float, ...] | None, **changed: Any) -> Result:
    chosen = tuple(range(len(names)))
    parts: dict[str, Any] = {
        "method": "FedCG(cohort=100)",
        "n_items": 50,
        "selected": chosen,
        "value": 4.19,
        "upper_bound": 4.45,
        "seconds": 1.5,
        "seed": 1,
        "order": chosen if gains else None,
        "gains": gains,
        "names": names,
        "estimate": ESTIMATE,
        "guarantee": THEORY,
        "rounds": ROUNDS,
    }
    return Result(**{**parts, **changed})


def make_central(names: tuple[str, ...], gains: tuple[float, ...], bound: float = inf) -> Result:
    chosen, value = tuple(range(len(names))), float(sum(gains))
    return Result("Greedy()", 900, chosen, value, bound, 0.01, 0, chosen, gains, names=names)


def make_story(result: Result, **changed: Any) -> Story:
    names = result.names or tuple(f"item {item}" for item in result.selected)
    gains = result.gains or (None,) * len(names)
    chosen = tuple(Item(name, gain) for name, gain in zip(names, gains, strict=True))
    story = Story(
        title="Films for everyone",
        question="Two thousand users choose films.",
        meaning="stars of the best chosen film",
        clients_called="users",
        items_called="films",
        n_clients=2000,
        result=result,
        chosen=chosen,
    )
    return replace(story, **changed)


def places(chosen: list[tuple[float, float]], others: list[tuple[float, float]]) -> Story:
    result = make_federated(tuple(f"Town {place}" for place in range(len(chosen))), (1.0,) * len(chosen))
    detailed = (("region", "09"), ("population", "81,822"))
    return make_story(
        result,
        chosen=tuple(Item(f"Town {at}", 1.0, detailed, *place, 9e4) for at, place in enumerate(chosen)),
        others=tuple(Item(f"Village {at}", None, (), *place, 100.0 * at) for at, place in enumerate(others)),
        size_called="population",
        baselines=BASELINES,
        view=VIEW,
    )


def make_real() -> Story:
    """A small run, through the whole of it."""
    stars = np.random.default_rng(0).integers(0, 6, (600, 20))
    films = fm.FacilityLocation(stars, keep_empty=True)
    return make_story(fm.solve(films, 4, fm.FedCG(rounds=4, cohort=60), seed=1), command="folkmoot run --seed 1")


def _make_shapes() -> dict[str, Story]:
    names, gains = ("Alien", "Brazil", "Clue"), (2.5, 1.25, 0.44)
    whole = make_federated(names, gains)
    rng = np.random.default_rng(1)
    italy = [(float(a), float(b)) for a, b in zip(rng.uniform(37, 46, 80), rng.uniform(7, 18, 80), strict=True)]
    everyone = replace(ESTIMATE, everyone=True, low=4.2, high=4.2)
    kept: dict[str, Any] = {
        "baselines": BASELINES,
        "view": VIEW,
        "secure": "real",
        "protection": "100 clients, 32 neighbours each",
    }
    credits: dict[str, Any] = {
        "credits": ("Made-up ratings.",),
        "notes": ("Two rows were left out.",),
        "versions": (("numpy", "2"),),
    }
    made = [Making(5, 5, 4, 3, "00", (0, 1, 2, 3, 4)), Making(5, 4, 4, 3, "00", (0, 1, 2, 4))]
    pooled = tuple(replace(one, made=made[at == 3], measured=True) for at, one in enumerate(ROUNDS))
    five = tuple((f"key {at}", "x") for at in range(5))
    detailed = tuple(Item(name, gain, five) for name, gain in zip(names, gains, strict=True))
    return {
        "full": make_story(whole, command="folkmoot run films.csv\n--seed 1", **kept, **credits),
        "no value": make_story(make_federated(names, gains, value=None), secure="plain"),
        "no gains": make_story(make_federated(names, None)),
        "gains of the story's own": make_story(make_federated(names, None), chosen=detailed),
        "everyone": make_story(make_federated(names, gains, estimate=everyone)),
        "clipped": make_story(
            make_federated(
                *(names, gains),
                estimate=replace(ESTIMATE, high=inf, bound=inf, bound_high=inf, clipped=0.03),
                upper_bound=inf,
            )
        ),
        "few": make_story(
            make_federated(names, gains, rounds=(Round("step 1", 4, 3, 10, 20, 1.0, purpose=Purpose.SEARCH), *ROUNDS))
        ),
        "far apart": make_story(make_federated(names, gains, smallest_difference=Difference(190, (1, 8)))),
        "one apart": make_story(make_federated(names, gains, smallest_difference=Difference(1, (3, 4)))),
        "three apart, plain": make_story(
            make_federated(names, gains, smallest_difference=Difference(3, (3, 4))), secure="plain"
        ),
        "failed round": make_story(
            make_federated(
                names, gains, rounds=(Round("step 1", 100, 0, 10, 20, None, purpose=Purpose.SEARCH), *ROUNDS)
            )
        ),
        "theory": make_story(
            make_federated(names, gains, guarantee=replace(THEORY, vacuous=False, promised=1.2, additive=0.5))
        ),
        "theory, measured": make_story(make_federated(names, gains, guarantee=MEASURED)),
        "central": make_story(make_central(names, gains, 4.19), secure="none"),
        "central, no bound": make_story(make_central(names, gains), secure="none"),
        "one item": make_story(make_central(("Alien",), (2.5,), 3.0), secure="none"),
        "nothing": make_story(make_central((), (), 0.0), secure="none"),
        "many": make_story(make_central(tuple(f"item {at}" for at in range(500)), (1e-3,) * 500, 0.7), secure="none"),
        "tiny": make_story(make_central(names, (3e-9, 1e-9, 2e-10), 5e-9), secure="none"),
        "huge": make_story(make_central(names, (3e9, 1e9, 2e8), 5e9), secure="none"),
        "no gain": make_story(make_central(names, (1.0, 0.0, -1e-17), 2.0), secure="none"),
        "losses": make_story(make_central(names, (1.0, -0.2, -0.1), 2.0), secure="none"),
        "nothing gained": make_story(make_central(names, (0.0, 0.0, 0.0), 0.0), secure="none"),
        "long names": make_story(make_central(("a" * 5000, "word " * 400), (1.0, 0.5), 2.0), secure="none"),
        "no names": make_story(Result("Random()", 9, (1, 4), None, inf, 0.1, 3), secure="none"),
        "many details": make_story(whole, chosen=detailed),
        "federation": make_story(
            make_federated(names, gains, value=None, rounds=pooled, smallest_difference=Difference(390, (1, 2))),
            secure="federation",
            protection="5 parties with 4 neighbours each: safe against a malicious server with 20% of the parties",
            parties=tuple(PartyFacts(name, 400, 12 - (name == "west"), 12) for name in PARTIES),
        ),
        "federation, liars": make_story(
            make_federated(names, gains, value=None, rounds=(replace(pooled[0], excluded=EXCLUDED), *pooled[1:])),
            secure="federation",
            parties=tuple(PartyFacts(name, 400, 12 - (name == "west"), 12) for name in PARTIES),
        ),
        "federation, everyone": make_story(
            make_federated(names, gains, value=4.2, estimate=everyone, rounds=pooled),
            secure="federation",
            parties=tuple(PartyFacts(name, 400, 12, 12) for name in PARTIES),
        ),
        "noise": make_story(
            make_federated(names, None, estimate=NOISY, guarantee=None, privacy=ACCOUNT, order=(1, 0, 2)),
            baselines=BASELINES,
            protection="2,000 clients with 120 neighbours each",
            forecast=Forecast(12.0, 0.94, 0.99, 40),
        ),
        "noise that drowns": make_story(
            make_federated(
                *(names, None),
                estimate=NOISY,
                guarantee=None,
                smallest_difference=Difference(1, (3, 4)),
                privacy=replace(ACCOUNT, signal=1.5, contrast=None, adjacency="replace-one", fresh=True),
            ),
            secure="real",
        ),
        "noise of parties": make_story(
            make_federated(names, None, value=None, estimate=NOISY, guarantee=None, rounds=pooled, privacy=ACCOUNT),
            secure="federation",
            parties=tuple(PartyFacts(name, 400, 12, 12) for name in PARTIES),
        ),
        "hostile": make_story(
            make_federated(HOSTILE, (0.42,) * len(HOSTILE), method=HOSTILE[1]),
            title=HOSTILE[0],
            question=HOSTILE[1],
            meaning=HOSTILE[2],
            clients_called=HOSTILE[0],
            items_called=HOSTILE[0],
            chosen=tuple(Item(name, 0.42, ((HOSTILE[0], name), ("image", HOSTILE[6])), 41, 12) for name in HOSTILE),
            others=tuple(Item(name, None, (), 42, 13, 5.0) for name in HOSTILE),
            size_called=HOSTILE[0],
            baselines=tuple(Baseline(name, 2.0, name, name == HOSTILE[0]) for name in HOSTILE),
            parties=tuple(PartyFacts(name, 3) for name in HOSTILE),
            view=replace(VIEW, client=HOSTILE[0], label=HOSTILE[1], items=HOSTILE[:2]),
            protection=HOSTILE[0],
            notes=HOSTILE,
            command=HOSTILE[1] + "``` `",
            versions=((HOSTILE[0], HOSTILE[1]),),
            credits=HOSTILE,
        ),
        "country": places(italy[:8], italy[8:]),
        "city": places([(41.9, 12.5), (41.91, 12.52)], [(41.89, 12.48), (41.92, 12.51)]),
        "one place": places([(41.9, 12.5)], []),
        "date line": places([(-18.1, 178.4), (-16.8, -179.9)], [(-17.6, 177.4)]),
        "world": places([(90.0, 0.0), (-90.0, 10.0), (60.0, 179.0)], [(0.0, -179.0), (10.0, 90.0), (40.0, -90.0)]),
    }


SHAPES = _make_shapes()
COMPARISON = Comparison(
    title="Films: how the methods compare",
    question="Which method picks the best six films?",
    meaning="stars of the best chosen film",
    clients_called="users",
    items_called="films",
    n_clients=2000,
    n_items=26,
    seeds=(1, 2, 3),
    entries=(
        Entry("Greedy()", False, (4.71, 4.71, 4.71), 0.02, selected=("Alien", "Heat")),
        Entry("FedCG(cohort=100)", True, (4.69, 4.68, 4.7), 2.1, 22, 15000.0, 21000, 80, ("Alien", "Dune")),
        Entry("Popularity", True, (4.2, 4.21, 4.2), 0.3, 1, 15000.0, 2000, 2000, ("Up",)),
        Entry("Random", False, (3.1, 2.7, 3.4), 0.001, selected=HOSTILE),
        Entry(HOSTILE[0], True, (inf, 3.0, 3.1), 1.0, 3, 10.0, 30, 3),
    ),
    bound=4.8,
    notes=("Made up.",),
    command="folkmoot compare",
    versions=(("numpy", "2"),),
)
