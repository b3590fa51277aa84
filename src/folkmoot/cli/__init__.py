"""The command line. Commands load what they need when they run, so that help comes at once."""

from folkmoot.cli.app import main

__all__ = ["main"]
