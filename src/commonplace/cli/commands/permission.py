"""Permission for a model to consolidate sessions, stored in the settings of the home."""

from pathlib import Path
from typing import Final

from commonplace.core.atomic_write import write_text
from commonplace.core.directories import make_directories
from commonplace.core.errors import StorageUnavailableError
from commonplace.core.settings import Settings, load_settings, written_config
from commonplace.core.settings_file import with_settings
from commonplace.llm import open_model

DAILY_TOKENS: Final[int] = Settings.model_fields["consolidation_daily_tokens"].default


async def allow_consolidation(model: str, daily_tokens: int = DAILY_TOKENS) -> Path:
    """Write the permission of a model to consolidate into the settings of the home, and return the file.

    The model is named as in ``COMMONPLACE_MODEL``. 0 tokens a day means no limit.

    Raises:
        SettingsError: The model is unknown, or what it needs is not installed; nothing was written.
        StorageUnavailableError: The file cannot be written.
    """
    loaded = load_settings(read_current_directory=False).settings
    async with open_model(loaded.with_model(model)):
        return write_consolidation(model, daily_tokens)


def write_consolidation(model: str | None, daily_tokens: int | None) -> Path:
    """Write the permission and the budget into the settings of the home, and return the file.

    ``None`` removes a setting.

    Raises:
        StorageUnavailableError: The file cannot be written.
    """
    path = written_config()
    values = {"consolidation_model": model, "consolidation_daily_tokens": daily_tokens}
    try:
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        make_directories(path.parent)
        write_text(path, with_settings(text, values))
    except (OSError, UnicodeDecodeError) as error:
        raise StorageUnavailableError(f"{path}: cannot be written: {error}") from error
    return path


def allowed(model: str, daily_tokens: int, path: Path) -> str:
    """Return a sentence about a permission, for the user."""
    budget = f"at most {daily_tokens:,} tokens a day" if daily_tokens else "without a limit"
    return f"{model} consolidates sessions, {budget} ({path})"
