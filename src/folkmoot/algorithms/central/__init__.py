"""Methods that see every client's function."""
