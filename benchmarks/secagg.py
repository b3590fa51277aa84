"""Secure aggregation against the bare operations it is made of, and against what a user would pick instead.

Every ratio is taken within one run, the two sides in turn.
"""

import json
import os
import subprocess
from collections.abc import Callable
from time import perf_counter, process_time
from typing import Any

import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from nacl.bindings import crypto_scalarmult, crypto_scalarmult_base

from benchmarks.instances import HERE
from benchmarks.table import Floor, show
from folkmoot.foundation.kernels import run_on_threads, thread_count, threads
from folkmoot.foundation.randomness import SYSTEM
from folkmoot.foundation.sets import Ids
from folkmoot.secagg import Aggregate, Announcement, Member, Parameters, Policy, aggregate, choose, serve, shamir
from folkmoot.secagg.keys import own_mask_key, pair_purpose
from folkmoot.secagg.masks import TILE, add_masks, as_words
from folkmoot.secagg.messages import Boxes
from folkmoot.secagg.packing import pack_bits
from folkmoot.secagg.primitives import keyed_hash, stream
from folkmoot.secagg.state import State
from folkmoot.secagg.together import STAGES, exchange_in_process, members_of
from folkmoot.secagg.work import SharedWork

LARGEST = 1_000
PEER_PYTHON = HERE / ".secagg-venv" / "bin" / "python"


def time_fastest(work: Callable[[], object], repeats: int) -> float:
    return min(seconds(work) for _ in range(repeats))


def seconds(work: Callable[[], object]) -> float:
    start = perf_counter()
    work()
    return perf_counter() - start


def federation(
    clients: int, length: int, policy: Policy, most: int | None = None
) -> tuple[Announcement, dict[int, Member]]:
    members = members_of({one: Ed25519PrivateKey.generate() for one in range(clients)}, policy)
    most = clients * LARGEST if most is None else most
    return Announcement(os.urandom(16), 1, bytes(32), members[0].roster.digest, clients, length, most), members


def vector(client: int, length: int) -> Ids:
    """The same that the peers sum."""
    return np.random.default_rng(client).integers(0, LARGEST, length)


def masking(length: int = 1_000_000, neighbours: int = 100, repeats: int = 5) -> list[Floor]:
    """One client: keys agreed, masks made and added, the vector packed; beside it, the keystream and sums alone."""
    numbers = vector(0, length)
    mine = os.urandom(32)
    publics = [crypto_scalarmult_base(os.urandom(32)) for _ in range(neighbours)]
    state, seed = os.urandom(32), os.urandom(32)

    def ours() -> None:
        words = as_words(numbers, 32)
        secrets = [crypto_scalarmult(mine, public) for public in publics]
        purposes = [pair_purpose(state, 0, other) for other in range(1, neighbours + 1)]
        keys = [keyed_hash(secret, purpose, 16) for secret, purpose in zip(secrets, purposes, strict=True)]
        add_masks(words, [own_mask_key(seed, state), *keys])
        pack_bits(words, 32)

    zeros, buffer = bytes(4 * length), bytearray(4 * length)

    def bare() -> None:
        words = numbers.astype(np.uint32)
        for _ in range(neighbours + 1):
            stream(os.urandom(16)).update_into(zeros, buffer)
            np.add(words, np.frombuffer(buffer, dtype=np.uint32), out=words)

    with threads(1):
        times = [(seconds(ours), seconds(bare)) for _ in range(repeats)]
    mine_best, bare_best = (min(side) for side in zip(*times, strict=True))
    show(
        f"Masking {length:,} numbers of 32 bits, {neighbours} neighbours, one thread",
        ["", "ms", ""],
        [
            ["keys, masks and packing", f"{1e3 * mine_best:.0f}", ""],
            ["AES-128-CTR and additions alone", f"{1e3 * bare_best:.0f}", ""],
        ],
    )
    return [Floor("masking / the same AES bytes and additions", mine_best / bare_best, at_most=1.6)]


def server(clients: int = 1_000, length: int = 1_000_000, gone: int = 50) -> list[Floor]:
    """The server's part of a large round, with clients gone after the others masked with them."""
    policy = Policy(corrupt=0.05, dropout=0.05)
    announcement, members = federation(clients, length, policy, most=2**32 - 1)  # the ring of `masking`
    leading = serve(announcement, members[0].roster, sorted(members), policy)
    states, outbox, spent = dict.fromkeys(members, State()), next(leading), dict.fromkeys(STAGES, 0.0)
    result: Aggregate | None = None
    threshold, work = policy.protection(clients).threshold, SharedWork()
    for stage in STAGES:
        there = {one: said for one, said in outbox.items() if stage != "vector" or one >= gone}
        replies = exchange_in_process(
            members, states, there, lambda client: lambda _: vector(client, length), SYSTEM, work
        )
        if stage == "shares":
            graph = {one: Boxes.decode(said, clients, threshold).boxes.keys() for one, said in replies.items()}
        start = perf_counter()
        try:
            outbox = leading.send(replies)
        except StopIteration as end:
            result = end.value
        spent[stage] = perf_counter() - start
    assert result is not None
    assert result.survivors == tuple(range(gone, clients))
    assert (result.total == sum(vector(one, length) for one in result.survivors)).all()
    degree = result.parameters.degree
    pairs = sum(one in graph[other] or other in graph[one] for one in range(gone) for other in result.survivors)
    masks = len(result.survivors) + pairs
    floor = keystream(masks * 4 * length)
    show(
        f"Server: {clients:,} clients, {gone} gone, {length:,} numbers, degree {degree}, {thread_count()} threads",
        ["", "seconds", ""],
        [[stage, f"{spent[stage]:.2f}", ""] for stage in STAGES]
        + [["all", f"{sum(spent.values()):.2f}", ""], [f"AES of {masks:,} masks alone", f"{floor:.2f}", ""]],
    )
    return [Floor(f"server, degree {degree} / its AES alone", sum(spent.values()) / floor, at_most=2)]


def keystream(size: int) -> float:
    """Seconds for so many bytes of AES-128-CTR on all threads, from a tenth of them."""
    zeros, tiles = bytes(TILE), size // 10 // TILE // thread_count()

    def some(_lo: int, _hi: int) -> None:
        cipher, buffer = stream(bytes(16)), bytearray(TILE)
        for _ in range(tiles):
            cipher.update_into(zeros, buffer)

    return 10 * time_fastest(lambda: run_on_threads(some, [(at, at + 1) for at in range(thread_count())]), 3)


def whole_round(clients: int, length: int = 500) -> list[Floor]:
    """Everybody in one process, against the bare operations, half of them before and half after it."""
    announcement, members = federation(clients, length, Policy())
    chosen, vectors = choose(clients), {one: vector(one, length) for one in members}
    aggregate(announcement, members, lambda client: lambda _: vectors[client])  # everything is loaded and compiled
    pairs = set[tuple[int, int]]()

    def watch(stage: str, client: int, _received: bytes, sent: bytes) -> None:
        if stage == "shares":
            holders = Boxes.decode(sent, chosen.degree, chosen.threshold).boxes
            pairs.update((min(client, other), max(client, other)) for other in holders)

    announcement, members = federation(clients, length, Policy())
    before = cpu_seconds(lambda: bare_operations(clients // 2, clients * chosen.degree // 2, chosen, length))
    start = perf_counter()
    spent = cpu_seconds(lambda: aggregate(announcement, members, lambda client: lambda _: vectors[client], None, watch))
    wall = perf_counter() - start
    after = cpu_seconds(lambda: bare_operations(clients // 2, clients * chosen.degree // 2, chosen, length))
    floor = (before + after) * len(pairs) / (clients * chosen.degree)
    show(
        f"{clients:,} clients and the server in one process, {length:,} numbers, degree {chosen.degree}, "
        f"{thread_count()} threads",
        ["", "CPU seconds", "ms a client", "seconds"],
        [
            ["the whole round", f"{spent:.2f}", f"{1e3 * spent / clients:.1f}", f"{wall:.2f}"],
            ["the bare operations", f"{floor:.2f}", f"{1e3 * floor / clients:.1f}", ""],
        ],
    )
    return [
        Floor(f"{clients:,} clients in one process", spent, name=f"round.{clients}", unit="s of CPU time"),
        Floor(
            f"{clients:,} clients in one process / the bare operations, CPU",
            *(spent / floor, None, 1.5),
            name=f"round.{clients}.bare",
        ),
        Floor(f"{clients:,} clients in one process, time / CPU time", wall / spent, at_most=0.8),
    ]


def cpu_seconds(work: Callable[[], object]) -> float:
    start = process_time()
    work()
    return process_time() - start


def bare_operations(clients: int, pairs: int, chosen: Parameters, length: int) -> None:
    """Two agreements a pair, each made once; keys, a signature and a check of it, both secrets shared and one of them
    reconstructed a client; and masks, one at either end of a pair, a client's own twice.
    """
    private, identity = os.urandom(32), Ed25519PrivateKey.generate()
    public, verifier = crypto_scalarmult_base(private), identity.public_key()
    seed, points = os.urandom(32), np.arange(1, chosen.threshold + 1)
    needed = shamir.count_random_bytes(32, chosen.threshold)
    for _ in range(clients):
        crypto_scalarmult_base(private), crypto_scalarmult_base(private)
        verifier.verify(identity.sign(seed), seed)
        shamir.split(seed, chosen.degree, chosen.threshold, os.urandom(needed))
        shares = shamir.split(seed, chosen.degree, chosen.threshold, os.urandom(needed))
        shamir.combine(points, shares[: chosen.threshold], 32)
    for _ in range(2 * pairs):
        crypto_scalarmult(private, public)
    words = np.zeros(length, dtype=np.uint32)
    zeros, buffer = bytes(4 * length), bytearray(4 * length)
    mask = np.frombuffer(buffer, dtype=np.uint32)
    for _ in range(2 * pairs + 2 * clients):
        stream(seed[:16]).update_into(zeros, buffer)
        np.add(words, mask, out=words)


def sharing(shares: int = 100, threshold: int = 51) -> list[Floor]:
    """Splitting and combining 32 bytes, against PyCryptodome as it is and as Flower calls it."""
    secret, places = os.urandom(32), np.random.default_rng(0).permutation(shares)[:threshold]
    needed = shamir.count_random_bytes(32, threshold)
    dealt = shamir.split(secret, shares, threshold, os.urandom(needed))
    assert shamir.combine(places + 1, dealt[places], 32) == secret
    split = time_fastest(lambda: shamir.split(secret, shares, threshold, os.urandom(needed)), 200)
    combine = time_fastest(lambda: shamir.combine(places + 1, dealt[places], 32), 200)
    rows = [["folkmoot, GF(2^61 − 1)", f"{1e3 * split:.3f}", f"{1e3 * combine:.3f}", ""]]
    floors = [
        Floor("Shamir split, ms", 1e3 * split, at_most=0.5),
        Floor("Shamir combine, ms", 1e3 * combine, at_most=0.2),
    ]
    theirs = peer("shamir", shares, threshold, 3)
    if theirs is not None:
        for name, what in (("bare_seed", "PyCryptodome, GF(2^128)"), ("flower_seed", "the same, as Flower calls it")):
            took = theirs[name]
            rows.append([what, f"{1e3 * took['split']:.0f}", f"{1e3 * took['combine']:.0f}", ""])
        ratio = min(theirs["bare_seed"]["split"] / split, theirs["bare_seed"]["combine"] / combine)
        floors.append(Floor("PyCryptodome's Shamir / ours, the smaller of split and combine", ratio, at_least=1_000))
    show(f"Shamir, {threshold} of {shares}, 32 bytes", ["", "split, ms", "combine, ms", ""], rows)
    return floors


def flower(clients: int = 100, length: int = 10_000, gone: int = 1) -> list[Floor]:
    """A round of the same vectors with the same neighbours and threshold, clients and server together."""
    policy, chosen = Policy(), choose(clients)
    theirs = peer("round", clients, length, chosen.degree, chosen.threshold, gone, 5)
    if theirs is None:
        return []
    announcement, members = federation(clients, length, policy)

    def ours() -> None:
        result = aggregate(
            announcement,
            members,
            lambda client: lambda _: vector(client, length),
            lambda stage, client: stage == "vector" and client < gone,
        )
        assert (result.total == sum(vector(one, length) for one in result.survivors)).all()

    spent = time_fastest(ours, 2)
    everybody = clients * theirs["client_seconds"]["total"]
    rows = [["folkmoot, all of it", f"{spent:.2f}", "against a malicious server; 128-bit keys of masks"]]
    totals = {}
    for way, what in (
        ("combining_arrived", "as it is"),
        ("combining_threshold", "had it combined no more than needed"),
    ):
        totals[way] = everybody + theirs["server_seconds_multiplied"][way]
        rows.append([f"Flower 1.41, {what}", f"{totals[way]:.1f}", "against a curious server; 28-bit seeds of masks"])
    show(
        f"{clients} clients, {length:,} numbers, {chosen.degree} neighbours, threshold {chosen.threshold}, {gone} gone",
        ["", "seconds", ""],
        rows,
    )
    return [Floor("Flower's round / ours", min(totals.values()) / spent, at_least=10)]


def peer(*words: object) -> dict[str, Any] | None:
    if not PEER_PYTHON.exists():
        print(f"{PEER_PYTHON.relative_to(HERE)} is missing: `make bench` installs the peers")
        return None
    command = [PEER_PYTHON, HERE / "benchmarks" / "secagg_peers.py", *words]
    run = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=True)
    answer: dict[str, Any] = json.loads(run.stdout.splitlines()[-1])
    return answer


def main() -> list[Floor]:
    return [*masking(), *sharing(), *flower(), *server()]


def rounds() -> list[Floor]:
    return [floor for clients in (100, 300, 1_000) for floor in whole_round(clients)]


def ten_thousand() -> list[Floor]:
    """Takes many minutes."""
    return whole_round(10_000)
