"""Fields and values of forms on the dashboard."""

from typing import Annotated

from fastapi import Form

Text = Annotated[str, Form()]
"""A field of a form."""
