"""Pictures and pages for people."""

from idmkit.report.figure import save_figure

__all__ = ["save_figure"]
