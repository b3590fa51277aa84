"""Log-determinant: what noisy Gaussian measurements at the chosen items tell about the rest."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from folkmoot.errors import InputError
from folkmoot.inputs import as_number
from folkmoot.objectives.objective import Objective
from folkmoot.sets import Array, Ids, Mask, Rows


class LogDet(Objective):
    """f_i(S) = ½ log det(I + Φ_S Φ_Sᵀ / σ²): monotone and submodular; in nats.

    `features`: clients × items × dimensions (or items × dimensions for one client); two items are alike
    to a client as far as their feature vectors are. `noise`: the standard deviation σ of a measurement.
    """

    def __init__(
        self,
        features: Any,
        noise: float,
        *,
        weights: ArrayLike | None = None,
        item_names: Any = None,
        client_names: Any = None,
    ) -> None:
        self.features = _checked(features)
        self.variance = as_number(noise, "noise", above=True) ** 2
        n_clients, n_items, _ = self.features.shape
        self._describe(n_items, n_clients, weights, item_names, client_names)

    def _keep(self, clients: Ids) -> None:
        self.features = self.features[clients]

    def _values(self, sets: Mask) -> Array:
        return np.stack([np.linalg.slogdet(self._precision(members))[1] / 2 for members in sets], axis=1)

    def _precision(self, members: Mask) -> Array:
        """I + ΦᵀΦ/σ² or I + ΦΦᵀ/σ², whichever is smaller: their determinants agree."""
        chosen = self.features[:, members, :]
        if chosen.shape[1] > chosen.shape[2]:
            chosen = chosen.transpose(0, 2, 1)
        identity: Array = np.eye(chosen.shape[1])
        return identity + chosen @ chosen.transpose(0, 2, 1) / self.variance

    def _gains_of(self, members: Mask, items: Ids) -> Array:
        """½ log(1 + v/σ²), v the variance of the item's value once S was measured."""
        others, chosen = self.features[:, items, :], self.features[:, members, :]
        factor = np.linalg.cholesky(self._precision(members))
        if chosen.shape[1] > chosen.shape[2]:
            known = np.linalg.solve(factor, others.transpose(0, 2, 1))
            left = (known**2).sum(axis=1)
        else:
            known = np.linalg.solve(factor, chosen @ others.transpose(0, 2, 1))
            left = (others**2).sum(axis=2) - (known**2).sum(axis=1) / self.variance
        gains: Array = np.log1p(np.maximum(left, 0.0) / self.variance) / 2
        gains[:, members[items]] = 0.0
        return gains

    def _gains(self, members: Mask) -> Rows:
        return csr_array(self._gains_of(members, np.arange(self.n_items)))

    def _mean_gains(self, members: Mask, items: Ids) -> Array:
        return self.weights @ self._gains_of(members, items)


def _checked(features: Any) -> NDArray[np.float64]:
    try:
        given = np.asarray(features)
    except ValueError:
        raise InputError("features: every client needs as many items and dimensions (pad with zeros)") from None
    if given.dtype.kind not in "biuf":
        raise InputError(f"features: holds {given.dtype}; real numbers are needed")
    if given.ndim == 2:
        given = given[None]
    if given.ndim != 3 or 0 in given.shape:
        raise InputError(f"features: needs clients × items × dimensions, none of them 0; got shape {given.shape}")
    given = given.astype(np.float64)
    if not np.isfinite(given).all():
        client, item, dimension = (int(at) for at in np.argwhere(~np.isfinite(given))[0])
        raise InputError(
            f"features: client {client}, item {item}, dimension {dimension} is "
            f"{given[client, item, dimension]}; fill or drop it"
        )
    return given
