"""What turns a question into the sum of the answers."""

from folkmoot.engines.simulate import Simulation

__all__ = ["Simulation"]
