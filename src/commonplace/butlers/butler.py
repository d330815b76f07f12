"""``butler.toml``: the name of a host, and its modules with their settings (KNW-23).

[butler]
name = "dev"
tenant_id = "default"

[modules.memory.retrieval]
context_token_budget = 2000
"""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from commonplace.core.errors import SettingsError
from commonplace.core.faults import invalid_input
from commonplace.core.request_context import DEFAULT_TENANT
from commonplace.knowledge import GLOBAL_SCOPE

FILE_NAME = "butler.toml"


class ButlerSection(BaseModel):
    """``[butler]``: the name and the tenant of the host."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Annotated[str, Field(min_length=1, max_length=64, pattern=r"^[A-Za-z0-9_.-]+$")]
    """The butler of its episodes, its scope, and its name in the audit trail; not ``global``, everybody's scope."""
    tenant_id: Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]{1,64}$")] = DEFAULT_TENANT

    @field_validator("name")
    @classmethod
    def _own(cls, name: str) -> str:
        if name == GLOBAL_SCOPE:
            raise ValueError(f"expected a name other than {GLOBAL_SCOPE}, the scope of all butlers")
        return name


class Butler(BaseModel):
    """A whole ``butler.toml``; each module validates its own section."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    butler: ButlerSection
    modules: Mapping[str, Mapping[str, Any]] = Field(default_factory=dict[str, Mapping[str, Any]])

    def module_config(self, name: str, model: type[BaseModel]) -> BaseModel:
        """Return the section ``[modules.<name>]``, with defaults for missing keys.

        Raises:
            SettingsError: A key is unknown or its value is invalid; the message names the key.
        """
        try:
            return model.model_validate(self.modules.get(name, {}))
        except ValidationError as error:
            raise SettingsError(_explain(error, f"modules.{name}")) from None


def load_butler(path: Path) -> Butler:
    """Read a ``butler.toml``.

    Raises:
        SettingsError: The file cannot be read or is not TOML, or a key is unknown or its value is invalid.
    """
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path}: cannot be read: {error}") from None
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"{path}: is not TOML: {error}") from None
    try:
        return Butler.model_validate(document)
    except ValidationError as error:
        raise SettingsError(f"{path}: {_explain(error)}") from None


def _explain(error: ValidationError, *prefix: str) -> str:
    """Return the faults on one line: the key, the fault, and the value of each."""
    return "; ".join(
        str(invalid_input({**fault, "loc": (*prefix, *fault["loc"])}, whole="file"))
        for fault in error.errors()
    )
