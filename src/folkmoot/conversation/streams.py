"""Where the server's coins come from: one stream for each use, all from the seed of the run."""

from enum import IntEnum


class Stream(IntEnum):
    """Streams of public coins, named by what they decide.

    The numbers are part of what makes a run repeatable. Names with one number share a stream: they never meet in one
    decision.
    """

    ROUNDING = -1  # draws of pipage rounding
    SHORTLIST = -2  # ties in the shortlist
    SWAPS = -3  # ties among items that may be swapped in
    ITEM_ORDER = -4  # ties in the order of items, and in the most popular base
    RANDOM_BASES = -5  # the random choices shown beside an answer
    DIRECTION = -6  # ties in continuous greedy's best base
    PICKS = -7  # ties between items that greedy picks from
    IMPORTANCE = -8  # ties in the items over which importance is measured
    FILLING = -9  # ties where rounding fills up a base
    INTERVAL = -10  # the order of bets in a confidence interval
    FIXED_SAMPLE = -10  # who answers, where the same clients do in all rounds
    SEQUENCE = -10  # ties in a drafted sequence
    BOUND_LAYERS = -11  # ties in the bases beside the answer


class Branch(IntEnum):
    """Branches of the coins of one round."""

    COHORT = 1  # who is asked
    JURIES = 2  # how a large jury is dealt into several


class Chance(IntEnum):
    """What a simulator decides by chance in a round, from its own seed."""

    DROPOUT = 2  # who drops out before it answers
    SILENCE = 3  # who falls silent after it has answered
    STAGE = 4  # in which exchange that happens
