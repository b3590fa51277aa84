"""Ways to choose that see every client's function."""
