"""The scope that an option ``--project`` names."""

from commonplace.cli.frame.run import settings
from commonplace.core.errors import InvalidInputError
from commonplace.knowledge import GLOBAL_SCOPE
from commonplace.projects import Projects


def scope_of_option(project: str | None) -> str:
    """Return the scope of a project by its id or name, ``global``, or that of this directory for ``None``.

    Raises:
        InvalidInputError: This directory is no project.
        NotFoundError: There is no such project.
    """
    chosen = settings()
    projects = Projects(chosen.home)
    if project is None:
        own = projects.butler_for(chosen.workspace)
        if own is None:
            raise InvalidInputError(
                "--project", "a project, or global: this directory is no project yet", None
            )
        return own
    return GLOBAL_SCOPE if project == GLOBAL_SCOPE else projects.scope_of(project)
