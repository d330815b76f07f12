"""Values as messages show them: JSON, so that no message shows a form of the programming language."""

import json
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from datetime import date
from enum import Enum
from pathlib import PurePath
from typing import Any, Final, cast
from uuid import UUID

NOTHING: Final = "nothing"
_TOO_DEEP: Final = "a value nested too deeply"
_OTHER: Final = "a value of another kind"


def quoted(value: object) -> str:
    """Return a value as JSON; text is in double quotes, and characters that cannot be seen are escaped.

    ``None`` is "nothing". A value that JSON does not have is described without its type.
    """
    if value is None:
        return NOTHING
    try:
        text = json.dumps(_plain(value), ensure_ascii=False)
    except (RecursionError, ValueError):
        return _TOO_DEEP
    except TypeError:
        return _OTHER
    return "".join(char if char.isprintable() else json.dumps(char)[1:-1] for char in text)


def _plain(value: object) -> Any:  # noqa: ANN401 - any JSON value
    plain: Any = value
    match value:
        case Enum():
            plain = value.value
        case bytes() | bytearray():
            plain = bytes(value).decode(errors="backslashreplace")
        case UUID() | PurePath() | date():
            plain = str(value)
        case Mapping():
            items = cast("Mapping[object, object]", value).items()
            plain = {str(key): _plain(item) for key, item in items}
        case list() | tuple():
            plain = [_plain(item) for item in cast("list[object]", value)]
        case AbstractSet():
            plain = sorted((_plain(item) for item in cast("AbstractSet[object]", value)), key=str)
        case _:
            pass
    return plain
