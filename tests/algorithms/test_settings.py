"""Settings that cannot work are refused in one sentence, before anyone is asked."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from folkmoot import (
    DiscreteGreedy,
    FedCG,
    FedCGPlus,
    FederatedFrankWolfe,
    Greedy,
    InputError,
    RandGreeDi,
    Simulation,
    Uniform,
    solve,
)
from folkmoot.algorithms.federated.method import Federated
from folkmoot.conversation.engine import Control, Engine
from folkmoot.conversation.population import Population
from folkmoot.conversation.rounds import Ask, Sum
from tests.algorithms.test_federated import ratings

WRONG: list[tuple[Callable[[], Federated], str]] = [
    (lambda: FedCG(0), "rounds: needs a whole number of at least 1"),
    (lambda: FedCG(cohort=0), "cohort: needs a whole number of at least 1"),
    (lambda: FedCG(cohort=-3), "cohort: needs"),
    (lambda: FedCG(cohort=2.5), "cohort: needs a whole number"),  # type: ignore[arg-type]
    (lambda: FedCG(bits=0), "bits: needs a whole number between 1 and 32, got 0"),
    (lambda: FedCG(bits=33), "bits: needs a whole number between 1 and 32, got 33"),
    (lambda: FedCG(answer="all"), "answer: needs"),  # type: ignore[arg-type]
    (lambda: FedCG(memory=1.0), "memory: needs"),
    (lambda: FedCG(shortlist=2), "shortlist: 2 items cannot contain a base of 3"),
    (lambda: FedCG(roundings=-1), "roundings: needs"),
    (lambda: FedCG(polish=-1), "polish: needs"),
    (lambda: FedCG(jury=0), "jury: needs"),
    (lambda: FedCG(juries=0), "juries: needs a whole number of at least 1"),
    (lambda: FedCG(range_from="nobody"), 'range_from: needs "everyone" or "jury"'),  # type: ignore[arg-type]
    (lambda: FedCG(clip=0.0), "clip: needs"),
    (lambda: FedCG(clip=1.5), "clip: needs"),
    (lambda: FedCG(confidence=1.0), "confidence: needs"),
    (lambda: FedCGPlus(10, 3), "local_steps: 3 steps per round do not divide the 10 steps in total; try rounds=9"),
    (lambda: FedCGPlus(0, 1), "rounds: needs"),
    (lambda: FedCGPlus(10, 0), "local_steps: needs"),
    (lambda: FedCGPlus(samples=0), "samples: needs"),
    (lambda: DiscreteGreedy(), "epsilon: give one of epsilon, expected_answers and kappa; none given"),
    (
        lambda: DiscreteGreedy(0.1, 5),
        "epsilon: give one of epsilon, expected_answers and kappa; epsilon and ",
    ),
    (lambda: FedCG(whole_bases=True), "whole_bases: is for the answer \"base\", not for 'quantized'"),
    (lambda: FedCG(measure=1), "measure: needs true or false, got 1"),  # type: ignore[arg-type]
    (lambda: FedCGPlus(sigma=0.0), "sigma: needs a number above 0"),
    (lambda: FedCGPlus(sigma=0.1, samples=5), "samples: follows from sigma and delta"),
    (lambda: FedCGPlus(sigma=0.001), "sigma: 0.001 needs 7,"),
    (lambda: FedCGPlus(delta=1.0), "delta: needs a probability between 0 and 1"),
    (lambda: DiscreteGreedy(kappa=0.0), "kappa: needs a number above 0"),
    (lambda: DiscreteGreedy(kappa=5.0, importance="scale"), "kappa: is for the importance of the paper"),
    (lambda: DiscreteGreedy(kappa=5.0, singletons=[1.0, 2.0]), "singletons: needs one number per item (12)"),
    (lambda: DiscreteGreedy(1.0), "epsilon: needs a number between 0.000001 and 1"),
    (lambda: DiscreteGreedy(expected_answers=0), "expected_answers: needs"),
    (lambda: DiscreteGreedy(0.1, importance="most"), "importance: needs"),  # type: ignore[arg-type]
    (lambda: DiscreteGreedy(0.1, batch=0), "batch: needs"),
    (lambda: FederatedFrankWolfe(0), "rounds: needs"),
    (lambda: RandGreeDi(1), "shards: needs"),
]


@pytest.mark.parametrize(("method", "sentence"), WRONG, ids=[sentence for _, sentence in WRONG])
def test_wrong_settings_are_one_sentence(method: Callable[[], Federated], sentence: str) -> None:
    with pytest.raises(InputError) as refused:
        solve(ratings(0), 3, method())
    assert str(refused.value).startswith(sentence)
    assert "\n" not in str(refused.value)


def test_wrong_doors_are_one_sentence(tmp_path: Any) -> None:
    objective = ratings(0)
    with pytest.raises(InputError, match="dropout: needs a chance below 1"):
        Simulation(objective, dropout=1.0)
    with pytest.raises(InputError, match="method: needs a method with its brackets, such as Auto"):
        solve(objective, 3, Greedy(), engine=Simulation(objective))
    with pytest.raises(InputError, match="method: needs a method with its brackets"):
        solve(objective, 3, FedCG)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="transcript: Greedy"):
        solve(objective, 3, Greedy(), transcript=tmp_path / "run")
    with pytest.raises(InputError, match="engine: was made with another objective"):
        solve(objective, 3, FedCG(), engine=Simulation(ratings(1)))
    with pytest.raises(InputError, match="objective: needs an objective"):
        solve(None, 3, FedCG())
    for engine in (objective, Simulation, "ideal"):
        with pytest.raises(InputError, match="engine: needs an engine such as Simulation"):
            solve(None, 3, FedCG(), engine=engine)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="progress: needs True, False or a function"):
        solve(objective, 3, FedCG(), progress=3)  # type: ignore[arg-type]
    for path in (5, "", "a\0b", tmp_path, "x" * 300):
        with pytest.raises(InputError, match="transcript: "):
            solve(objective, 3, FedCG(), transcript=path)  # type: ignore[arg-type]


def test_an_answer_too_large_for_the_ring_is_refused_before_anyone_is_asked() -> None:
    asked: list[Ask] = []

    class Nobody(Engine):
        population = Population(3, 2**50)

        def add_up(self, ask: Ask, control: Control) -> Sum:
            control.check()
            asked.append(ask)
            marks = np.zeros(ask.query.length, dtype=np.int64)
            marks[64::129] = 1  # everybody's numbers are around one
            return Sum(marks, 1, ask.cohort.size, ask.cohort.weight)

    with pytest.raises(InputError, match=r"each item alone: .* answers of up to .* bits, but the ring has 63"):
        solve(None, Uniform(3, 1), FedCG(1, answer="gradient"), engine=Nobody())
    assert len(asked) == 1  # the range, which fits
