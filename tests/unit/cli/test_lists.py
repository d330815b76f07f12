"""Ids in the lists of knowledge memory."""

import io
import sys
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest

from commonplace.cli.knowledge.lists import shown_id
from commonplace.knowledge import MemoryType, short_id


@pytest.mark.parametrize("is_terminal", [True, False])
def test_ids_are_short_in_a_terminal_and_whole_elsewhere(
    *, is_terminal: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Programs get ids that stay unique."""
    memory: Any = SimpleNamespace(
        memory_type=MemoryType.FACT, id=UUID("6f1e4c1e-0000-4000-8000-000000000000")
    )
    stream = io.StringIO()
    stream.isatty = lambda: is_terminal
    monkeypatch.setattr(sys, "stdout", stream)
    assert shown_id(memory) == (short_id(MemoryType.FACT, memory.id) if is_terminal else str(memory.id))
