"""idmkit: identify the inverse dynamic model of a robot and put it on its motion board."""

__version__ = "0.1.0"
