"""Settings: where they come from, and how bad ones are refused."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from commonplace.core.cron import check_cron
from commonplace.core.errors import SettingsError
from commonplace.core.settings import Settings, load_settings
from commonplace.core.trust import is_trusted, revoke, trust


@pytest.fixture(autouse=True)
def _empty_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stand in a directory without a settings file."""
    directory = tmp_path / "here"
    directory.mkdir()
    monkeypatch.chdir(directory)


def load(tmp_path: Path, **environ: str) -> Settings:
    """Load with an empty home and the given environment."""
    return load_settings(environ={"COMMONPLACE_HOME": str(tmp_path / "home"), **environ}).settings


def test_defaults_need_nothing(tmp_path: Path) -> None:
    """Everything is under the home, and nothing needs a server or a key."""
    settings = load(tmp_path)
    assert settings.database_path == tmp_path / "home" / "commonplace.db"
    assert not settings.database_is_postgres
    assert settings.postgres_url is None
    assert settings.memory_budget == 2000
    assert settings.workspace == Path.cwd()


def test_environment_goes_before_the_file(tmp_path: Path) -> None:
    """The origin of each value is told."""
    home = tmp_path / "home"
    home.mkdir()
    (home / "commonplace.toml").write_text('memory_budget = 10\nmodel = "extractive"\n')
    loaded = load_settings(environ={"COMMONPLACE_HOME": str(home), "CLAUDEOPS_MEMORY_BUDGET": "4000"})
    assert loaded.settings.memory_budget == 4000
    assert loaded.settings.model == "extractive"
    assert loaded.origins["memory_budget"] == "environment CLAUDEOPS_MEMORY_BUDGET"
    assert loaded.origins["model"] == str(home / "commonplace.toml")
    assert loaded.origins["workspace"] == "default"


def test_current_directory_counts_for_people_and_not_for_servers(tmp_path: Path) -> None:
    """A repository that somebody cloned cannot redirect what an MCP server stores."""
    Path("commonplace.toml").write_text("memory_budget = 5\n")
    environ = {"COMMONPLACE_HOME": str(tmp_path / "home")}
    assert load_settings(environ=environ).settings.memory_budget == 5
    assert load_settings(environ=environ, read_current_directory=False).settings.memory_budget == 2000


@pytest.mark.requirement("HRD-03.1")
def test_an_untrusted_directory_cannot_hide_the_file_of_the_home(tmp_path: Path) -> None:
    """Its values lie over those of the home, key by key, and each origin names its own file."""
    home = tmp_path / "home"
    home.mkdir()
    (home / "commonplace.toml").write_text('postgres_url = "postgresql://mine/db"\nlog_level = "INFO"\n')
    Path("commonplace.toml").write_text('log_level = "ERROR"\n')
    loaded = load_settings(environ={"COMMONPLACE_HOME": str(home)})
    assert (loaded.settings.postgres_url, loaded.settings.log_level) == ("postgresql://mine/db", "ERROR")
    assert loaded.origins["postgres_url"] == str(home / "commonplace.toml")
    assert loaded.origins["log_level"] == str(Path.cwd() / "commonplace.toml")


@pytest.mark.requirement("HRD-03.1")
@pytest.mark.parametrize(
    "line",
    [
        'home = "/tmp/theirs"',
        'postgres_url = "postgresql://evil.example/db"',
        'model_base_url = "http://evil.example"',
    ],
)
def test_an_untrusted_directory_cannot_redirect_storage(tmp_path: Path, line: str) -> None:
    """The file is refused until it is trusted; a changed or copied file is untrusted again."""
    file, home = Path("commonplace.toml").absolute(), tmp_path / "home"
    file.write_text(f"memory_budget = 5\n{line}\n")
    with pytest.raises(
        SettingsError,
        match=rf"sets {line.split(maxsplit=1)[0]}, but is not trusted.*`commonplace admin trust /",
    ):
        load(tmp_path)
    trust(file, file.read_bytes(), home=home)
    assert load(tmp_path).memory_budget == 5
    copy = tmp_path / "elsewhere"
    copy.mkdir()
    (copy / "commonplace.toml").write_bytes(file.read_bytes())
    assert not is_trusted(copy / "commonplace.toml", file.read_bytes(), home=home)
    revoke(file, file.read_bytes(), home=home)
    with pytest.raises(SettingsError, match="not trusted"):
        load(tmp_path)
    trust(file, file.read_bytes(), home=home)
    file.write_text(f"memory_budget = 6\n{line}\n")
    with pytest.raises(SettingsError, match="not trusted"):
        load(tmp_path)
    assert home.stat().st_mode & 0o777 == 0o700


@pytest.mark.requirement("HRD-03.1")
def test_the_file_of_the_home_is_trusted_where_the_home_is_the_current_directory(tmp_path: Path) -> None:
    """It is the operator's own file."""
    home = tmp_path / "home"
    home.mkdir()
    (home / "commonplace.toml").write_text('model = "extractive"\n')
    os.chdir(home)
    assert load(tmp_path).model == "extractive"


def test_the_named_file_is_the_only_one(tmp_path: Path) -> None:
    """A file that is named and missing is an error, not a silent default."""
    Path("commonplace.toml").write_text("memory_budget = 5\n")
    named = tmp_path / "mine.toml"
    with pytest.raises(SettingsError, match=r"mine\.toml"):
        load(tmp_path, COMMONPLACE_CONFIG=str(named))
    named.write_text("memory_budget = 6\n")
    assert load(tmp_path, COMMONPLACE_CONFIG=str(named)).memory_budget == 6


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("memory_bugdet = 3\n", 'unknown key "memory_bugdet": did you mean "memory_budget"'),
        (
            "memory_budget = -1\n",
            r"memory_budget \(.*commonplace.toml\): .*a number of at least 0, got -1",
        ),
        ('memory_budget = "many"\n', 'memory_budget .*a whole number, got "many"'),
        ("= 3\n", "is not TOML"),
        ('database = "mysql://x"\n', "database .*expected a path or a postgresql:// URL"),
        ('postgres_url = "x"\n', "postgres_url .*expected a postgresql:// URL"),
        (
            'postgres_read_url = "postgresql://replica/db"\n',
            "postgres_read_url .*expected postgres_url as well",
        ),
        (
            'postgres_url = "postgresql://db/db"\npostgres_read_url = "x"\n',
            "postgres_read_url .*expected a postgresql:// URL",
        ),
    ],
)
def test_a_bad_file_is_refused_by_key(tmp_path: Path, text: str, message: str) -> None:
    """The error names the file, the key, what was expected and what came."""
    path = Path("commonplace.toml").absolute()
    path.write_text(text)
    trust(path, path.read_bytes(), home=tmp_path / "home")
    with pytest.raises(SettingsError, match=message):
        load(tmp_path)


def test_an_unknown_variable_is_refused(tmp_path: Path) -> None:
    """A misspelt variable would otherwise be ignored without a word."""
    with pytest.raises(SettingsError, match='"COMMONPLACE_HOEM": did you mean "COMMONPLACE_HOME"'):
        load(tmp_path, COMMONPLACE_HOEM="/x")


def test_every_fault_is_told_at_once(tmp_path: Path) -> None:
    """Two bad values give one message with both."""
    with pytest.raises(SettingsError, match=r"log_level.*;.*memory_budget|memory_budget.*;.*log_level"):
        load(tmp_path, CLAUDEOPS_MEMORY_BUDGET="x", COMMONPLACE_LOG_LEVEL="LOUD")


def test_passwords_are_masked_where_settings_are_shown(tmp_path: Path) -> None:
    """Neither the listing nor an error repeats a password."""
    url = "postgresql://me:hunter2@db/memory"
    loaded = load_settings(
        environ={
            "COMMONPLACE_HOME": str(tmp_path),
            "COMMONPLACE_POSTGRES_URL": url,
            "COMMONPLACE_DATABASE": url,
        }
    )
    assert "hunter2" not in str(loaded.shown())
    assert "postgresql://me:***@db/memory" in str(loaded.shown())
    with pytest.raises(SettingsError) as caught:
        load(tmp_path, COMMONPLACE_POSTGRES_URL="mysql://me:hunter2@db/memory")
    assert "hunter2" not in str(caught.value)


def test_settings_are_frozen_and_closed() -> None:
    """A program that builds them itself gets the same refusal of unknown keys."""
    with pytest.raises(ValueError, match="memory_bugdet"):
        Settings(memory_bugdet=3)  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("given", "taken"),
    [("off", "off"), ("  ", "off"), ("", "off"), (" 5 4 * * * ", "5 4 * * *"), ("@weekly", "@weekly")],
)
def test_a_schedule_is_a_cron_expression_or_off(given: str, taken: str) -> None:
    """Blank text switches it off, as the word does."""
    assert Settings(sweep_cron=given).sweep_cron == taken


def test_schedules_that_nobody_set_load_nothing() -> None:
    """What reads a cron takes longer to load than all settings, and every command loads those."""
    code = "import sys; from commonplace.core.settings import Settings; Settings(); print('croniter' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_the_schedules_that_nobody_set_are_right() -> None:
    """They are not checked where they are loaded."""
    settings = Settings()
    for default in (settings.sweep_cron, settings.cleanup_cron, settings.consolidation_cron):
        assert check_cron(default) == default


def test_a_schedule_that_is_none_is_refused_by_name(tmp_path: Path) -> None:
    """With what was expected and what came."""
    with pytest.raises(
        SettingsError,
        match=r'cleanup_cron \(environment COMMONPLACE_CLEANUP_CRON\).*five fields.*got "hourly"',
    ):
        load(tmp_path, COMMONPLACE_CLEANUP_CRON="hourly")
