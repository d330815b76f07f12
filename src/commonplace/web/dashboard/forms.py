"""What the forms of the dashboard share."""

from typing import Annotated, Final

from fastapi import Form

Text = Annotated[str, Form()]
"""A field of a form."""

INVALID: Final = 422
"""The status of a form that comes back with what is wrong."""
