"""Workers: background work of knowledge memory on a schedule, for every tenant, on any number of machines.

Interfaces and the host import the names in ``__all__``; everything else in this package is private. The names load when
they are first used, because Procrastinate takes 0.3 s to import.
"""

from commonplace.core.public_names import public_names

__all__, __getattr__ = public_names(__name__, __path__[0])
