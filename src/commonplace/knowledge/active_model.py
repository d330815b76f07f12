"""Which model's vectors are compared, and what becomes of those of another (KNW-31).

The database knows one active model, and takes no other's vectors, whatever program stores them. Models are told apart
by their version, a hash of the weights: a name may be a directory, and another one on the next machine.
"""

import logging
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

import asyncpg

from commonplace.core.errors import ModelMismatchError
from commonplace.embedding import EmbeddingEngine

CONSTRAINT: Final = "embedding_model_active"
"""What the database names when it refuses a vector."""

_log = logging.getLogger(__name__)
_warned: set[tuple[str, str]] = set()


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorModel:
    """A model that makes vectors: its name for people, its version to compare by."""

    name: str
    version: str

    def __str__(self) -> str:
        """Name both, as messages do."""
        return f"{self.name}, version {self.version}"


def model_of(engine: EmbeddingEngine) -> VectorModel:
    """Return the model of an engine that has embedded something; one that has not would load it here."""
    return VectorModel(name=engine.model_name, version=engine.model_version)


def mismatch(ours: VectorModel, active: VectorModel) -> ModelMismatchError:
    """Return the error that says that the memories are of another model."""
    return ModelMismatchError(f"the vectors of the memories are made by {active}, and these by {ours}")


def warn_of_other_model(ours: VectorModel, active: VectorModel) -> None:
    """Log that searches go by words alone until this process is restarted; once for each pair of models."""
    pair = (ours.version, active.version)
    if pair not in _warned:
        _warned.add(pair)
        _log.warning("searching by words alone: %s", mismatch(ours, active))


@contextmanager
def refused_vectors() -> Generator[None]:
    """Say clearly that the database refused vectors because they are of another model than the memories'.

    Raises:
        ModelMismatchError: They are; nothing was written.
    """
    try:
        yield
    except asyncpg.CheckViolationError as error:
        details = error.as_dict()
        if details.get("constraint_name") != CONSTRAINT:
            raise
        raise ModelMismatchError(str(details["message"])) from None
