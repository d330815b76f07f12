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


class RegistrationOutcome(StrEnum):
    """The outcome of a registration."""

    REGISTERED = "registered"
    REINSTALLED = "reinstalled"
    """The app was uninstalled; its memories are back."""
    RENAMED = "renamed"
    UNCHANGED = "already registered"

    @classmethod
    def of(cls, before: App | None, after: App) -> "RegistrationOutcome":
        """Return the outcome from the app before and after."""
        if before is None:
            return cls.REGISTERED
        if before.status is AppStatus.UNINSTALLED:
            return cls.REINSTALLED
        return cls.UNCHANGED if before.name == after.name else cls.RENAMED


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisteredApp(App):
    """An app with the outcome of its registration."""

    outcome: RegistrationOutcome


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
