"""Inverse dynamic models as CasADi graphs, and their evaluation."""
