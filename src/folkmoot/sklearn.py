"""Feature selection for scikit-learn with rows that stay at their sites: the server learns only sums over sites."""

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any, Literal, Self
from warnings import warn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from folkmoot.algorithms.central import ContinuousGreedy, Method
from folkmoot.algorithms.federated.baselines import FederatedFrankWolfe
from folkmoot.algorithms.federated.discrete import DiscreteGreedy
from folkmoot.algorithms.federated.fedcg import FedCG, FedCGPlus
from folkmoot.application.outlook import Outlook
from folkmoot.application.solve import make_private, solve
from folkmoot.conversation.outcome import Conversation
from folkmoot.conversation.population import Population
from folkmoot.data.bins import Categories, Quantiles, as_edges, bin_column
from folkmoot.data.tables import check_bits
from folkmoot.engines.simulate import Simulation
from folkmoot.foundation.errors import InputError
from folkmoot.foundation.frames import TEXT, TIME, FrameColumn, is_frame, list_columns
from folkmoot.foundation.inputs import as_count, as_list
from folkmoot.foundation.sets import Array, Ids, Mask, indicator
from folkmoot.objectives.information import MOST_STATES, Information
from folkmoot.privacy.accounting import Privacy
from folkmoot.secagg import Policy

try:
    from sklearn.base import BaseEstimator
    from sklearn.feature_selection import SelectorMixin
    from sklearn.utils import check_random_state, check_X_y
    from sklearn.utils.validation import check_is_fitted, validate_data
except ImportError as error:
    raise ImportError("folkmoot.sklearn needs scikit-learn 1.7 or later: pip install 'folkmoot[sklearn]'") from error

COMFORTABLE = 1 << 16  # joint states of k features up to which bins are not reduced: seconds, not minutes
MOST_CLASSES = 20  # a y of floats with more values is a number to be cut into bins, not a label
SAMPLING = (FedCG, FedCGPlus, FederatedFrankWolfe, ContinuousGreedy)  # they evaluate random sets, also larger ones
Edges = Sequence[ArrayLike | None] | Mapping[str, ArrayLike | None]


class NotFederated(UserWarning):
    """No sites were given, so that one of them holds all rows and nothing is federated."""


class FederatedSelector(SelectorMixin, BaseEstimator):  # type: ignore[misc]
    """Choose the k features that together tell most about a label, without pooling the rows of the sites.

    Every site (such as a hospital) estimates from its own rows how many bits a set of features tells about the
    label, assuming that features are independent given the label: `folkmoot.Information`, monotone and submodular.
    The chosen features have a large mean over the sites, each weighted by its number of rows (greedy: at least
    1 − 1/e of the largest possible). A feature adds less if others tell the same; but as in naive Bayes, a copy of a
    feature counts as a second, independent opinion, so drop copies first.

    This class simulates such a federation in one process, on rows that are all passed to `fit`. What each site
    answers depends on its own rows and on what is public: the features, k, the numbers of rows, and the edges at
    which features are cut into bins. A real federation must agree on edges beforehand; pass them as `edges`. By
    default edges are quantiles of the pooled training rows, as a convenience: no site could know those alone. A sum
    over few sites hides little about each of them (`print(selector.result_)` says so).

    Parameters
    ----------
    k : how many features to choose.
    method : any method of `folkmoot.solve`. None: federated greedy in which every site answers, which is
        `DiscreteGreedy(expected_answers=number of sites, importance="uniform", polish=0)`; with few sites it finds
        what `FedCG()` finds in a fraction of the time. `Greedy()` sees all data.
    epsilon : noise that hides every single site in all that the server sees (docs/privacy.md); the method is then
        `PrivateGreedy`. It takes hundreds of sites: fewer are drowned in noise, and refused. None: no noise.
    delta, adjacency : see `folkmoot.Privacy`.
    most : with epsilon, how many bits the label can have at most, as everybody knows: 1 for yes or no, 2 for four
        classes.
    bins : the largest number of bins into which a feature is cut (a feature with no more values than that keeps them
        all). k features of b bins have b^k joint states, so fewer bins are used where k is large: as many as possible
        without any k features having more than 65,536 joint states, but at least 2 as long as that makes no more than
        4 million (k = 22). That is five bins up to k = 6, four up to 8, three up to 10, two up to 22; `bins_` says
        how many were used.
    edges : for each feature the increasing numbers at which it is cut, in the order of the features or by name (for
        text None, or nothing); the bin of x is the number of edges that are at most x. They are used as given, whatever
        `bins` is.
    target_edges : the same for a y that is a number.
    smoothing : added to every count at every site (1: Laplace). Without it, small sites mistake chance for information.
    secure : "real" runs secure aggregation for every sum, and refuses fewer than 10 sites, which are too few to hide
        among; "ideal" and "plain" give the same sums at once.
    random_state : a number gives the same features every time. By default only ties are broken at random; other
        methods use more randomness.

    Attributes
    ----------
    support_ : a mask of the chosen features.
    result_ : the `folkmoot.Result`: its value in bits, its bound on the best possible, its rounds, and what each
        feature adds to those before it in `order`.
    scores_ : how many bits each feature tells alone, mean over the sites.
    bins_ : the largest number of bins that a feature could have.
    edges_ : for each feature, where it was cut; of a text feature, where the numbers of its categories were.
    categories_ : for each text feature its words, the most frequent first; None for numbers.
    target_edges_ : where y was cut; None where y is a label.
    sites_ : the sites, in the order of the federation's clients.
    method_ : the method that was used.
    n_features_in_, feature_names_in_ : what `fit` saw.

    X may be a DataFrame (pandas or polars) with columns of text, whose words are categories: the bins − 1 most frequent
    ones have a bin each, all others share the last. Which words are frequent is public, as edges are; here they are
    counted over the pooled rows. `transform` returns text as it is.

    Missing values (NaN) of a feature are a bin of their own, because it may be informative that a value is missing.
    `transform` leaves them as they are. y is a label, unless it holds floats with fractions or with more than 20
    different values: then it is a number, and is cut at quantiles into `bins` bins. Whole numbers (counts) are labels;
    to have them cut, pass them as floats or give `target_edges`.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> hospitals = np.array(["north", "east", "south", "west"])[np.arange(len(y)) % 4]
    >>> selector = FederatedSelector(3, random_state=0).fit(X, y, sites=hospitals)
    >>> selector.get_support(indices=True)
    array([ 7, 22, 27])
    >>> selector.transform(X).shape, selector.bins_
    ((569, 3), 5)
    >>> round(selector.result_.value, 2), selector.sites_       # bits, of the 0.95 that the label has
    (0.83, ['east', 'north', 'south', 'west'])

    In a pipeline the sites are routed as metadata, with `sklearn.set_config(enable_metadata_routing=True)`:
    `make_pipeline(FederatedSelector(3).set_fit_request(sites=True), LogisticRegression()).fit(X, y, sites=hospitals)`.
    """

    def __init__(
        self,
        k: int = 10,
        *,
        method: Method | Conversation | None = None,
        epsilon: float | None = None,
        delta: float | None = None,
        adjacency: str = "zero-out",
        most: float | None = None,
        bins: int = 5,
        edges: Edges | None = None,
        target_edges: ArrayLike | None = None,
        smoothing: float = 1.0,
        secure: Literal["ideal", "plain", "real"] = "ideal",
        random_state: Any = None,
    ) -> None:
        self.k = k
        self.method = method
        self.epsilon = epsilon
        self.delta = delta
        self.adjacency = adjacency
        self.most = most
        self.bins = bins
        self.edges = edges
        self.target_edges = target_edges
        self.smoothing = smoothing
        self.secure = secure
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sites: Any = None) -> Self:
        """Choose features from the rows X with labels y.

        `sites`: for each row the site that holds it, text or numbers. None: one site holds all rows, and the features
        are those of the pooled rows; a federated method then warns (`NotFederated`) that nothing is federated.
        """
        X, y, words = self._read_rows(X, y)
        self.categories_ = [None if one is None else one.words for one in words]
        k = as_count(self.k, "k")
        if k > X.shape[1]:
            raise InputError(
                f"{k} features cannot be chosen from n_features={X.shape[1]}", remedy="give a smaller k", argument="k"
            )
        names, site = number_groups(np.zeros(len(y), dtype=np.int64) if sites is None else sites, "sites", len(y))
        self.target_edges_: Any
        label, self.target_edges_ = self._label(y)
        rows = np.split(np.argsort(site, kind="stable"), np.cumsum(np.bincount(site))[:-1])
        if all((label[mine] == label[mine[0]]).all() for mine in rows):
            where = "" if sites is None else " at every site"
            raise InputError(f"has only one class{where}, so there is nothing to predict", argument="y")
        if self.epsilon is None and self.delta is not None:
            raise InputError("is for noise", remedy="give epsilon too", argument="delta")
        if self.epsilon is not None:
            method: Any = make_private(self.method, Privacy(self.epsilon, self.delta, self.adjacency))
        elif self.method is None:
            method = DiscreteGreedy(expected_answers=len(rows), importance="uniform", polish=0)
        else:
            method = self.method
        if sites is None and isinstance(method, Conversation):
            warn(
                "no sites were given: one site holds all rows, and nothing is federated; pass fit(X, y, sites=…)",
                NotFederated,
                stacklevel=2,
            )
        self.edges_, self.bins_ = self._choose_edges(X, words, k, method)
        cut = np.column_stack([bin_column(column, at) for column, at in zip(X.T, self.edges_, strict=True)])
        objective = Information(
            [cut[mine] for mine in rows],
            [label[mine] for mine in rows],
            smoothing=self.smoothing,
            weights=[len(mine) for mine in rows],
            item_names=getattr(self, "feature_names_in_", None),
            client_names=names,
        )
        if self.epsilon is not None and k < X.shape[1]:  # whoever is refused anyway need not find out anything else
            Outlook.of(method.privacy, Population.of(objective), method.cohort, k, Policy()).check()
        objective.most = self._check_most(objective)
        engine = Simulation(objective, self.secure)
        if not isinstance(method, Conversation) and self.secure == "real":
            raise InputError(f'"real" needs a federated method, but {method!r} sees every row', argument="secure")
        seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        self.result_ = solve(
            objective, k, method, engine=engine if isinstance(method, Conversation) else None, seed=seed, progress=False
        )
        self.method_, self.sites_ = method, names
        self.scores_: Array = objective.mean_gains(())
        self.support_ = indicator(X.shape[1], np.array(self.result_.selected, dtype=np.int64))
        return self

    def _read_rows(self, X: Any, y: Any) -> tuple[Array, NDArray[Any], list[Categories | None]]:
        """The rows as numbers, and the words that the numbers of a column stand for; only DataFrames may hold words."""
        columns = list_columns(X, "X") if is_frame(X) else []
        for column in columns:
            if column.kind == TIME:
                raise InputError(
                    f"column {column.name!r} holds times",
                    remedy="give numbers, such as days since a date, or leave it out",
                    argument="X",
                )
        if any(column.kind == TEXT for column in columns):
            validate_data(self, X, skip_check_array=True)  # the names of the columns
            words = [Categories(column.cells) if column.kind == TEXT else None for column in columns]
            numbers = np.column_stack([_number(*both) for both in zip(columns, words, strict=True)])
            return *check_X_y(numbers, y, dtype=np.float64, ensure_all_finite="allow-nan", estimator=self), words
        try:
            rows, labels = validate_data(self, X, y, dtype=np.float64, ensure_all_finite="allow-nan")
        except ValueError as error:
            if "could not convert string to float" not in str(error):
                raise
            raise InputError(
                f"holds text ({str(error).partition(': ')[2]})",
                remedy="pass a DataFrame: of its columns, those of text become categories",
                argument="X",
            ) from None
        return rows, labels, [None] * rows.shape[1]

    def _check_most(self, objective: Information) -> float | None:
        """What everybody knows of the label, in bits."""
        if self.most is None:
            if self.epsilon is not None:
                raise InputError(
                    "is needed under noise, where nobody can be asked how large values are",
                    remedy="say how many bits the label can have, such as",
                    settings=[("most", 1.0)],
                    argument="most",
                )
            return None
        return check_bits(objective, self.most)

    def _label(self, y: NDArray[Any]) -> tuple[Ids, Array | None]:
        """Labels as whole numbers, and the edges at which y was cut if it is a number."""
        if self.target_edges is not None:
            edges = as_edges(self.target_edges, "target_edges")
            if y.dtype.kind not in "biuf":
                raise InputError("are for numbers, but y holds text or objects", argument="target_edges")
        elif y.dtype.kind == "f" and ((y != np.floor(y)).any() or len(np.unique(y)) > MOST_CLASSES):
            edges = Quantiles(y).edges(as_count(self.bins, "bins", least=2))
        else:
            return number_groups(y, "y", len(y))[1], None
        return bin_column(y.astype(np.float64), edges), edges

    def _choose_edges(self, X: Array, words: list[Categories | None], k: int, method: Any) -> tuple[list[Array], int]:
        """Where features are cut: into as many bins as possible without too many joint states of the sets that the
        method evaluates.
        """
        missing = [bool(np.isnan(column).any()) for column in X.T]
        sampling = isinstance(method, SAMPLING)
        largest = min(2 * k, X.shape[1]) if sampling else k  # random sets are almost never twice as large as k

        def states(cuts: list[Array], size: int) -> int:
            """The most joint states that `size` features can have."""
            values = sorted(len(edges) + 1 + gaps for edges, gaps in zip(cuts, missing, strict=True))
            return prod(values[-size:])

        bins = as_count(self.bins, "bins", least=2)
        if self.edges is not None:
            cuts = self._check_edges(words, bins)
            bins = max(len(edges) for edges in cuts) + 1
        else:
            columns = [one or Quantiles(column) for one, column in zip(words, X.T, strict=True)]
            cuts = [column.edges(bins) for column in columns]
            while bins > 2 and (states(cuts, k) > COMFORTABLE or states(cuts, largest) > MOST_STATES):
                bins -= 1
                cuts = [column.edges(bins) for column in columns]
        if states(cuts, largest) > MOST_STATES:
            sets = f"sets of up to {largest} features, which {method!r} may evaluate," if sampling else f"{k} features"
            cure = "use method=None, which takes k up to 22, or " if sampling else ""
            cure += "choose fewer features" + ("" if self.edges is None else " or give fewer edges")
            cure += ", or fill missing values, which are a bin of their own" if any(missing) else ""
            raise InputError(
                f"{sets} in {bins} bins have {float(states(cuts, largest)):.3g} joint states, more than {MOST_STATES}",
                remedy=cure,
                argument="k",
            )
        return cuts, bins

    def _check_edges(self, words: list[Categories | None], bins: int) -> list[Array]:
        """The edges given by the user, checked; columns of text have none, and are cut by how frequent words are."""
        edges: Any = self.edges
        if isinstance(edges, Mapping):
            names = getattr(self, "feature_names_in_", None)
            if names is None:
                raise InputError(
                    "are given by name, but X has no names",
                    remedy="give a list of edges, or X as a DataFrame",
                    argument="edges",
                )
            absent = [name for name, one in zip(names, words, strict=True) if one is None and name not in edges]
            if absent:
                raise InputError(f"feature {absent[0]!r} has none ({len(absent)} such features)", argument="edges")
            edges = [edges.get(name) for name in names]
        given = as_list(edges, "edges")
        if len(given) != len(words):
            raise InputError(f"needs one list per feature ({len(words)}), got {len(given)}", argument="edges")
        cuts = []
        for at, (cut, one) in enumerate(zip(given, words, strict=True)):
            if one is not None and cut is not None:
                raise InputError(
                    "holds text, which has no edges", remedy="give None", argument="edges", within=f"feature {at}"
                )
            cuts.append(as_edges(cut, "edges", f"feature {at}") if one is None else one.edges(bins))
        return cuts

    def transform(self, X: Any) -> Any:
        """X reduced to the chosen features. Columns of a polars DataFrame keep their types where the output is one."""
        shown = super().transform(X)
        both = all(hasattr(one, "get_columns") for one in (X, shown))
        return X.select(shown.columns) if both else shown

    def _get_support_mask(self) -> Mask:
        check_is_fitted(self)
        return self.support_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.allow_nan = True
        return tags


def _number(column: FrameColumn, words: Categories | None) -> Array:
    return column.cells if words is None else words.number(column.cells)


def number_groups(given: Any, name: str, n_rows: int) -> tuple[list[Any], Ids]:
    """The different values, sorted, and the number of each row's value."""
    values = np.asarray(given)
    if values.shape != (n_rows,):
        raise InputError(f"needs one value per row ({n_rows}), got shape {values.shape}", argument=name)
    if values.dtype.kind != "O":
        kinds, numbers = np.unique(values, return_inverse=True)
        if (kinds != kinds).any():
            raise InputError(f"row {int(np.flatnonzero(values != values)[0])} is missing", argument=name)
        return kinds.tolist(), numbers.astype(np.int64)
    missing = [at for at, value in enumerate(values) if value is None or value != value]
    if missing:
        raise InputError(f"row {missing[0]} is missing", argument=name)
    ordered = sorted(set(values.tolist()), key=lambda value: (str(value), type(value).__name__))
    number = {value: at for at, value in enumerate(ordered)}
    return ordered, np.array([number[value] for value in values.tolist()], dtype=np.int64)
