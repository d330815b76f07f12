"""What a session of the agent is started with, and when: command line, environment, schedule."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st

from commonplace.cli.frame.session_options import parse_span
from commonplace.core.errors import InvalidInputError
from commonplace.llm.cli_process import outside_a_session
from commonplace.operational.model.cooldowns import Cooldown
from commonplace.operational.model.markers import CooldownAction
from commonplace.operational.run.agent import find_claude, prompt_options, require_arguments
from commonplace.operational.run.prompt import (
    COOLDOWNS_SHOWN,
    MAX_ARGUMENT_BYTES,
    MEMORY_HEADING,
    build_system_prompt,
    load_prompt,
    load_tier_prompt,
    render_environment,
)
from commonplace.operational.run.schedule import first_due, next_due

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


def restart(*, hours_ago: float = 0, reason: str = "hung") -> Cooldown:
    """Return an action."""
    return Cooldown(
        id=1,
        session_id=1,
        service="caddy",
        action=CooldownAction.RESTART,
        reason=reason,
        tier=3,
        created_at=NOW - timedelta(hours=hours_ago),
    )


@pytest.mark.requirement("OPS-20.3")
def test_a_session_is_told_which_actions_may_still_cool_down() -> None:
    """Those of the last day, each on one line whatever its reason holds."""
    actions = [restart(hours_ago=1, reason="hung\n- [x]"), restart(hours_ago=23), restart(hours_ago=25)]
    assert render_environment(NOW, ["caddy", "dns"], actions) == (
        "## Environment\n\n- Time: 2026-03-01 12:00 UTC\n- Services to check: caddy, dns\n\n"
        "## Recent actions (last 24 hours, newest first)\n\n"
        "- 2026-03-01 11:00 UTC restart of caddy (tier 3): hung - [x]\n"
        "- 2026-02-28 13:00 UTC restart of caddy (tier 3): hung"
    )
    assert render_environment(NOW, [], [restart(hours_ago=25)]).endswith("12:00 UTC")
    assert render_environment(NOW, [], [restart()] * 50).count("restart of") == COOLDOWNS_SHOWN


def test_memories_that_no_argument_can_hold_are_left_out(caplog: pytest.LogCaptureFixture) -> None:
    """The session runs without them; a prompt that is too long by itself is an error."""
    assert build_system_prompt("p\n", "e", "m") == "p\n\ne\n\nm"
    assert build_system_prompt("p", "e\x00", "") == "p\n\ne"
    assert build_system_prompt("p", "e", "ä" * (MAX_ARGUMENT_BYTES // 2)) == "p\n\ne"
    assert "runs without its memories" in caplog.text
    with pytest.raises(InvalidInputError, match="prompt: expected at most 131071 bytes"):
        build_system_prompt("p" * MAX_ARGUMENT_BYTES, "e", "")


@pytest.mark.requirement("OPS-14.1")
def test_a_prompt_of_the_operators_own_records_memories_too(tmp_path: Path) -> None:
    """It gets the section that ours has, unless it has one."""
    file = tmp_path / "prompt.md"
    file.write_text("\N{ZERO WIDTH NO-BREAK SPACE}Look after nginx.\n")
    prompt = load_prompt(1, file)
    assert prompt.startswith(f"Look after nginx.\n\n{MEMORY_HEADING}\n")
    assert prompt.endswith(load_tier_prompt(1)[-200:])
    file.write_text(f"Look.\n\n{MEMORY_HEADING}\n\nMine.")
    assert load_prompt(1, file) == file.read_text()
    assert load_prompt(3) == load_tier_prompt(3)


@pytest.mark.parametrize("content", [None, b"\xff", b" \n"])
def test_a_prompt_that_cannot_be_read_is_refused(tmp_path: Path, content: bytes | None) -> None:
    """With the file's name."""
    file = tmp_path / "prompt.md"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(InvalidInputError, match=r"prompt: expected a (readable )?file .*, got ['\"]/"):
        load_prompt(1, file)


def test_arguments_that_would_undo_ours_are_refused() -> None:
    """So is a word that the CLI would take for a second prompt."""
    assert require_arguments(["--model", "haiku"]) == ("--model", "haiku")
    for wrong in ("--output-format", "--append-system-prompt=x", "--input-format"):
        with pytest.raises(
            InvalidInputError, match="arguments: expected options other than those that commonplace sets"
        ):
            require_arguments(["--model", "haiku", wrong])
    with pytest.raises(InvalidInputError, match="arguments: expected options"):
        require_arguments(["please"])


@pytest.mark.requirement("HRD-02.1")
def test_a_prompt_by_file_is_not_among_the_arguments() -> None:
    """The file is readable by this user alone, and it is gone after the run."""
    with prompt_options("kept from others", by_file=True) as (option, name):
        file = Path(name)
        assert (option, file.read_text()) == ("--append-system-prompt-file", "kept from others")
        assert file.stat().st_mode & 0o777 == 0o600
    assert not file.exists()
    with prompt_options("as specified", by_file=False) as option_and_text:
        assert option_and_text == ("--append-system-prompt", "as specified")


def test_the_cli_is_found_by_name_and_by_path(tmp_path: Path) -> None:
    """On the path of the environment that the session gets."""
    (tmp_path / "claude").write_text("#!/bin/sh\n")
    (tmp_path / "claude").chmod(0o755)
    assert find_claude(None, {"PATH": str(tmp_path)}) == tmp_path / "claude"
    assert find_claude(str(tmp_path / "claude"), {"PATH": ""}) == tmp_path / "claude"
    with pytest.raises(InvalidInputError, match="no claude on the PATH"):
        find_claude(None, {"PATH": "/nowhere"})


def test_an_outer_session_is_not_inherited() -> None:
    """Its variables are; keys and settings stay."""
    kept = {"CLAUDE_CODE_OAUTH_TOKEN": "t", "ANTHROPIC_API_KEY": "k", "CLAUDECODEX": "1"}
    assert outside_a_session(kept | {"CLAUDECODE": "1", "CLAUDE_CODE_ENTRYPOINT": "cli"}) == kept


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90s", 90), ("60m", 3600), ("1.5h", 5400), ("1d", 86400), ("8w", 4838400), ("1s", 1)],
)
def test_spans_are_read(text: str, seconds: int) -> None:
    """A number and a unit."""
    assert parse_span(text) == timedelta(seconds=seconds)


@pytest.mark.parametrize("text", ["", "60", "m", "0s", "0.5s", "-5m", "5 m", "4000d", "9" * 400 + "d", "1y"])
def test_what_is_no_span_is_refused(text: str) -> None:
    """From a second to ten years."""
    with pytest.raises(typer.BadParameter, match="expected a duration"):
        parse_span(text)


EVERY = st.integers(1, 100_000).map(lambda s: timedelta(seconds=s))
LATE = st.integers(0, 10_000_000).map(lambda s: timedelta(seconds=s))


@given(every=EVERY, late=LATE)
def test_the_schedule_does_not_drift(every: timedelta, late: timedelta) -> None:
    """However long a session took: the next is whole intervals from the last, ahead, and no further than one."""
    due = next_due(NOW, every, NOW + late)
    assert (due - NOW) % every == timedelta()
    assert NOW + late < due <= NOW + late + every


@given(every=EVERY, ago=LATE)
def test_a_restart_keeps_the_interval(every: timedelta, ago: timedelta) -> None:
    """The first session waits for it, and starts at once where it has passed; a clock set back delays by one."""
    assert first_due(None, every, NOW) == NOW
    assert first_due(NOW - ago, every, NOW) == max(NOW, NOW - ago + every)
    assert NOW <= first_due(NOW + ago, every, NOW) <= NOW + every
