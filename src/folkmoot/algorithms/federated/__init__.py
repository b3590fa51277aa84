"""Methods that see only sums."""
