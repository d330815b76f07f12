"""Fixtures of the browser; see :mod:`support.browser`."""

from support.browser import browser, page, screenshot
from support.dashboards import dashboard

__all__ = ["browser", "dashboard", "page", "screenshot"]
