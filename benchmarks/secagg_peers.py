"""Secure aggregation as Flower does it. Runs alone, in an environment of its own: no folkmoot in here.

    python benchmarks/secagg_peers.py shamir SHARES THRESHOLD REPEATS
    python benchmarks/secagg_peers.py round CLIENTS LENGTH NEIGHBOURS THRESHOLD DROPPED [SAMPLE]

`shamir` splits and combines secrets by PyCryptodome: as Flower calls it, and bare on two chunks of 16 bytes.
`round` does one round of SecAgg+ by Flower's own functions, in the order of its client (`secaggplus_mod`) and
its server (`SecAggPlusWorkflow`). Messages, their serialising and quantisation are left out: the vectors are
whole numbers already. The dropped clients share their secrets and then send no vector. With SAMPLE only so many
survivors and so many of the dropped are measured, with all their neighbours, and the server's seconds for one
of each are multiplied; without it everybody is, and the sum is checked. Prints one line of JSON.

Read in the source of Flower 1.41.0:
- `generate_shared_key` returns 32 bytes as 44 signs of base64. `pseudo_rand_gen` xors those signs together, in
  words of four, to one 32-bit seed. A sign of base64 is ASCII, its top bit is 0, so a pairwise mask hangs on
  28 bits. The seed of a client's own mask is 32 random bytes, folded in the same way to 32 bits.
- The generator is `numpy.random.RandomState`, the Mersenne Twister, which is not a cryptographic one.
  `randint(0, range - 1)` leaves out its upper end, so the largest number never occurs in a mask.
- `_share_keys` shares the seed, 32 bytes, and the private key as PEM text, 306 bytes. `create_shares` pads
  them and cuts them into 16 bytes: 3 and 20 chunks, each shared alone, in threads of pure Python.
- `unmask_stage` combines every share that arrived, not THRESHOLD of them. The cost grows with their square.
"""

import json
import os
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import Any

import numpy as np
from Crypto.Protocol.SecretSharing import Shamir
from flwr.common.secure_aggregation import ndarrays_arithmetic as arithmetic
from flwr.common.secure_aggregation import secaggplus_utils as messages
from flwr.common.secure_aggregation.crypto.shamir import combine_shares, create_shares
from flwr.common.secure_aggregation.crypto.symmetric_encryption import decrypt, encrypt, generate_shared_key
from flwr.supercore.primitives import asymmetric

MODULUS = 1 << 32  # Flower's default
Shares = dict[tuple[int, int], tuple[bytes, bytes]]  # (owner, holder): of the seed, of the key


class Clock(defaultdict[str, float]):
    """Adds up seconds by name."""

    @contextmanager
    def __call__(self, name: str) -> Iterator[None]:
        start = perf_counter()
        yield
        self[name] += perf_counter() - start


def mean(clocks: list[Clock]) -> dict[str, float]:
    """Mean seconds by name; nothing of nobody."""
    return {name: sum(clock[name] for clock in clocks) / len(clocks) for clock in clocks[:1] for name in clock}


def agree(private: bytes, public: bytes) -> Any:
    """Flower reads both keys from PEM anew for every pair."""
    return generate_shared_key(asymmetric.bytes_to_private_key(private), asymmetric.bytes_to_public_key(public))


def add_pair_mask(total: Any, key: bytes, own: int, other: int) -> Any:
    """Adds the mask of a pair to the client of the larger number, subtracts it from the other."""
    mask = messages.pseudo_rand_gen(key, MODULUS, arithmetic.get_parameters_shape(total))
    change = arithmetic.parameters_addition if own > other else arithmetic.parameters_subtraction
    return change(total, mask)


class Client:
    """One client. Its key pairs, as PEM, are one for masks and one for messages."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.clock = Clock(float)
        self.agreed: dict[int, bytes] = {}  # with each neighbour, for messages
        self.seed = os.urandom(32)
        with self.clock("key_pairs"):
            pairs = [asymmetric.generate_key_pairs() for _ in range(2)]
            self.private = [asymmetric.private_key_to_bytes(private) for private, _ in pairs]
            self.public = [asymmetric.public_key_to_bytes(public) for _, public in pairs]

    def share(self, holders: list["Client"], threshold: int, shares: Shares) -> dict[int, bytes]:
        """Shares the seed and the key for masks among the holders, itself one of them; returns the ciphertexts."""
        with self.clock("shares"):
            seeds = create_shares(self.seed, threshold, len(holders))
            keys = create_shares(self.private[0], threshold, len(holders))
        ciphertexts = {}
        for holder, pair in zip(holders, zip(seeds, keys, strict=True), strict=True):
            shares[self.number, holder.number] = pair
            if holder is not self:
                with self.clock("agreement"):
                    key = self.agreed[holder.number] = agree(self.private[1], holder.public[1])
                with self.clock("encryption"):
                    text = messages.share_keys_plaintext_concat(self.number, holder.number, *pair)
                    ciphertexts[holder.number] = encrypt(key, text)
        return ciphertexts

    def receive(self, source: int, ciphertext: bytes, shares: Shares) -> None:
        """Decrypts the shares of a neighbour."""
        with self.clock("decryption"):
            text = decrypt(self.agreed[source], ciphertext)
            author, reader, seed, key = messages.share_keys_plaintext_separate(text)
        assert (author, reader) == (source, self.number)
        shares[source, self.number] = seed, key

    def mask(self, vector: Any, neighbours: list["Client"]) -> Any:
        """The vector, and a 1 before it as its weight, under the client's own mask and one with each neighbour."""
        with self.clock("masks"):
            total = arithmetic.factor_combine(1, [vector])
            own = messages.pseudo_rand_gen(self.seed, MODULUS, arithmetic.get_parameters_shape(total))
            total = arithmetic.parameters_addition(total, own)
        for other in neighbours:
            with self.clock("agreement"):
                key = agree(self.private[0], other.public[0])
            with self.clock("masks"):
                total = add_pair_mask(total, key, self.number, other.number)
        with self.clock("masks"):
            return arithmetic.parameters_mod(total, MODULUS)


def whole_round(n: int, length: int, neighbours: int, threshold: int, drops: int, sample: int) -> dict[str, Any]:
    """One round, measured for `sample` survivors and as many of the dropped."""
    reach = (neighbours + 1) // 2
    ring = [sorted({(i + step) % n for step in range(-reach, reach + 1)}) for i in range(n)]
    dropped = [i * n // drops for i in range(drops)]
    survivors = sorted(set(range(n)) - set(dropped))
    holding = [sorted(set(near) - set(dropped)) for near in ring]
    if any(len(near) != neighbours + 1 for near in ring):
        raise SystemExit("NEIGHBOURS must be even, half of them on either side, or all the others")
    if min(map(len, holding)) < threshold:
        raise SystemExit("too few neighbours of some client survive to combine its secrets")

    kept, lost = survivors[:sample], dropped[:sample]
    clients = [Client(i) for i in range(n)]
    shares: Shares = {}
    ciphertexts = {i: clients[i].share([clients[j] for j in ring[i]], threshold, shares) for i in kept + lost}
    for i in kept:
        for source, key in clients[i].agreed.items():
            if source in ciphertexts:
                clients[i].receive(source, ciphertexts[source][i], shares)
            else:  # not measured: what it would have sent, with shares of the same size
                text = messages.share_keys_plaintext_concat(source, i, *shares[i, i])
                clients[i].receive(source, encrypt(key, text), {})
    vectors = [np.random.default_rng(i).integers(0, 1000, length) for i in kept]
    masked = [clients[i].mask(v, [clients[j] for j in ring[i] if j != i]) for i, v in zip(kept, vectors, strict=True)]

    adding, clocks = Clock(float), {i: Clock(float) for i in kept + lost}
    with adding("sum"):  # as many vectors as there are survivors, the measured ones over and over
        total = masked[0]
        for place in range(1, len(survivors)):
            total = arithmetic.parameters_addition(total, masked[place % len(masked)])
        total = arithmetic.parameters_mod(total, MODULUS)
    for i, clock in clocks.items():
        arrived = [shares[i, holder][i in lost] for holder in holding[i]]
        with clock("combining_arrived"):
            secret = combine_shares(arrived)
        with clock("combining_threshold"):
            again = combine_shares(arrived[:threshold])
        assert secret == again == (clients[i].private[0] if i in lost else clients[i].seed)
        with clock("removing_masks"):
            if i in lost:
                for j in ring[i]:
                    total = total if j == i else add_pair_mask(total, agree(secret, clients[j].public[0]), i, j)
            else:
                own = messages.pseudo_rand_gen(secret, MODULUS, arithmetic.get_parameters_shape(total))
                total = arithmetic.parameters_subtraction(total, own)
    count, (answer,) = arithmetic.factor_extract(arithmetic.parameters_mod(total, MODULUS))
    complete = len(kept + lost) == n
    assert not complete or (count == len(survivors) and np.array_equal(answer, np.sum(vectors, axis=0)))

    client = mean([clients[i].clock for i in kept])
    survivor, drop = mean([clocks[i] for i in kept]), mean([clocks[i] for i in lost])
    server = {}
    for way in ("combining_arrived", "combining_threshold"):  # what Flower does, and what would be enough
        each = [part[way] + part["removing_masks"] if part else 0.0 for part in (survivor, drop)]
        server[way] = adding["sum"] + len(survivors) * each[0] + len(dropped) * each[1]
    return {
        "measured": {"survivors": len(kept), "of": len(survivors), "dropped": len(lost), "of_dropped": len(dropped)},
        "sum_checked": complete,
        "shares_arrived": len(holding[kept[0]]),
        "client_seconds": client | {"total": sum(client.values())},
        "server_seconds_measured": {"sum": adding["sum"], "a_survivor": survivor, "a_dropped": drop},
        "server_seconds_multiplied": server,
    }


def time_fastest(repeats: int, run: Callable[..., Any], *arguments: Any) -> tuple[float, Any]:
    """Seconds of the fastest run, and the last result."""
    seconds = []
    for _ in range(repeats):
        start = perf_counter()
        result = run(*arguments)
        seconds.append(perf_counter() - start)
    return min(seconds), result


def shamir(shares: int, threshold: int, repeats: int) -> dict[str, Any]:
    """Seconds to split a whole secret, and to combine it from THRESHOLD shares and from all."""
    seed, key = os.urandom(32), asymmetric.private_key_to_bytes(asymmetric.generate_key_pairs()[0])

    def bare_split(secret: bytes, *numbers: int) -> list[Any]:
        return list(zip(Shamir.split(*numbers, secret[:16]), Shamir.split(*numbers, secret[16:]), strict=True))

    def bare_combine(pairs: list[Any]) -> bytes:
        return b"".join(Shamir.combine(half) for half in zip(*pairs, strict=True))

    report = {}
    for name, secret, split, combine in (
        ("flower_seed", seed, create_shares, combine_shares),
        ("flower_key", key, create_shares, combine_shares),
        ("bare_seed", seed, bare_split, bare_combine),
    ):
        splitting, parts = time_fastest(repeats, split, secret, threshold, shares)
        combining, once = time_fastest(repeats, combine, parts[:threshold])
        combining_all, again = time_fastest(repeats, combine, parts)
        assert once == again == secret
        report[name] = {"bytes": len(secret), "split": splitting, "combine": combining, "combine_all": combining_all}
    return report


def main() -> None:
    mode, numbers = sys.argv[1], [int(word) for word in sys.argv[2:]]
    if mode == "shamir":
        report = shamir(*numbers)
    else:
        whole_round(5, 10, 4, 3, 1, 5)  # loads and warms, and its sum is checked
        report = whole_round(*numbers[:5], *(numbers[5:] or numbers[:1]))
    print(json.dumps({"mode": mode, "arguments": numbers} | report))


if __name__ == "__main__":
    main()
