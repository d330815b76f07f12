"""commonplace: memory that lasts from one session of an AI agent to the next.

    from commonplace import AppMemory, KnowledgeMemory, OperationalMemory, WorkspaceMemory

    async with OperationalMemory.open() as memory:
        print((await memory.context()).text)

Each name loads when it is first used.
"""

from commonplace.core.public_names import public_names

__all__, __getattr__ = public_names(__name__, __path__[0])
