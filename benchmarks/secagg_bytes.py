"""What a round costs a client in bytes, computed and measured; and how well sketches decode."""

import os

import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from benchmarks.instances import HERE
from benchmarks.table import Floor, show
from folkmoot.foundation.sets import Ids
from folkmoot.secagg import Announcement, Policy, SketchFailed, aggregate, choose
from folkmoot.secagg.sketch import Sketch
from folkmoot.secagg.together import members_of
from folkmoot.secagg.traffic import room_for, traffic

FIGURE = HERE / "docs" / "figures" / "secagg_bytes.svg"
SECURITY_FIGURE = FIGURE.with_name("secagg_security.svg")
TERMS = (  # clients, corrupt, gone
    (50, 0.05, 0.05),
    (100, 0.05, 0.05),
    (1_000, 0.05, 0.05),
    (10_000, 0.05, 0.05),
    (100, 0.1, 0.1),
    (300, 0.1, 0.1),
    (1_000, 0.1, 0.1),
    (10_000, 0.1, 0.1),
    (100_000, 0.1, 0.1),
    (1_000, 0.2, 0.1),
)
LENGTHS = (1_000, 10_000, 100_000, 1_000_000)
COHORTS = (100, 1_000, 10_000)
HITS = 20  # numbers of an answer that are not 0
LARGEST = 1  # votes; a dense answer of 4 bits has 15
MEASURED = ((30, 1_000, 0), (30, 100_000, HITS), (60, 10_000, 0), (60, 20_000, HITS))  # clients, length, hits


def announce(clients: int, length: int, hits: int) -> Announcement:
    """Answers of 4 bits written out, or few votes in whatever form is smaller."""
    most = clients * (LARGEST if hits else 15)
    room = room_for(length, most, min(length, clients * hits)) if hits else 0
    return Announcement(bytes(16), 1, bytes(32), bytes(32), clients, length, most, room)


def measure(clients: int, length: int, hits: int) -> tuple[float, float]:
    """Mean bytes down and up of a client, in a round that was run."""
    members = members_of({one: Ed25519PrivateKey.generate() for one in range(clients)}, Policy())
    plan = announce(clients, length, hits)
    asked = Announcement(os.urandom(16), 1, bytes(32), members[0].roster.digest, clients, length, plan.most, plan.room)
    down, up = [], []

    def watch(_stage: str, _client: int, received: bytes, sent: bytes) -> None:
        down.append(len(received))
        up.append(len(sent))

    def answer(client: int) -> Ids:
        vector = np.zeros(length, dtype=np.int64)
        vector[np.random.default_rng(client).permutation(length)[: hits or length]] = 1
        return vector

    result = aggregate(asked, members, lambda client: lambda _: answer(client), watch=watch)
    assert (result.total == sum(answer(client) for client in members)).all()
    return sum(down) / clients, sum(up) / clients


def sketches(length: int = 1_000_000, clients: int = 1_000, trials: int = 1_000) -> list[Floor]:
    """Random items for everybody, many times; then more items than there is room for."""
    room, rng, right, wrong = clients * HITS, np.random.default_rng(0), 0, 0
    for _ in range(trials):
        sketch = Sketch(length, room, clients * LARGEST, rng.bytes(32))
        items, numbers = np.unique(rng.integers(0, length, room), return_counts=True)
        expected = np.zeros(length, dtype=np.int64)
        expected[items] = numbers
        try:
            found = sketch.decode(sketch.encode(items, numbers))
        except SketchFailed:
            continue
        right += bool((found == expected).all())
        wrong += not (found == expected).all()
    noticed, overloads = 0, 200
    for load in np.linspace(1.3 * room, 6 * room, overloads).astype(int):
        sketch = Sketch(length, room, clients * LARGEST, rng.bytes(32))
        items = rng.choice(length, load, replace=False)
        try:
            found = sketch.decode(sketch.encode(items, np.ones(load, dtype=np.int64)))
            wrong += not (np.flatnonzero(found) == np.sort(items)).all()
        except SketchFailed:
            noticed += 1
    size = announce(clients, length, HITS).vector_size
    dense = -(-length * (clients * LARGEST).bit_length() // 8)
    show(
        f"Sketches: {length:,} items, {clients:,} clients, {HITS} each",
        ["", "", ""],
        [
            ["bytes a client", f"{size:,}", f"written out: {dense:,}"],
            ["decoded exactly", f"{right:,} of {trials:,}", ""],
            ["overloaded and noticed", f"{noticed} of {overloads}", ""],
            ["wrong sums", f"{wrong}", ""],
        ],
    )
    return [
        Floor("kilobytes of a sketch, a million items, 1,000 × 20", size / 1e3, None, 224, "sketch.size", "kB"),
        Floor("the same, written out", dense / 1e6, None, None, "sketch.dense", "MB"),
        Floor("sketches decoded exactly", right, at_least=trials),
        Floor("overloaded sketches noticed", noticed, at_least=overloads),
        Floor("wrong sums", wrong, at_most=0),
    ]


def table() -> list[Floor]:
    rows = []
    for clients in COHORTS:
        for length in LENGTHS:
            cells = []
            for hits in (0, HITS):
                plan = announce(clients, length, hits)
                down, up = traffic(plan, choose(clients)).total
                cells += [f"{plan.vector_size:,}{' (sketch)' if plan.room else ''}", f"{up:,}"]
            rows.append([f"{clients:,} clients, {length:,} items", *cells, f"{down:,}"])
    show("Bytes a client", ["", "4-bit vector", "all up", f"{HITS} votes", "all up", "down, either way"], rows)
    checks = []
    for case in MEASURED:
        expected = traffic(announce(*case), choose(case[0])).total
        checks.append((case, expected, measure(*case)))
    show(
        "Computed and measured, mean of all clients",
        ["clients, items, votes", "down, computed", "measured", "up, computed", "measured", ""],
        [[f"{case}", f"{c[0]:,}", f"{m[0]:,.0f}", f"{c[1]:,}", f"{m[1]:,.0f}", ""] for case, c, m in checks],
    )
    off = max(abs(a - b) for _, computed, seen in checks for a, b in zip(computed, seen, strict=True))
    return [Floor("computed and measured bytes differ by", off, at_most=0)]


def degrees() -> None:
    """What 64 bits of security cost beside 40: neighbours, and bytes beside the vector."""
    rows = []
    for clients, corrupt, dropout in TERMS:
        cells = [f"{clients:,}", f"{100 * corrupt:.0f} / {100 * dropout:.0f} %"]
        for security in (40, 64):
            found = choose(clients, corrupt=corrupt, dropout=dropout, security=security)
            plan = announce(clients, 1_000, 0)
            down, up = traffic(plan, found).total
            cells += [f"{found.degree} / {found.threshold}", f"{up - plan.vector_size:,} / {down:,}"]
        rows.append(cells)
    names = ["degree / threshold, 40 bits", "bytes up / down", "64 bits", "bytes up / down"]
    show("Degrees, and bytes beside the vector", ["clients", "corrupt / gone", *names], rows)


def draw_security() -> None:
    """Degree and bytes over the number of clients, for 40 and 64 bits."""
    import matplotlib
    from matplotlib.figure import Figure

    matplotlib.rcParams["svg.hashsalt"] = "folkmoot"
    cohorts = np.unique(np.logspace(1, 5, 60).astype(int))
    figure = Figure(figsize=(7.5, 3.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    for colour, security in (("#c8553d", 40), ("#1b6ca8", 64)):
        found = [choose(int(n), security=security) for n in cohorts]
        left.plot(cohorts, [one.degree for one in found], color=colour, label=f"{security} bits")
        plans = [(one, announce(one.clients, 1_000, 0)) for one in found]
        up = [traffic(plan, one).total[1] - plan.vector_size for one, plan in plans]
        right.plot(cohorts, up, color=colour, label=f"{security} bits")
    left.set(xscale="log", xlabel="clients", ylabel="neighbours that a client chooses")
    right.set(xscale="log", xlabel="clients", ylabel="bytes a client sends beside its vector")
    for axes in (left, right):
        axes.grid(alpha=0.3)
        axes.legend(fontsize=8)
    figure.savefig(SECURITY_FIGURE, metadata={"Date": None})


def draw() -> None:
    """Bytes up over the number of items."""
    import matplotlib
    from matplotlib.figure import Figure

    matplotlib.rcParams["svg.hashsalt"] = "folkmoot"  # the same numbers give the same file
    lengths = np.unique(np.logspace(2, 7, 120).astype(int))
    figure = Figure(figsize=(7.5, 4.2), layout="constrained")
    axes = figure.subplots()
    for colour, clients in zip(("#1b6ca8", "#c8553d", "#588157"), COHORTS, strict=True):
        for hits, style in ((0, "-"), (HITS, "--")):
            up = [traffic(announce(clients, int(n), hits), choose(clients)).total[1] for n in lengths]
            label = f"{clients:,} clients, " + (f"{HITS} votes each" if hits else "4-bit vectors")
            axes.plot(lengths, up, style, color=colour, label=label)
    axes.set(xscale="log", yscale="log", xlabel="items", ylabel="bytes a client sends in a round")
    axes.grid(alpha=0.3)
    axes.legend(fontsize=8)
    figure.savefig(FIGURE, metadata={"Date": None})


def main() -> list[Floor]:
    floors = [*sketches(), *table()]
    degrees()
    draw()
    draw_security()
    return floors
