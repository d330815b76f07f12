"""Which model the settings ask for, and what is said when something is missing."""

import sys
from pathlib import Path

import pytest

from commonplace.core.errors import ModelBudgetError, SettingsError
from commonplace.core.settings import Settings
from commonplace.embedding import BackendName, EmbeddingEngine, EmbeddingOptions
from commonplace.llm import Usage, fence, open_model
from commonplace.llm.opening import ollama_url

ENGINE = EmbeddingEngine(EmbeddingOptions(backend=BackendName.FAKE))
KEYS = {"ANTHROPIC_API_KEY": "a", "OPENAI_API_KEY": "o"}


def asking_for(settings: Settings, model: str | None, **values: object) -> Settings:
    """Return settings that name a model."""
    return settings.model_copy(update={"model": model, **values})


@pytest.mark.requirement("R-APP-5")
@pytest.mark.parametrize("name", [None, "extractive"])
async def test_without_a_setting_sentences_are_picked(settings: Settings, name: str | None) -> None:
    """No key, no network; the result says that it is extractive."""
    said = "The deadline is on Monday."
    async with open_model(asking_for(settings, name), environ={}) as model:
        completion = await model.complete(fence(said, "conversation"), purpose="test")
    assert (completion.text, completion.extractive, completion.model) == (said, True, "extractive")
    assert completion.usage == Usage(cost_usd=0.0)


@pytest.mark.parametrize(
    "name", ["gpt-5", "openai", "openai:", "claude-code:", "extractive:x", "mistral:m", ":"]
)
async def test_an_unknown_model_is_refused_with_the_list(settings: Settings, name: str) -> None:
    """Somebody who misspells it sees all that there is."""
    with pytest.raises(SettingsError, match="anthropic:MODEL, openai:MODEL, ollama:MODEL, claude-code, "):
        async with open_model(asking_for(settings, name), environ=KEYS):
            pass


@pytest.mark.parametrize(
    ("name", "missing"), [("anthropic:m", "ANTHROPIC_API_KEY"), ("openai:m", "OPENAI_API_KEY")]
)
async def test_a_missing_key_is_named(settings: Settings, name: str, missing: str) -> None:
    """At once, not at the first call."""
    with pytest.raises(SettingsError, match=missing):
        async with open_model(asking_for(settings, name), environ={}):
            pass


@pytest.mark.parametrize(
    ("name", "absent", "extra"),
    [
        ("anthropic:m", "anthropic", "anthropic"),
        ("openai:m", "openai", "openai"),
        ("ollama:m", "openai", "openai"),
        ("anthropic:m", "pydantic_ai", "anthropic"),
    ],
)
async def test_a_missing_extra_is_named(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, name: str, absent: str, extra: str
) -> None:
    """With the command that installs it."""
    monkeypatch.setitem(sys.modules, absent, None)
    with pytest.raises(SettingsError, match=rf"pip install 'commonplace\[{extra}\]'"):
        async with open_model(asking_for(settings, name), environ=KEYS):
            pass


async def test_a_missing_cli_is_named(settings: Settings, tmp_path: Path) -> None:
    """With the command that installs it."""
    with pytest.raises(SettingsError, match="npm install -g @anthropic-ai/claude-code"):
        async with open_model(asking_for(settings, "claude-code"), environ={"PATH": str(tmp_path)}):
            pass


async def test_the_budget_of_the_settings_holds_over_processes(settings: Settings) -> None:
    """A second opening of the same home knows what the first one spent."""
    limited = asking_for(settings, None, model_daily_tokens=100)
    async with open_model(limited) as model:
        model.ledger.add_answer("test", Usage(input_tokens=100))
    async with open_model(limited) as model:
        with pytest.raises(ModelBudgetError):
            await model.complete("Digest.", purpose="test")


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("", "http://127.0.0.1:11434/v1"),
        ("0.0.0.0", "http://127.0.0.1:11434/v1"),  # noqa: S104 - recognised so as not to be used
        ("0.0.0.0:8080", "http://127.0.0.1:8080/v1"),
        ("gpu.local", "http://gpu.local:11434/v1"),
        ("http://gpu.local:1234/", "http://gpu.local:1234/v1"),
        ("https://models.example.org", "https://models.example.org/v1"),
        ("https://example.org/ollama/", "https://example.org/ollama/v1"),
        ("[::1]:11434", "http://[::1]:11434/v1"),
        ("[::]", "http://127.0.0.1:11434/v1"),
    ],
)
def test_the_address_of_ollama_is_read_as_ollama_reads_it(host: str, url: str) -> None:
    """With and without scheme, port and path; an address to listen on is not one to call."""
    assert ollama_url(host) == url
