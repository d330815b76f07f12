from commonplace.projects.git_fingerprint import Clues as Clues
from commonplace.projects.identity import is_project_id as is_project_id
from commonplace.projects.merges import Merge as Merge
from commonplace.projects.merges import ProjectMoves as ProjectMoves
from commonplace.projects.project import DistantProject as DistantProject
from commonplace.projects.project import Project as Project
from commonplace.projects.registry import Projects as Projects
from commonplace.projects.registry import with_workspace as with_workspace
