from commonplace.apps.memory import AppMemory as AppMemory
from commonplace.core.settings import Settings as Settings
from commonplace.core.settings import load_settings as load_settings
from commonplace.knowledge.memory import KnowledgeMemory as KnowledgeMemory
from commonplace.operational import OperationalMemory as OperationalMemory
from commonplace.workspace.memory import WorkspaceMemory as WorkspaceMemory
