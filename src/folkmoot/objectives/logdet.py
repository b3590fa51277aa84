"""Log-determinant: how much noisy Gaussian measurements at the chosen items tell about the others."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from folkmoot.foundation.errors import InputError
from folkmoot.foundation.frames import is_frame, read_matrix
from folkmoot.foundation.inputs import as_number
from folkmoot.foundation.sets import Array, Ids, Mask, Rows, weigh
from folkmoot.objectives.objective import Objective

MOST = 1e100


class LogDet(Objective):
    """f_i(S) = ½ log det(I + Φ_S Φ_Sᵀ / σ²): monotone and submodular; in nats.

    `features`: clients × items × dimensions (or items × dimensions for one client, which may be a DataFrame); two items
    are as similar to a client as their feature vectors. `noise`: the standard deviation σ of a measurement.
    """

    by_construction = True

    def __init__(
        self,
        features: Any,
        noise: float,
        *,
        weights: ArrayLike | None = None,
        item_names: Any = None,
        client_names: Any = None,
    ) -> None:
        if is_frame(features):
            named = read_matrix(features, "features")
            features, item_names = named.numbers, named.rows if item_names is None else item_names
        # In units of the noise: σ itself is never squared, so nothing overflows or vanishes.
        self.features = _check(features, as_number(noise, "noise", above=True))
        n_clients, n_items, _ = self.features.shape
        self._describe(n_items, n_clients, weights, item_names, client_names)

    def _keep(self, clients: Ids) -> None:
        self.features = self.features[clients]

    def values_at(self, sets: Mask) -> Array:
        """½ Σ log(1 + s²) over the singular values of Φ_S: more accurate than a determinant."""
        return np.stack([np.log1p(self._directions(members)[0] ** 2).sum(axis=1) / 2 for members in sets], axis=1)

    def _directions(self, members: Mask) -> tuple[Array, Array]:
        """The singular values of Φ_S and the directions they belong to, for each client."""
        _, sizes, directions = np.linalg.svd(self.features[:, members, :], full_matrices=False)
        return sizes, directions

    def _gains_of(self, members: Mask, items: Ids) -> Array:
        """½ log(1 + v), where v is the variance of the item's value after S was measured."""
        others = self.features[:, items, :]
        sizes, directions = self._directions(members)
        along = others @ directions.transpose(0, 2, 1)
        across = others - along @ directions
        left = (across**2).sum(axis=2) + (along**2 / (1.0 + sizes**2)[:, None, :]).sum(axis=2)
        gains: Array = np.log1p(left) / 2
        gains[:, members[items]] = 0.0
        return gains

    def gains_at(self, members: Mask) -> Rows:
        return csr_array(self._gains_of(members, np.arange(self.n_items)))

    def mean_gains_at(self, members: Mask, items: Ids) -> Array:
        return np.asarray(weigh(self.weights, self._gains_of(members, items)))


def _check(features: Any, noise: float) -> NDArray[np.float64]:
    try:
        given = np.asarray(features)
    except ValueError:
        raise InputError(
            "clients differ in their numbers of items or dimensions", remedy="pad with zeros", argument="features"
        ) from None
    if given.dtype.kind not in "biuf":
        raise InputError(f"holds {given.dtype}; real numbers are needed", argument="features")
    if given.ndim == 2:
        given = given[None]
    if given.ndim != 3 or 0 in given.shape:
        raise InputError(
            f"needs clients × items × dimensions, none of them 0; got shape {given.shape}", argument="features"
        )
    with np.errstate(over="ignore", under="ignore"):
        scaled = given.astype(np.float64) / noise
    wrong = ~(np.abs(scaled) < MOST)
    if wrong.any():
        client, item, dimension = (int(at) for at in np.argwhere(wrong)[0])
        raise InputError(
            f"client {client}, item {item}, dimension {dimension} is {given[client, item, dimension]}",
            remedy=f"fill or drop it, or scale it (values must stay below {MOST:g} times the noise)",
            argument="features",
        )
    return scaled
