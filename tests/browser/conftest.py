"""Fixtures of the browser; see :mod:`support.browser`."""

from support.browser import browser, dashboard, page, screenshot

__all__ = ["browser", "dashboard", "page", "screenshot"]
