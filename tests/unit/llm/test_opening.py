"""Which model the settings ask for, and what is said when something is missing."""

import sys
from pathlib import Path

import pytest

from commonplace.core.errors import ModelBudgetError, SettingsError
from commonplace.core.settings import Settings
from commonplace.embedding import BackendName, EmbeddingEngine, EmbeddingOptions
from commonplace.llm import Usage, open_model
from commonplace.llm.key_file import read_key
from commonplace.llm.opening import NO_KEY, api_options, ollama_url
from commonplace.prompts.fence import fence

ENGINE = EmbeddingEngine(EmbeddingOptions(backend=BackendName.FAKE))
KEYS = {"ANTHROPIC_API_KEY": "a", "GEMINI_API_KEY": "g", "OPENAI_API_KEY": "o"}


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
    with pytest.raises(
        SettingsError, match="anthropic:MODEL, gemini:MODEL, openai:MODEL, ollama:MODEL, claude-code"
    ):
        async with open_model(asking_for(settings, name), environ=KEYS):
            pass


@pytest.mark.parametrize(
    ("name", "missing"),
    [
        ("anthropic:m", "ANTHROPIC_API_KEY"),
        ("gemini:m", "GEMINI_API_KEY"),
        ("openai:m", "OPENAI_API_KEY"),
    ],
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
        ("gemini:m", "google.genai", "gemini"),
        ("gemini:m", "google", "gemini"),
        ("anthropic:m", "pydantic_ai", "anthropic"),
    ],
)
async def test_a_missing_extra_is_named(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, name: str, absent: str, extra: str
) -> None:
    """With the command that installs it."""
    # A module below it that another test has imported would be found without it.
    for known in [each for each in sys.modules if each.startswith(f"{absent}.")]:
        monkeypatch.delitem(sys.modules, known)
    monkeypatch.setitem(sys.modules, absent, None)
    with pytest.raises(SettingsError, match=rf"pip install 'commonplace\[{extra}\]'"):
        async with open_model(asking_for(settings, name), environ=KEYS):
            pass


@pytest.mark.requirement("DIG-05.3")
@pytest.mark.parametrize("field", ["model_base_url", "model_api_key_file"])
@pytest.mark.parametrize("name", [None, "extractive", "claude-code"])
async def test_an_address_or_key_that_is_not_used_is_refused(
    settings: Settings, name: str | None, field: str
) -> None:
    """Somebody set it for a model, and another model answers."""
    with pytest.raises(SettingsError, match=f"COMMONPLACE_{field.upper()} is set, but the model"):
        async with open_model(asking_for(settings, name, **{field: "x"}), environ={}):
            pass


@pytest.mark.requirement("DIG-05.3")
@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (None, "No such file"),
        (b"", "is empty"),
        (b" \n", "is empty"),
        (b"a b", "one key"),
        (b"a\nb", "one key"),
    ],
)
async def test_a_key_file_that_cannot_be_used_is_named(
    settings: Settings, tmp_path: Path, content: bytes | None, fault: str
) -> None:
    """The message names the file, and never its content."""
    path = tmp_path / "model.key"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(
        SettingsError, match=f"COMMONPLACE_MODEL_API_KEY_FILE: .*{path}.*{fault}|{fault}.*{path}"
    ):
        async with open_model(asking_for(settings, "openai:m", model_api_key_file=path), environ={}):
            pass


@pytest.mark.requirement("DIG-05.3")
@pytest.mark.parametrize(("mode", "warned"), [(0o600, False), (0o400, False), (0o640, True), (0o604, True)])
def test_a_key_file_that_others_can_read_is_warned_of(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, mode: int, *, warned: bool
) -> None:
    """The key is used all the same."""
    path = tmp_path / "model.key"
    path.write_text("sk-key\n")
    path.chmod(mode)
    assert read_key(path) == "sk-key"
    assert [record.getMessage() for record in caplog.records] == (
        [f"other users can read the key in {path}: run `chmod 600 {path}`"] if warned else []
    )


@pytest.mark.requirement("DIG-05.3")
@pytest.mark.parametrize(
    ("model", "given", "used"),
    [
        ("openai:m", "http://gpu:8080", "http://gpu:8080/v1"),
        ("openai:m", "http://gpu:8080/", "http://gpu:8080/v1"),
        ("openai:m", "https://openrouter.ai/api/v1", "https://openrouter.ai/api/v1"),
        ("ollama:m", "http://gpu:11434", "http://gpu:11434/v1"),
        ("ollama:m", "http://gpu:11434/v1", "http://gpu:11434/v1"),
        ("anthropic:m", "https://proxy.example", "https://proxy.example"),
        ("gemini:m", "https://proxy.example", "https://proxy.example"),
    ],
)
def test_the_address_of_a_server_gets_the_path_of_its_api(
    settings: Settings, model: str, given: str, used: str
) -> None:
    """And the keys of providers stay at home."""
    options = api_options(asking_for(settings, model, model_base_url=given), KEYS)
    assert (options.base_url, options.api_key) == (used, NO_KEY)


@pytest.mark.requirement("DIG-05.3")
def test_the_key_of_the_file_comes_before_that_of_the_environment(settings: Settings, tmp_path: Path) -> None:
    """With and without an address of our own."""
    path = tmp_path / "model.key"
    path.write_text("from-file")
    path.chmod(0o600)
    keyed = asking_for(settings, "openai:m", model_api_key_file=path)
    assert api_options(keyed, KEYS).api_key == "from-file"
    addressed = keyed.model_copy(update={"model_base_url": "http://gpu:8080"})
    assert api_options(addressed, {}).api_key == "from-file"


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
