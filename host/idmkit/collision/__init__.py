"""Collisions from records of motion: a momentum observer on the host, and thresholds for it and for the board."""

from idmkit.collision.observer import MomentumObserver
from idmkit.collision.thresholds import Thresholds, filter_memory, first_alarm, suggest

__all__ = ["MomentumObserver", "Thresholds", "filter_memory", "first_alarm", "suggest"]
