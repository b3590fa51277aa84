"""Ways to choose that see sums only."""
