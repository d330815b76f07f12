"""The opening of all memories; every other room of the services stands on it."""

from commonplace.services.opening.memories import Memories as Memories
from commonplace.services.opening.memories import OpenedMemories as OpenedMemories
