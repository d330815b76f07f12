"""The text of ``commonplace.toml``, with values that a command changes."""

import json
from collections.abc import Mapping


def with_settings(text: str, values: Mapping[str, str | int | None]) -> str:
    """Return the text of a ``commonplace.toml`` with some values changed; ``None`` removes a key, other lines stay."""
    kept = [line for line in text.splitlines() if line.partition("=")[0].strip() not in values]
    new = [f"{key} = {json.dumps(value)}" for key, value in values.items() if value is not None]
    return "".join(f"{line}\n" for line in [*kept, *new])
