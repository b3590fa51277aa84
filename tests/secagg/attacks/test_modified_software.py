"""What nothing helps against: one client with software of its own masks any vector it likes. The round ends as ever,
every number of the sum is shifted, nobody can tell, and nobody is named. Masks hide liars as well as the honest.
"""

from dataclasses import replace

import numpy as np
import pytest

from folkmoot.secagg.masks import as_words
from folkmoot.secagg.messages import MaskedVector
from folkmoot.secagg.packing import add_packed, pack_bits
from tests.secagg.attacks.client_tricks import MANY, Moment, play
from tests.secagg.cohorts import VECTOR, Federation, Vector

COHORT = Federation(8, length=9)
LIAR, RING = COHORT.ids[2], 2**COHORT.announcement.ring_bits


def add_to_own(moment: Moment, shift: Vector) -> bytes:
    """The honest masked vector, moved by numbers of the liar's choice."""
    bits, words = COHORT.announcement.ring_bits, as_words(shift, COHORT.announcement.ring_bits)
    told = MaskedVector.decode(moment.reply, COHORT.announcement.vector_size, MANY)
    add_packed(told.vector, bits, words)
    return replace(told, vector=pack_bits(words, bits)).encode()


@pytest.mark.parametrize("shift", [np.full(9, 10**9), np.arange(9) * 119], ids=["10^9 to each", "as it likes"])
def test_one_client_shifts_every_number_of_the_sum_and_is_not_named(shift: Vector) -> None:
    result = play(COHORT, lambda moment: add_to_own(moment, shift) if _is_answer(moment) else moment.reply)
    honest = COHORT.plain_sum(result.survivors)
    np.testing.assert_array_equal(result.total, (honest + shift) % RING)
    assert (result.total != honest)[shift % RING > 0].all()
    assert result.survivors == tuple(COHORT.ids)
    assert result.excluded == {}


def _is_answer(moment: Moment) -> bool:
    return (moment.exchange, moment.client) == (VECTOR, LIAR)
