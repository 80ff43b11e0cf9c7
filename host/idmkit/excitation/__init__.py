"""Motions from which a robot is identified: planned, optimised and proved before anything moves."""
