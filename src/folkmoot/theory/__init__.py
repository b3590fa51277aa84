"""The mathematics that solvers share: the multilinear extension, rounding, bounds, guarantees, confidence."""
