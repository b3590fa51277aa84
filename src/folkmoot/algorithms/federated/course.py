"""How private greedy picks: in how many rounds, from which lists, and how loudly clients speak; by the signal."""

from dataclasses import dataclass, field

WIDE, NARROW = 4, 2  # times as many items as are still to be picked: the list of the first pick, and of the last
PER_WIDTH, PER_SURE_WIDTH = 3.0, 12.0  # deviations of signal for a list longer by one; if it has what is good
MOST_PICKS = 20  # rounds
PER_PICK = 2.0  # deviations of signal that a picking round is worth
LOUDEST, QUIETEST = 4.0, 0.05  # what gains are multiplied by, if that does not make them longer than 1
FAITHFUL = 96.0  # deviations of signal from which gains are no longer made louder
EXPLORING = 10.0  # deviations of signal from which items outside the list are looked at
FIRST_LOOK, LEAST_EXPLORED, MOST_EXPLORED = 0.2, 0.04, 0.5  # shares of a list that come from outside
HOPELESS, PROMISING, RECENT = 0.45, 0.8, 3  # how good the best from outside were, in the last rounds


@dataclass
class Course:
    """How items are picked: in how many rounds, from lists of what length, and with how many from outside the list.

    A list of the most popular items holds near substitutes of each other, if there are such: once one is picked, better
    ones are outside. So some of every list come from outside, as many as the last ones turned out to be good; and if
    they were not, lists become shorter, on which everyone has more to say about each item.
    """

    picks: int  # items to be picked
    widest: float  # items on the list, per item to be picked
    signal: float  # of the best items, in deviations of noise
    rivalries: list[float] = field(default_factory=list)

    @property
    def rounds(self) -> int:
        """The more noise, the fewer: each has a larger share of the budget then."""
        return min(max(round(self.signal / PER_PICK), 1), self.picks, MOST_PICKS)

    @property
    def explores(self) -> bool:
        """Whether there is enough signal to look at items from outside the list."""
        return self.signal >= EXPLORING

    @property
    def cap(self) -> float:
        """What gains are multiplied by, as long as their norm stays within 1. Where noise is strong, those who have
        little to gain may speak louder than they are; where the signal is strong, hardly anybody needs to be cut short.
        """
        return min(LOUDEST, max(QUIETEST, FAITHFUL / max(self.signal, 1.0)))

    @property
    def promise(self) -> float:
        """From 0, nothing good is outside the list, to 1."""
        recent = self.rivalries[-RECENT:]
        return min(max((sum(recent) / len(recent) - HOPELESS) / (PROMISING - HOPELESS), 0.0), 1.0)

    @property
    def explored(self) -> float:
        """The share of a list that comes from outside."""
        return FIRST_LOOK if not self.rivalries else max(MOST_EXPLORED * self.promise, LEAST_EXPLORED)

    def note(self, rivalry: float | None) -> None:
        self.rivalries += [] if rivalry is None else [rivalry]

    def find_size(self, step: int, left: int) -> int:
        """How many items are asked about next."""
        wide = self.widest
        if self.rivalries:
            least = min(max(WIDE, self.signal / PER_SURE_WIDTH), wide)
            wide = least + (wide - least) * self.promise
        width = wide * (NARROW / WIDE) ** (step / (self.rounds - 1) if self.rounds > 1 else 0.0)
        return max(int(left * width), left + 1)
