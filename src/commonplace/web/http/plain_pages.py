"""Pages that need ``/docs.css`` only: the login and errors outside of the dashboard."""

from typing import Final

from fastapi.responses import HTMLResponse
from jinja2 import Environment, PackageLoader, StrictUndefined

_TEMPLATES: Final = Environment(
    loader=PackageLoader("commonplace.web.http"), autoescape=True, undefined=StrictUndefined, trim_blocks=True
)


def plain_page(template: str, *, http_status: int = 200, **values: object) -> HTMLResponse:
    """Return a page made from a template of ``web/templates``."""
    return HTMLResponse(_TEMPLATES.get_template(template).render(values), status_code=http_status)
