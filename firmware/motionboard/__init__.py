"""The firmware of an idmkit motion board."""

VERSION = (0, 1, 0)
