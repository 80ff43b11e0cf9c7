"""Boards: one file each, with its pins, buses, clocks and limits."""
