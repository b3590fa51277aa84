"""What noise promises to every single client, what that cost, and what it does not hide."""

from math import ceil, exp, isfinite

from folkmoot.conversation.result import PrivacyAccount
from folkmoot.foundation.settings import FEDERATION
from folkmoot.privacy.accounting import choose_delta, find_delta, find_epsilon
from folkmoot.privacy.forecast import POOR, Forecast, expect
from folkmoot.report.charts import budget_chart
from folkmoot.report.document import (
    Bullets,
    Cell,
    Fact,
    Figure,
    Fold,
    Form,
    Halves,
    Header,
    Level,
    Paragraph,
    Part,
    Quantity,
    Section,
    Table,
    Tone,
)
from folkmoot.report.facts import central_share, cost_of, is_by_party, is_simulated_here
from folkmoot.report.numbers import count, number, percent, round_up
from folkmoot.report.story import Story
from folkmoot.report.text import count_many
from folkmoot.secagg.parameters import count_share

PLAIN_DELTA = 1e-7  # smaller ones are not told as one in so many
WEAK = 4.0  # an ε above it is told to be one
FAINT, CLEAR = 4.0, 20.0  # deviations by which the best items stand above the noise


def describe_noise(story: Story) -> Section | None:
    """None where there is no noise."""
    account = story.result.privacy
    if account is None:
        return None
    words: list[Part] = [
        *_list_facts(story, account),
        Paragraph(" ".join(state_promise(story, account)), Tone.LEAD, Level.SUMMARY),
        *warn_of_simulation(story),
        *warn_of_noise(story, account),
        *compare_forecast(story, account),
        Paragraph(explain_signal(account)),
        Paragraph(explain_shares(story, account)),
    ]
    rounds = Fold("The budget, round by round", (_list_budget(account),))
    spent: list[Part] = [*_draw_budget(account), Paragraph(explain_budget(account), Tone.FINE), rounds]
    spent.append(Section("What noise does not hide", (Bullets(tuple(list_unhidden(story, account))),)))
    gist = f"ε = {number(account.epsilon)} {summarise_spending(story, account)}."
    return Section("What noise promises to each one", (Halves(tuple(words), tuple(spent)),), gist=gist, folded=True)


def _list_facts(story: Story, account: PrivacyAccount) -> list[Fact]:
    chance = f", 1 in {count(int(1 / account.delta))}" if account.delta >= PLAIN_DELTA else ""
    facts = [
        Fact(
            "ε",
            Quantity(account.epsilon, field="privacy.epsilon"),
            f"at most {_write_times(account.epsilon)} times as likely",
        ),
        Fact(
            "δ",
            Quantity(account.delta, Form.HIGH, "privacy.delta", digits=2),
            f"and this much more in probability{chance}",
        ),
        Fact("Best guess", Quantity(bound_guess(account), Form.SHARE, "story.guess"), _explain_guess(account)),
        Fact(
            "Spent",
            Quantity(find_share_spent(account), Form.SHARE, "story.share_spent"),
            "of the budget that ε and δ give",
            Level.DETAIL,
        ),
    ]
    meaning = "all answers together, in deviations of the noise, per item to be chosen"
    facts.append(Fact("Signal", Quantity(account.signal, field="privacy.signal", digits=3), meaning))
    expected = find_forecast(story, account)
    if expected is None:
        return facts
    where = "by trials on the data" if expected.trials else "by kind of data, before anything was known of this"
    told = f"to {percent(expected.high)} of a choice without noise was to be expected, {where}"
    return [*facts, Fact("Forecast", Quantity(expected.low, Form.SHARE, "story.forecast.low"), told)]


def find_forecast(story: Story, account: PrivacyAccount) -> Forecast | None:
    """What was to be expected; None where there was nothing to choose."""
    if story.forecast is not None:
        return story.forecast
    return expect(account.signal) if len(account.spendings) > 1 else None


def bound_guess(account: PrivacyAccount) -> float:
    """How often anybody can be right who guesses between a client and its neighbour, at most: Φ(μ/2), rounded up."""
    return ceil(500 * (1 + find_delta(account.mu, 0.0))) / 1000


def _explain_guess(account: PrivacyAccount) -> str:
    other = "nothing to say" if account.adjacency == "zero-out" else "any other data"
    return f"right at most, between the data of one and {other} (a coin: 50 %)"


def _write_times(epsilon: float) -> str:
    times = exp(epsilon)
    return round_up(times, 3) if isfinite(times) else "e^ε"


def find_share_spent(account: PrivacyAccount) -> float:
    """Of what one client may spend in all rounds together."""
    return (account.spent / account.mu) ** 2 if account.mu > 0 else 0.0


def state_promise(story: Story, account: PrivacyAccount) -> tuple[str, str]:
    """What ε and δ mean for one person, in two sentences: the definition, and under which conditions it holds."""
    many = count_many(story.n_clients, story.clients_called) if story.n_clients else story.clients_called
    other = (
        "it would be if that one had taken part with nothing to say"
        if account.adjacency == "zero-out"
        else "it would be if anyone else, with any other data, had taken part instead"
    )
    promise = (
        f"For each single one of the {many}, anything that the server, or whoever it tells, can see or conclude from "
        f"all rounds together is at most {_write_times(account.epsilon)} times (e^ε) as likely with the data of that "
        f"one as {other}, and the other way round, apart from a difference in probability of at most "
        f"{round_up(account.delta, 2)} (δ)."
    )
    conditions = (
        "That holds whatever the others hold and whatever else is known about that one, even if the server has on its "
        f"side {_count_corrupt(story)}; and, where clients have set themselves a budget that promises as much, even "
        "if the server breaks every rule."
    )
    return promise, conditions


def _count_corrupt(story: Story) -> str:
    """How many may work for the server, in numbers where they are known."""
    pooled = story.secure == FEDERATION or is_by_party(story.result)
    who = "parties" if pooled else "clients"
    if story.corrupt is None:
        return f"as many of the {who} as the terms of secure aggregation allow"
    if story.corrupt == 0:
        return f"none of the {who}"
    if pooled and story.parties:  # a share of few is rounded down
        bad = count(count_share(story.corrupt, len(story.parties)))
        return f"{bad} of the {count(len(story.parties))} {who}, but no more"
    return f"{percent(story.corrupt)} of the {who} that it asks, but no more"


def warn_of_simulation(story: Story) -> list[Paragraph]:
    if not is_simulated_here(story):
        return []
    told = (
        "This was a simulation: it shows what the promise would be and what it costs, and protects nobody here, "
        "because whoever ran it had all the data."
    )
    if story.result.value is not None or story.baselines:
        others = ", and what other ways to choose are worth, were" if story.baselines else " was"
        told += (
            f" The exact value{others} computed from the data, outside the noise: pass this report on only if you "
            "could pass on the data."
        )
    return [Paragraph(told, Tone.WARNING, Level.SUMMARY)]


def warn_of_noise(story: Story, account: PrivacyAccount) -> list[Paragraph]:
    warnings = warn_of_promise(account.epsilon, account.delta, count_asked(story))
    if account.signal >= POOR:
        return warnings
    told = "There were few clients, so much is lost in noise. More clients, fewer items or a larger ε help."
    return [*warnings, Paragraph(told, Tone.WARNING, Level.SUMMARY)]


def warn_of_promise(epsilon: float, delta: float, clients: int) -> list[Paragraph]:
    """Where ε or δ is so large that they promise little to each of so many clients."""
    warnings = []
    if epsilon > WEAK:
        warnings.append(
            f"ε = {number(epsilon)} promises little: something may be {_write_times(epsilon)} times as likely "
            "with the data of one as without. Where much depends on it, ε is 1 or less."
        )
    if is_delta_weak(delta, clients):
        warnings.append(
            f"δ = {round_up(delta, 2)} is no promise: as good as one in {count(int(1 / delta + 1e-9))} may be exposed. "
            f"For {count(clients)} clients, take one far below 1/{count(clients)}; unless given, it is "
            f"{round_up(choose_delta(clients), 2)}."
        )
    return [Paragraph(told, Tone.WARNING, Level.SUMMARY) for told in warnings]


def is_delta_weak(delta: float, clients: int) -> bool:
    """Whether somebody may be exposed although δ is kept: it allows for one client in 1/δ."""
    return clients > 0 and delta * clients >= 1 - 1e-9


def count_asked(story: Story) -> int:
    """The clients of a run; where a result is shown by itself, as many as were asked at once."""
    return story.n_clients or max((one.asked for one in story.result.rounds or ()), default=0)


def compare_forecast(story: Story, account: PrivacyAccount) -> list[Paragraph]:
    """What was reached, where a simulation knows it; loudly where it is less than was forecast."""
    central = central_share(story)
    expected = find_forecast(story, account)
    if central is None or expected is None:
        return []
    told = f"This run reached {percent(central.share)} of {central.name} (which sees all data)"
    limits = f"{percent(expected.low)} to {percent(expected.high)}"
    if central.share >= expected.low:
        return [Paragraph(f"{told}; the forecast was {limits}.")]
    return [Paragraph(f"{told}, less than the forecast of {limits}.", Tone.WARNING, Level.SUMMARY)]


def explain_signal(account: PrivacyAccount) -> str:
    """What noise left to be seen, as expected and as found."""
    told = (
        f"The signal: all answers together are {number(account.signal, 3)} deviations of the noise per item to be "
        "chosen."
    )
    if account.contrast is None:
        return told
    if account.contrast < FAINT:
        meaning = "hardly to be told from noise, so that many of them were picked at once"
    elif account.contrast < CLEAR:
        meaning = "clear as a group, but not one from the next, so that several were picked at once"
    else:
        meaning = "clear one by one"
    return f"{told} Before picking, the best items stood {number(account.contrast, 2)} deviations above it: {meaning}."


def explain_shares(story: Story, account: PrivacyAccount) -> str:
    """How the noise was made, and whom one need not trust with it."""
    pooled = story.secure == FEDERATION or is_by_party(story.result)
    whose = "parties" if pooled else "clients"
    simulated = " (a simulation draws their sum)" if story.secure in ("ideal", "") else ""
    made = (
        "Every party limits the answer of each of its clients by itself, and adds a share of noise to their sum"
        if pooled
        else "Every client adds a share of its own to its answer"
    )
    return (
        f"Nobody is trusted with the noise. {made}, from its own machine's randomness, before it is masked{simulated}; "
        f"nobody else sees a share, and none is stored. {count(account.honest)} honest shares are enough for the "
        "promise, and secure aggregation lets no sum with fewer through. All others come on top, so "
        f"{whose} that add none or drop out take nothing away."
    )


def explain_budget(account: PrivacyAccount) -> str:
    if account.fresh:
        return (
            f"Every client answered at most once, so the one round that it answered could cost it the whole budget "
            f"(μ = {number(account.mu, 3)}), and rounds do not add up."
        )
    lost = (
        " A round without a sum costs as much: answers had left." if any(one.lost for one in account.spendings) else ""
    )
    return (
        f"Everyone answered every round. Rounds add up by μ², to at most {number(account.mu, 3)}², the budget that ε "
        f"and δ give.{lost}"
    )


def _list_budget(account: PrivacyAccount) -> Table:
    rows: list[tuple[Cell, ...]] = [
        (
            Quantity(place + 1, Form.COUNT),
            one.label + (" (lost)" if one.lost else ""),
            Quantity(one.mu, field=f"privacy.spendings.{place}.mu", digits=3),
            Quantity((one.mu / account.mu) ** 2, Form.SHARE),
            Quantity(one.honest or None, Form.COUNT),
        )
        for place, one in enumerate(account.spendings)
    ]
    headers = (Header("Round"), Header("What for"), Header("μ"), Header("Of the budget"), Header("Honest shares"))
    return Table("The budget, round by round", headers, tuple(rows))


def _draw_budget(account: PrivacyAccount) -> list[Figure]:
    spec = budget_chart(account)
    if spec is None:
        return []
    title, caption = "What each round cost everyone.", "Shares of the budget that ε and δ give."
    if account.fresh:
        title = "What each round cost those who were asked in it."
        caption = "Of the budget that ε and δ give each of them. Nobody answered twice, so bars do not add up."
    return [Figure("budget", title, caption, spec)]


def list_unhidden(story: Story, account: PrivacyAccount) -> list[str]:
    """What the promise does not cover."""
    cost = cost_of(story.result)
    rounds = f" of these {count(cost.rounds)} rounds" if cost is not None and cost.rounds > 1 else " round"
    lines = [
        f"That one took part: the server knows who was asked and who answered in each{rounds}, and how many there are.",
        _explain_groups(account),
        "How much each one counts, where weights differ: noise is made for weights that everybody knows, and does not "
        "hide them.",
        "What is true of many: the answer says what many have in common, which may fit one of them too. It would have "
        "said nearly the same without that one.",
        "Other runs: each one has a budget of its own, and what they promise adds up (twice ε = 1 is ε = 2, and twice "
        "the δ).",
    ]
    if story.secure == FEDERATION:
        lines[-1] += " Parties keep count for their clients, and can set them a budget for all runs together."
        lines += [
            "Clients from their own party: its process sees what they hold. They are hidden from the server and from "
            "the other parties.",
            "A party as a whole: the promise is for each of its clients, not for all of them together. What many "
            "of them have in common can be seen if the party is in one sum and not in another.",
        ]
    lines += [
        "The answer, against modified software: one client that runs something else can make every number of a sum "
        "wrong, and nobody can tell.",
        "The answer, against false data: nobody sees single answers. A lie weighs no more than any answer, but enough "
        "of them move the sums.",
        "Our own mistakes: that any sum holds this many honest shares is an argument of this project, which nobody "
        "else has reviewed (docs/privacy.md says what rests on what).",
    ]
    return lines


def _explain_groups(account: PrivacyAccount) -> str:
    """How well two are hidden together: what they change in a sum is twice as much, so μ is."""
    both = round_up(find_epsilon(2 * account.mu, account.delta), 3)
    return (
        f"Groups: two who hold the same are hidden only as well as one would be with twice the μ, which is ε = {both} "
        "at the same δ (2ε is true only at a larger δ); a family or a team of m, with m times the μ. Someone whose "
        "data is with several clients is such a group."
    )


def summarise_spending(story: Story, account: PrivacyAccount) -> str:
    """In a few words, for the headline."""
    simulated = is_simulated_here(story)
    return summarise_promise(account.epsilon, account.delta, count_asked(story), simulated=simulated)


def summarise_promise(epsilon: float, delta: float, clients: int, *, simulated: bool) -> str:
    """What to say beside ε: never that somebody is hidden who is not."""
    weak = epsilon > WEAK or is_delta_weak(delta, clients)
    if simulated:
        told = f"noise as it would be{', which promises little' if weak else ''}; a simulation protects nobody"
    else:
        told = "this promises little" if weak else "noise hides every single one"
    return f"and δ = {round_up(delta, 2)}: {told}"
