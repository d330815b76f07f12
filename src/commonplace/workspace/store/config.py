"""The ``memory`` section of ``agent.json``.

Source: WSP-08, WSP-10.
"""

import json
from dataclasses import fields
from pathlib import Path
from typing import Any, Final, cast

from commonplace.core.errors import SettingsError
from commonplace.core.quoting import quoted
from commonplace.workspace.model.config import InjectMode, MemoryConfig

FILE_NAME: Final = "agent.json"


def load_config(workspace: Path) -> MemoryConfig:
    """Read the ``memory`` section of a workspace's ``agent.json``; missing keys have their defaults.

    Other sections belong to other programs and are ignored.

    Raises:
        SettingsError: The file cannot be read as JSON, or the section holds an unknown key or a bad value.
    """
    path = workspace / FILE_NAME
    try:
        document: object = json.loads(path.read_bytes())
    except FileNotFoundError:
        return MemoryConfig()
    except OSError as error:
        raise SettingsError(f"cannot read {path}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise SettingsError(f"{path}: expected JSON, got {error}") from None
    try:
        return parse_config(document)
    except SettingsError as error:
        raise SettingsError(f"{path}: {error}") from None


def parse_config(document: object) -> MemoryConfig:
    """Read the ``memory`` section of a parsed ``agent.json``.

    Raises:
        SettingsError: A key is unknown, or its value is invalid.
    """
    if not isinstance(document, dict):
        raise _bad("the document", "a JSON object", document)
    section = cast("dict[str, object]", document).get("memory")
    if section is None:
        return MemoryConfig()
    if not isinstance(section, dict):
        raise _bad("memory", "a JSON object", section)
    values = cast("dict[str, object]", section)
    known = [field.name for field in fields(MemoryConfig)]
    for key in values:
        if key not in known:
            raise _bad(f"memory.{key}", f"one of the keys {', '.join(known)}", key)
    read = {"inject_mode": _mode}
    given: dict[str, Any] = {key: read.get(key, _count)(key, value) for key, value in values.items()}
    return MemoryConfig(**given)


def _mode(key: str, value: object) -> InjectMode:
    if value not in list(InjectMode):
        raise _bad(f"memory.{key}", f"one of {', '.join(InjectMode)}", value)
    return InjectMode(value)


def _count(key: str, value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise _bad(f"memory.{key}", "a whole number of 1 or more", value)
    return value


def _bad(key: str, expected: str, got: object) -> SettingsError:
    return SettingsError(f"{key}: expected {expected}, got {quoted(got)}")
