"""Distances on the Earth, taken as a sphere with its mean radius."""

import numpy as np

from folkmoot.foundation.sets import Array

RADIUS = 6371.0088  # km


def project(degrees: Array) -> Array:
    """Points of the unit sphere, from latitude and longitude."""
    latitude, longitude = np.radians(degrees).T
    return np.column_stack(
        (np.cos(latitude) * np.cos(longitude), np.cos(latitude) * np.sin(longitude), np.sin(latitude))
    )


def measure_arcs(chord: Array) -> Array:
    """Kilometres along the sphere, from chords of the unit sphere."""
    return np.asarray(2 * RADIUS * np.arcsin(np.minimum(chord / 2, 1.0)))


def find_benefits(degrees: Array, reach: float) -> Array:
    """What each place is worth to somebody at each other: 1 − distance/reach, rows are where they are."""
    points = project(degrees)
    chords = np.sqrt(np.maximum(2.0 - 2.0 * np.einsum("id,jd->ij", points, points), 0.0))
    return np.maximum(1.0 - measure_arcs(chords) / reach, 0.0)
