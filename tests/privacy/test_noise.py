"""Shares of noise: how fine, how much, from where, and whether sums have room for them."""

from fractions import Fraction
from math import ceil, log2, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2

from folkmoot.conversation.population import Cohort
from folkmoot.conversation.purpose import Purpose
from folkmoot.conversation.rounds import RING_BITS, Ask
from folkmoot.foundation.randomness import SYSTEM
from folkmoot.privacy.gaussian import LEAST_SD, MOST_SD
from folkmoot.privacy.noise import (
    COARSEST,
    DEVIATIONS,
    FINE_NORM,
    FINEST,
    USUAL,
    KeyedNoise,
    Noise,
    SystemNoise,
    choose_sd,
)
from folkmoot.questions.hidden import Direction, Worth

CHANCE = 1e-9
mus = st.floats(1e-4, 20.0)
crowds = st.integers(1, 1 << 22)


@given(mus, crowds)
def test_units_are_fine_and_shares_fit_their_tables(mu: float, honest: int) -> None:
    sd = choose_sd(mu, honest)
    assert sd == 1 << (sd.bit_length() - 1)
    assert sd >= 1 << USUAL
    assert LEAST_SD <= sd / sqrt(honest) <= MOST_SD
    assert sd <= 1 << max(FINEST, ceil(log2(LEAST_SD * sqrt(honest))))
    if sd < min(1 << FINEST, int(MOST_SD * sqrt(honest)) // 2):
        assert sd * mu >= 1 << FINE_NORM  # an answer's norm in units


@given(mus, crowds, st.integers(1, 1 << 20), st.integers(0, 1 << 20))
def test_a_sum_has_at_least_the_noise_that_was_promised(mu: float, honest: int, more: int, gone: int) -> None:
    """h honest shares have variance σ², and further ones only add to it."""
    noise = Noise(mu, choose_sd(mu, honest))
    assert honest * noise.find_share_sd(honest) ** 2 == pytest.approx(noise.sd**2)
    assert noise.find_total_sd(honest, honest) == pytest.approx(noise.sd)
    assert noise.find_total_sd(honest + more, honest) > noise.sd
    assert noise.find_total_sd(honest + more, honest) ** 2 == pytest.approx(
        (honest + more) * noise.find_share_sd(honest) ** 2
    )
    assert noise.find_share_sd(honest) > noise.find_share_sd(honest + gone + 1)


@pytest.mark.parametrize("honest", [1, 52, 575])
def test_shares_have_the_variance_that_they_should(honest: int) -> None:
    """And none of its own mind about the number of clients: variance is σ²/h, for the h that is given."""
    length, noise = 200_000, Noise(0.1, 1 << 16)
    drawn = noise.draw_share(length, honest, KeyedNoise(b"variance").find_private(0, 0)).astype(np.float64)
    ratio = float((drawn**2).sum()) * honest / noise.sd**2
    assert chi2.ppf(CHANCE / 2, length) < ratio < chi2.isf(CHANCE / 2, length)


def test_keyed_noise_is_told_apart_by_round_and_speaker() -> None:
    source, noise = KeyedNoise(b"a key"), Noise(1.0, 1 << 16)

    def share(source: KeyedNoise, number: int, speaker: int) -> list[int]:
        return [int(one) for one in noise.draw_share(8, 10, source.find_private(number, speaker))]

    assert share(source, 1, 2) == share(KeyedNoise(b"a key"), 1, 2)
    others = [share(source, 2, 1), share(source, 1, 1), share(source, 2, 2), share(KeyedNoise(b"other"), 1, 2)]
    assert share(source, 1, 2) not in others
    assert len({tuple(one) for one in others}) == 4
    assert source.find_generator(3).integers(1 << 60) == source.find_generator(3).integers(1 << 60)


def test_noise_comes_from_the_operating_system_by_default() -> None:
    source = SystemNoise()
    assert source.find_private(0, 0) is SYSTEM
    assert not source.by_share
    assert source.find_generator(0).integers(1 << 62) != source.find_generator(0).integers(1 << 62)


# Room.


def ask_direction(clients: int, mu: float, honest: int, *, centred: bool) -> Ask:
    members, items = np.zeros(30, dtype=bool), np.arange(30)
    sd = choose_sd(mu, honest)
    query = Direction(members=members, items=items, most=1.0, centred=centred, mu=mu, sd=sd, honest=honest)
    return Ask(query, Cohort(None, None, clients, clients, everyone=True), Purpose.SEARCH, "a step", 0)


@given(st.integers(3, 1 << 20), st.floats(0.3, 0.95), st.floats(1e-3, 10.0), st.booleans())
def test_sums_within_the_room_never_wrap(clients: int, share: float, mu: float, centred: bool) -> None:
    """The largest and the smallest sum with 24 deviations of noise, as it is sent: each vector as its distance from its
    own lowest number, added up in the ring.
    """
    honest = max(int(share * clients), 1)
    ask = ask_direction(clients, mu, honest, centred=centred)
    query, encoding, modulus = ask.query, ask.query.encoding, 2**ask.ring_bits
    assert ask.ring_bits <= RING_BITS
    deviations = DEVIATIONS * encoding.noise * sqrt(clients)
    assert query.added_noise is not None
    assert deviations == pytest.approx(DEVIATIONS * query.added_noise.find_total_sd(clients, honest))
    ends = (
        encoding.limit * clients + int(deviations),
        encoding.lowest * clients - int(deviations),
        0,
        encoding.limit * clients,
    )
    sent_from = clients * (encoding.lowest - encoding.find_room(0, 1))
    for total in ends:
        wrapped = np.array([(total - sent_from) % modulus], dtype=np.int64)
        assert ask.unwrap(wrapped, clients, clients, clients).tolist() == [total]


@given(st.integers(3, 1 << 20), st.integers(1, 1 << 20))
def test_room_grows_like_a_random_walk(clients: int, honest: int) -> None:
    encoding = ask_direction(clients, 0.1, honest, centred=False).query.encoding
    assert encoding.find_room(clients, clients) == ceil(DEVIATIONS * encoding.noise * sqrt(clients))
    assert encoding.find_room(clients, clients) <= encoding.find_room(0, 1) * (sqrt(clients) + 1)
    assert encoding.find_room(5 * clients, 3) == encoding.find_room(3, 3)  # parties speak for many clients


def test_vectors_as_they_are_sent_have_room_for_one_share() -> None:
    """24 deviations of one share on both sides: no client's noise is ever cut, except with probability 2^-400."""
    ask = ask_direction(1_000, 0.1, 575, centred=True)
    encoding = ask.query.encoding
    assert ask.largest_answer == 2 * encoding.limit + 2 * ceil(DEVIATIONS * encoding.noise)
    assert encoding.noise == pytest.approx(sqrt(Fraction(ask.query.added_noise.sd**2, 575)))  # type: ignore[union-attr]
    assert encoding.fills_up


def test_norms_and_noise_are_two_sides_of_one_number() -> None:
    members = np.zeros(4, dtype=bool)
    for mu, sd in ((0.01, 1 << COARSEST), (0.3, 1 << 16), (5.0, 1 << 20)):
        worth = Worth(members=members, whole=2.0, mu=mu, sd=sd, honest=9)
        assert worth.norm == int(sd * mu)
        assert worth.encoding.l2 <= worth.norm <= sd * mu
        swapped = Worth(members=members, whole=2.0, mu=mu, sd=sd, honest=9, adjacency="replace-one")
        assert swapped.norm == int(sd * mu / sqrt(2))
        centred = Direction(
            members=members, items=np.arange(4), most=1.0, mu=mu, sd=sd, honest=9, adjacency="replace-one", centred=True
        )
        assert centred.norm == int(sd * mu / 2)
        assert centred.encoding.lowest == -centred.norm
