"""Where the server's coins come from: one stream per use, all from the seed of the run."""

from enum import IntEnum


class Stream(IntEnum):
    """Streams of public coins, named by what they decide.

    Changing a number would change the results of old seeds. Names with the same number share a stream: they never
    affect the same decision.
    """

    ROUNDING = -1  # draws of pipage rounding
    SHORTLIST = -2  # ties in the shortlist
    SWAPS = -3  # ties among items that may be swapped in
    ITEM_ORDER = -4  # ties in the order of items, and in the most popular base
    RANDOM_BASES = -5  # the random choices that an answer is compared with
    DIRECTION = -6  # ties in continuous greedy's best base
    PICKS = -7  # ties between items that greedy chooses from
    IMPORTANCE = -8  # ties in the items over which importance is measured
    FILLING = -9  # ties where rounding completes a base
    INTERVAL = -10  # the order of bets in a confidence interval
    FIXED_SAMPLE = -10  # who answers, where the same clients answer in all rounds
    SEQUENCE = -10  # ties in a drafted sequence
    BOUND_LAYERS = -11  # ties in the bases next to the answer
    BUCKETS = -12  # which bucket an item is dealt to, where there are too many to ask about each


class Branch(IntEnum):
    """Branches of the coins of one round."""

    COHORT = 1  # who is asked
    JURIES = 2  # how a large jury is dealt into several


class Chance(IntEnum):
    """What a simulator decides by chance in a round, from its own seed."""

    DROPOUT = 2  # who drops out before answering
    SILENCE = 3  # who falls silent after answering
    STAGE = 4  # in which exchange that happens
