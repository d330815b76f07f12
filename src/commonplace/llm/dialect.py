"""Dialects of OpenAI's protocol: how a server accepts the form of an answer, and what it calls the token limit.

Servers differ, and few report what they support. The first request with a form tries the form, and the result is
remembered for the model and the address.
"""

import hashlib
import json
import logging
import re
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

from commonplace.core.atomic_write import write_text
from commonplace.core.directories import make_directories

_log = logging.getLogger(__name__)

_REFUSING: Final = (400, 422, 501)
"""Statuses with which a server refuses a parameter."""
_NAMING: Final = (*_REFUSING, 404, 500)
"""Statuses with which a server refuses a parameter by name: OpenRouter answers 404, llama.cpp 500."""
_FORM_WORDS: Final = re.compile(
    r"tool|function|jinja|response_format|schema|grammar|guided|structured|system role", re.IGNORECASE
)
_LIMIT_WORDS: Final = re.compile(r"max(?:_completion)?_tokens", re.IGNORECASE)


class AnswerForm(StrEnum):
    """The way in which a request carries the schema of its answer."""

    TOOL = "tool"
    """The schema is the schema of a tool that the model must call."""
    SCHEMA = "schema"
    """The server enforces the schema."""
    TEXT = "text"
    """The prompt contains the schema."""


class LimitName(StrEnum):
    """The name of the parameter that limits the tokens of an answer."""

    NEW = "max_completion_tokens"
    OLD = "max_tokens"

    @property
    def other(self) -> "LimitName":
        """The other name."""
        return LimitName.OLD if self is LimitName.NEW else LimitName.NEW


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """The form of answers and the name of the token limit that a server accepts."""

    form: AnswerForm
    limit: LimitName


@dataclass(frozen=True, slots=True, kw_only=True)
class DialectFile:
    """The dialect of one model at one address, in a file that the processes of this machine share.

    Args:
        path: The file, named by a hash, because an address may contain a password.
    """

    path: Path

    @classmethod
    def of(cls, directory: Path, *, model: str, base_url: str) -> "DialectFile":
        """Return the file of a model at an address."""
        digest = hashlib.sha256(f"{model}\n{base_url}".encode()).hexdigest()
        return cls(path=directory / f"{digest[:24]}.json")

    def load(self) -> Dialect | None:
        """Return the remembered dialect; ``None`` if no dialect can be read."""
        try:
            stored = json.loads(self.path.read_text(encoding="utf-8"))
            return Dialect(form=AnswerForm(stored["form"]), limit=LimitName(stored["limit"]))
        except (OSError, ValueError, LookupError, TypeError):
            return None

    def save(self, dialect: Dialect) -> None:
        """Remember a dialect; a failure is logged, because the next process can try again."""
        try:
            make_directories(self.path.parent)
            write_text(self.path, json.dumps(asdict(dialect)))
        except OSError as error:
            _log.warning("cannot remember the dialect of the model's server: %s", error)


def refuses_form(status: int, message: str, *, proven: bool) -> bool:
    """Return whether an error refuses the form of the answer, so that another form may succeed.

    If the server has accepted the form before (``proven``), only an error that names the form refuses it.
    """
    if _FORM_WORDS.search(message):
        return status in _NAMING
    return status in _REFUSING and not proven


def refuses_limit(status: int, message: str) -> bool:
    """Return whether an error refuses the name of the token limit."""
    return status in _REFUSING and _LIMIT_WORDS.search(message) is not None
