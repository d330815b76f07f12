"""The rows of apps."""

from commonplace.apps.model.apps import App
from commonplace.apps.store.statements import AppStatements


async def get_app(sql: AppStatements, app_id: str) -> App:
    """Return an app, installed or not.

    Raises:
        NotFoundError: No app has this id.
    """
    return App.existing(await sql.get_app(app_id=app_id), app_id)
