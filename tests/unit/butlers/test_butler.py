"""``butler.toml``: defaults, overrides, and what is refused."""

from pathlib import Path

import pytest

from commonplace.butlers.butler import load_butler
from commonplace.core.errors import SettingsError
from commonplace.knowledge.model.config import MemoryModuleConfig


def memory_config(path: Path, text: str) -> MemoryModuleConfig:
    """Return what a butler.toml with this text comes to for memory."""
    path.write_text(f'[butler]\nname = "dev"\n{text}', encoding="utf-8")
    config = load_butler(path).module_config("memory", MemoryModuleConfig)
    assert isinstance(config, MemoryModuleConfig)
    return config


@pytest.mark.requirement("KNW-23.1")
@pytest.mark.parametrize("text", ["", "[modules.memory]\n"])
def test_defaults(tmp_path: Path, text: str) -> None:
    """Without a section, and with an empty one."""
    retrieval = memory_config(tmp_path / "butler.toml", text).retrieval
    assert retrieval.context_token_budget == 3000
    assert retrieval.default_limit == 20
    assert retrieval.default_mode == "hybrid"
    assert retrieval.score_weights.model_dump() == {
        "relevance": 0.4,
        "importance": 0.3,
        "recency": 0.2,
        "confidence": 0.1,
    }


@pytest.mark.requirement("KNW-23.2")
def test_overrides_leave_the_rest(tmp_path: Path) -> None:
    """What is set overrides; what is not keeps its default."""
    text = "[modules.memory.retrieval]\ncontext_token_budget = 500\nscore_weights = { relevance = 1.0 }\n"
    retrieval = memory_config(tmp_path / "butler.toml", text).retrieval
    assert retrieval.context_token_budget == 500
    assert retrieval.default_limit == 20
    assert (retrieval.score_weights.relevance, retrieval.score_weights.recency) == (1.0, 0.2)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("", "butler: expected a value, got nothing"),
        ('[butler]\nname = ""', "butler.name"),
        ('[butler]\nname = "a b"', "butler.name"),
        ('[butler]\nname = "dev"\ntenant = "x"', "butler.tenant"),
        ('[butler]\nname = "dev"\n[module.memory]', "module"),
        ("[butler", "is not TOML"),
    ],
)
def test_a_bad_file_is_refused(tmp_path: Path, text: str, named: str) -> None:
    """The message names the file and the key."""
    path = tmp_path / "butler.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(SettingsError) as caught:
        load_butler(path)
    assert str(path) in str(caught.value)
    assert named in str(caught.value)


def test_a_bad_section_names_its_key(tmp_path: Path) -> None:
    """The key with the path of its section, and what came."""
    with pytest.raises(SettingsError, match=r"modules\.memory\.retrieval\.default_limit: .*, got 0"):
        memory_config(tmp_path / "butler.toml", "[modules.memory.retrieval]\ndefault_limit = 0\n")


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    """Not taken for an empty one."""
    with pytest.raises(SettingsError, match="cannot be read"):
        load_butler(tmp_path / "butler.toml")
