"""Bounds and defaults of operational memory; see :mod:`commonplace.core.bounds`."""

import re
from typing import Annotated, Final

from annotated_types import Ge, Le, MaxLen, MinLen

MAX_TEXT_CHARS: Final = 2_000
"""A longer observation, message or reason would fill the prompt, so it is cut to this length; the cut is reported."""

SERVICE_PATTERN: Final = re.compile(r"[a-zA-Z0-9_-]+")
"""The complete name of a service. Source: OPS-05."""

MAX_SERVICE_CHARS: Final = 100

DEFAULT_CONFIDENCE: Final = 0.7
"""Confidence of a memory that the agent creates. Source: OPS-08.1."""

Observation = Annotated[str, MinLen(1), MaxLen(MAX_TEXT_CHARS)]
Service = Annotated[str, MinLen(1), MaxLen(MAX_SERVICE_CHARS)]
Tier = Annotated[int, Ge(1), Le(3)]
