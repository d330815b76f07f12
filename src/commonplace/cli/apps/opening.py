"""App memory, opened for its commands."""

from contextlib import AbstractAsyncContextManager

from commonplace.apps import AppMemory
from commonplace.cli.frame.run import settings


def opened_with_model() -> AbstractAsyncContextManager[AppMemory]:
    """Open app memory with the model that makes its digests."""
    return AppMemory.open(settings())


def opened_without_model() -> AbstractAsyncContextManager[AppMemory]:
    """Open app memory for work without a model, because the model's key or program may be missing."""
    return AppMemory.open(settings().with_model(None))
