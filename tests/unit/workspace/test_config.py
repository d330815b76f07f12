"""The ``memory`` section of agent.json."""

import json
from pathlib import Path

import pytest

from commonplace.core.errors import SettingsError
from commonplace.workspace.model.config import MemoryConfig
from commonplace.workspace.store.config import load_config


@pytest.mark.requirement("WSP-10.1")
@pytest.mark.parametrize("document", [None, {}, {"memory": {}}, {"memory": None, "mcp": [1, {"memory": 2}]}])
def test_what_is_not_set_has_its_default(tmp_path: Path, document: object) -> None:
    """Without the file, the section or a key; other sections are not looked at."""
    if document is not None:
        (tmp_path / "agent.json").write_text(json.dumps(document))
    config = load_config(tmp_path)
    assert config == MemoryConfig()
    assert (config.inject_mode, config.max_inject_chars) == ("relevant", 2000)
    assert (config.max_inject_count, config.max_total) == (10, 500)


@pytest.mark.requirement("WSP-10", "WSP-10.1", "WSP-08")
@pytest.mark.parametrize("mode", ["relevant", "recent_only", "off"])
def test_all_four_settings_are_read(tmp_path: Path, mode: str) -> None:
    """Each key sets its value."""
    section = {"inject_mode": mode, "max_inject_chars": 7, "max_inject_count": 8, "max_total": 9}
    (tmp_path / "agent.json").write_text(json.dumps({"memory": section}))
    config = load_config(tmp_path)
    assert (config.inject_mode, config.max_inject_chars, config.max_inject_count, config.max_total) == (
        mode,
        7,
        8,
        9,
    )


@pytest.mark.requirement("WSP-10.2")
@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            '{"memory": {"inject_mode": "some"}}',
            "memory.inject_mode: expected one of relevant, recent_only, off, got",
        ),
        ('{"memory": {"inject_mode": 1}}', "memory.inject_mode: expected one of"),
        ('{"memory": {"max_total": 0}}', "memory.max_total: expected a whole number of 1 or more, got 0"),
        (
            '{"memory": {"max_total": "500"}}',
            'memory.max_total: expected a whole number of 1 or more, got "500"',
        ),
        ('{"memory": {"max_inject_chars": true}}', "memory.max_inject_chars: expected a whole number"),
        ('{"memory": {"max_inject_count": 1.5}}', "memory.max_inject_count: expected a whole number"),
        ('{"memory": {"max_inject": 5}}', "memory.max_inject: expected one of the keys inject_mode, "),
        ('{"memory": []}', "memory: expected a JSON object, got"),
        ("[]", "expected a JSON object, got"),
        ("{", "expected JSON, got"),
    ],
)
def test_a_bad_value_is_named_with_what_was_expected(tmp_path: Path, content: str, message: str) -> None:
    """The error tells the file, the key, what was expected and what came."""
    (tmp_path / "agent.json").write_text(content)
    with pytest.raises(SettingsError) as caught:
        load_config(tmp_path)
    assert message in str(caught.value)
    assert str(tmp_path / "agent.json") in str(caught.value)


@pytest.mark.requirement("WSP-10.2")
def test_a_file_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    """A directory in its place is not taken for defaults."""
    (tmp_path / "agent.json").mkdir()
    with pytest.raises(SettingsError, match="cannot read"):
        load_config(tmp_path)
