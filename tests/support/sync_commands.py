"""A device that syncs by commands."""

from typing import Any

from support.commands import CommandLine, Done

PASSPHRASE = "correct horse battery staple"


class CommandDevice:
    """A home and the command in it.

    Args:
        commonplace: The command.
        database: The URL of knowledge memory.
        variables: Further variables of the command.

    Attributes:
        home: The home.
    """

    def __init__(self, commonplace: CommandLine, database: str, **variables: str) -> None:
        self._commonplace = commonplace
        self.home = commonplace.home
        self.variables: dict[str, Any] = {"COMMONPLACE_POSTGRES_URL": database} | variables

    def __call__(self, *words: str, passphrase: str = PASSPHRASE) -> Done:
        """Run a command that must not fail; it reads the passphrase if it asks."""
        done = self._commonplace(*words, stdin=f"{passphrase}\n".encode(), **self.variables)
        assert done.status == 0, done.err
        return done

    def refused(self, *words: str, passphrase: str = PASSPHRASE) -> str:
        """Run a command that must fail, and return its error."""
        done = self._commonplace(*words, stdin=f"{passphrase}\n".encode(), **self.variables)
        assert done.status == 1, done.out
        return done.err

    def learn(self, name: str) -> str:
        """Learn a lesson, and return its text."""
        text = f"{name} takes 60s to start"
        self("add", "lesson", text, "--category", "timing", "--service", name)
        return text

    def texts(self, kind: str) -> list[str]:
        """The texts of the memories of a kind, such as lessons."""
        return sorted(each["text"] for each in self("list", kind, "--json").json[kind])

    def lessons(self) -> list[str]:
        """The texts of the lessons."""
        return self.texts("lessons")
