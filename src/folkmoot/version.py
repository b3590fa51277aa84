"""The version, where every room can read it."""

__version__ = "0.7.0"
