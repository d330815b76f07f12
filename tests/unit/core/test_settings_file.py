"""Changes to ``commonplace.toml`` by commands."""

import tomllib

from commonplace.core.settings_file import with_settings


def test_other_lines_keep_every_byte() -> None:
    """A key is replaced, added or removed; comments and other keys stay as they are."""
    before = '# mine\nmodel = "ollama:x"   # local\nconsolidation_model="old"\n'

    after = with_settings(before, {"consolidation_model": "claude-code", "consolidation_daily_tokens": 5})

    assert after.startswith('# mine\nmodel = "ollama:x"   # local\n')
    assert tomllib.loads(after) == {
        "model": "ollama:x",
        "consolidation_model": "claude-code",
        "consolidation_daily_tokens": 5,
    }
    removed = with_settings(after, {"consolidation_model": None, "consolidation_daily_tokens": None})
    assert removed == '# mine\nmodel = "ollama:x"   # local\n'
    assert with_settings("", {"consolidation_model": None}) == ""
