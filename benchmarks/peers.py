"""What a user would pick instead. Runs alone, in the peers' own environment: no folkmoot in here.

    python benchmarks/peers.py INSTANCE.npz KIND ITEMS PEER OPTIMIZER REPEATS

KIND is facility or coverage. Each repeat goes from a scipy matrix to the chosen items; one run before
them loads and warms whatever can be warmed. Prints one line of JSON: seconds and items of every repeat.
"""

import json
import sys
import warnings
from time import perf_counter
from typing import Any

import numpy as np
from scipy import sparse

warnings.simplefilter("ignore")


def apricot(matrix: Any, kind: str, k: int, optimizer: str) -> list[int]:
    from apricot import FacilityLocationSelection, MaxCoverageSelection

    if kind == "facility":  # a rectangular similarity is passed as it is, items × clients
        model = FacilityLocationSelection(k, metric="ignore", optimizer=optimizer)
        return list(map(int, model.fit(matrix.T.toarray()).ranking))
    model = MaxCoverageSelection(k, optimizer=optimizer)
    return list(map(int, model.fit(sparse.csr_matrix(matrix.T)).ranking))


def submodlib(matrix: Any, kind: str, k: int, optimizer: str) -> list[int]:
    from submodlib import FacilityLocationFunction, SetCoverFunction

    clients, items = matrix.shape
    if kind == "facility":
        function = FacilityLocationFunction(
            n=items, mode="dense", separate_rep=True, n_rep=clients, sijs=matrix.toarray()
        )
    else:
        columns = matrix.tocsc()
        sets = [set(part.tolist()) for part in np.split(columns.indices, columns.indptr[1:-1])]
        function = SetCoverFunction(n=items, cover_set=sets, num_concepts=clients)
    chosen = function.maximize(
        budget=k, optimizer=optimizer, stopIfZeroGain=False, stopIfNegativeGain=False, show_progress=False
    )
    return [int(item) for item, _ in chosen]


def main() -> None:
    path, kind, k, peer, optimizer, repeats = sys.argv[1:]
    stored = np.load(path)
    matrix = sparse.csr_matrix((stored["data"], stored["indices"], stored["indptr"]), shape=tuple(stored["shape"]))
    run = {"apricot": apricot, "submodlib": submodlib}[peer]
    run(matrix, kind, int(k), optimizer)
    seconds, answers = [], []
    for _ in range(int(repeats)):
        start = perf_counter()
        answers.append(run(matrix, kind, int(k), optimizer))
        seconds.append(perf_counter() - start)
    print(json.dumps({"seconds": seconds, "answers": answers}))


if __name__ == "__main__":
    main()
