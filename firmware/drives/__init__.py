"""Drives: what turns a command of the board into motion, and what was measured back."""
