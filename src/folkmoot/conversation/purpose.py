"""What a round is for."""

from enum import StrEnum


class Purpose(StrEnum):
    """What a round is for. Its label says the same for people, with the number of the step."""

    RANGE = "range"  # how large values are
    FINDING = "finding"  # which of very many items to ask about
    SINGLETONS = "singletons"  # what each item is worth alone
    IMPORTANCE = "importance"  # who has the most to say
    SEARCH = "search"
    SCORING = "scoring"  # which of many candidates is best
    BOUND = "bound"  # what no allowed set exceeds
    POLISHING = "polishing"  # swaps that improve the answer
    APPRAISAL = "appraisal"  # what the answer is worth
