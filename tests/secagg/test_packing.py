"""Packing: exact, and as small as it can be."""

import numpy as np
import pytest

from folkmoot.secagg.masks import as_words
from folkmoot.secagg.packing import add_packed, pack_bits


@pytest.mark.parametrize("bits", [1, 3, 8, 20, 31, 32, 33, 53, 63, 64])
def test_packing_is_exact_and_as_small_as_it_can_be(bits: int) -> None:
    rng = np.random.default_rng(bits)
    for length in (1, 7, 64, 1001):
        words = as_words(rng.integers(0, 2**bits, length, dtype=np.uint64), bits)
        data = pack_bits(words, bits)
        assert len(data) == -(-length * bits // 8)
        total = as_words(np.full(length, 5), bits)
        add_packed(data, bits, total)
        np.testing.assert_array_equal(total, words + words.dtype.type(5))
