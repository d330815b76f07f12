"""Projects: whose memory it is.

A project has an identity that two projects of one name never share. Its id is its butler and its scope in knowledge
memory. Doors import the names below and nothing else.
"""

from typing import TYPE_CHECKING

from commonplace.core.public_names import lazy_names

if TYPE_CHECKING:
    from commonplace.projects.clues import Clues
    from commonplace.projects.registry import Project, Projects

__all__ = ["Clues", "Project", "Projects"]
__getattr__ = lazy_names(__name__, {"clues": "Clues", "registry": "Project Projects"})
