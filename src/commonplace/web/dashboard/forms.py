"""Types and the error status of forms on the dashboard."""

from typing import Annotated, Final

from fastapi import Form

Text = Annotated[str, Form()]
"""A field of a form."""

INVALID: Final = 422
"""The status of a form that is shown again with errors."""
