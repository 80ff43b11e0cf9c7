"""The command line: one module a verb, which parses and calls."""
