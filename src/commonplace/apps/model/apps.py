"""Apps that have memories."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from commonplace.storage.rows import Noun


class AppStatus(StrEnum):
    """The status of an app."""

    INSTALLED = "installed"
    UNINSTALLED = "uninstalled"
    """The app's memories stay."""


@dataclass(frozen=True, slots=True, kw_only=True)
class App(Noun):
    """One row of ``apps``; context blocks show ``name``."""

    app_id: str
    name: str
    status: AppStatus
    installed_at: datetime
    uninstalled_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedApp:
    """An app and its number of memories."""

    app: App
    memories: int


@dataclass(frozen=True, slots=True, kw_only=True)
class UninstallReceipt:
    """The result of uninstalling an app: ``retained`` and ``purged`` count memories."""

    app_id: str
    retained: int
    purged: int
