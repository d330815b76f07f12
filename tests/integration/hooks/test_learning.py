"""What is learned from sessions of Claude Code: from transcripts as the client writes them."""

import json
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.core.clock import ManualClock
from commonplace.core.errors import StorageUnavailableError
from commonplace.core.secrets import find_secret
from commonplace.core.settings import Settings
from commonplace.embedding import EmbeddingEngine
from commonplace.hosts.hooks import sessions
from commonplace.hosts.hooks.formats import TranscriptMessage
from commonplace.hosts.hooks.hook_input import HookCall
from commonplace.hosts.hooks.learning import QUIET_S, SWEPT, InMemory, learn, sweep
from commonplace.hosts.hooks.session_hooks import session_end, session_start, sweep_all
from commonplace.hosts.hooks.sessions import KEPT_S, SessionRecord, SessionRecords
from commonplace.hosts.hooks.transcripts import MAX_DIGEST_CHARS, digest, read_messages
from commonplace.knowledge import Narrowing
from commonplace.knowledge.memory import KnowledgeMemory
from commonplace.knowledge.model.kinds import Episode
from commonplace.prompts.injected import framed
from support.facade import open_knowledge

KEY = "sk-" + "abc123def456"
GONE = "postgresql://nobody@127.0.0.1:1/none"


def line(kind: str, text: str | list[dict[str, Any]], **fields: object) -> str:
    """One line of a transcript."""
    message = {"role": kind, "content": text}
    return json.dumps(
        {
            "type": kind,
            "uuid": str(uuid4()),
            "timestamp": "2026-03-01T10:00:00.000Z",
            "message": message,
            **fields,
        }
    )


def exchange(prompt: str, answer: str) -> list[str]:
    """A prompt and its answer, as the client writes them."""
    return [line("user", prompt), line("assistant", [{"type": "text", "text": answer}])]


def messages_of(lines: Iterable[str]) -> list[tuple[str, str]]:
    """Who said what."""
    return [(message.role, message.text) for message in read_messages(lines)]


def test_only_what_user_and_assistant_said_is_read() -> None:
    """Not what hooks injected, tools returned, subagents and the client itself said, nor what is broken."""
    lines = [
        '{"type": "queue-operation"}',
        json.dumps({"type": "api-request-blob", "uuid": "b", "message": {"role": "user", "content": "sent"}}),
        *exchange("Which port?", "5433."),
        json.dumps({"type": "attachment", "attachment": {"type": "hook_success", "content": "injected"}}),
        line("user", [{"type": "tool_result", "content": "a tool"}], toolUseResult={"a": 1}),
        line("user", "a caveat", isMeta=True),
        line("user", "/clear was called"),
        line("user", "<command-name>/clear</command-name>"),
        line("user", [{"type": "text", "text": "[Request interrupted by user]"}]),
        line("user", "[Request interrupted by user for tool use]"),
        line("assistant", [{"type": "text", "text": "a subagent"}], isSidechain=True),
        line("assistant", [{"type": "thinking", "thinking": "hm"}, {"type": "tool_use", "input": {}}]),
        json.dumps({"type": "assistant", "message": {"model": "<synthetic>", "content": "API Error"}}),
        "{broken",
        "[1]",
        '{"type": "user", "message": 3}',
        '{"type": "user", "message": {"content": null}, "uuid": null}',
        "[" * 100_000,
        line("user", f"Thanks.{framed(['quoted'])}<system-reminder>x</system-reminder>"),
    ]

    assert messages_of(lines) == [
        ("user", "Which port?"),
        ("assistant", "5433."),
        ("user", "/clear was called"),
        ("user", "Thanks."),
    ]


def test_a_quoted_briefing_is_not_learned_back() -> None:
    """An answer that repeats what it was told keeps only its own words."""
    told = framed(["- the port is 5433"])

    assert messages_of(exchange("What do you know?", f"This:\n{told}\nNo more.")) == [
        ("user", "What do you know?"),
        ("assistant", "This:\n\nNo more."),
    ]
    assert messages_of(exchange("x", told)) == [("user", "x")]


@given(
    texts=st.lists(
        st.tuples(st.text(min_size=1, max_size=3_000), st.text(max_size=3_000)), min_size=1, max_size=30
    )
)
def test_a_digest_is_bounded(texts: list[tuple[str, str]]) -> None:
    """Whatever was said, in a session of any length; the same words give the same digest."""
    lines = [each for prompt, answer in texts for each in exchange(prompt, answer)]
    messages = list(read_messages(lines))

    built = digest(messages)

    assert len(built) <= MAX_DIGEST_CHARS
    assert built == digest(messages)
    assert find_secret(built) is None
    assert bool(built) == any(message.role == "user" for message in messages)


def said(role: Any, text: str) -> TranscriptMessage:  # noqa: ANN401 - one of two words
    """A message."""
    return TranscriptMessage(id=str(uuid4()), role=role, text=text, said_at=None)


def test_secrets_are_masked_in_a_digest() -> None:
    """What was said around them stays."""
    assert digest([said("user", f"use {KEY} there")]) == "User: use [hidden: API key] there"


def test_a_digest_keeps_prompts_and_the_last_words_of_answers() -> None:
    """In the order of the session; of a long one its first exchange and the latest."""
    short = [
        said("user", "Fix the port"),
        said("assistant", "Looking."),
        said("assistant", "It is 5433 now."),
    ]
    long = [said(role, f"{role} {number}") for number in range(30) for role in ("user", "assistant")]

    assert digest(short) == "User: Fix the port\n\nAssistant: It is 5433 now."
    assert digest(short[1:]) == ""
    assert digest(long).startswith(
        "User: user 0\n\nAssistant: assistant 0\n\n[18 exchanges left out]\n\nUser: user 19\n\n"
    )
    assert digest(long).endswith("Assistant: assistant 29")


def test_what_becomes_a_secret_only_beside_its_neighbour_is_masked_too() -> None:
    """A label at the end of one text, a value at the beginning of the next."""
    messages = [said("user", "the password:"), said("assistant", "hunter2")]

    assert find_secret(digest(messages)) is None


@pytest.fixture
async def knowledge(
    knowledge_url: str, engine: EmbeddingEngine, clock: ManualClock, tmp_path: Path
) -> AsyncIterator[KnowledgeMemory]:
    """Knowledge memory, empty."""
    async with open_knowledge(knowledge_url, tmp_path, engine=engine, clock=clock) as memory:
        yield memory


@pytest.fixture
def records(tmp_path: Path) -> SessionRecords:
    """No records yet."""
    return SessionRecords(tmp_path / "home")


def begun(tmp_path: Path, lines: list[str], name: str | None = None) -> SessionRecord:
    """A session that has begun, with its transcript."""
    session = name or str(uuid4())
    transcript = tmp_path / "project" / f"{session}.jsonl"
    transcript.parent.mkdir(exist_ok=True)
    transcript.write_text("".join(f"{each}\n" for each in lines))
    return SessionRecord(session_id=session, transcript=transcript, butler="shop")


async def stored(memory: KnowledgeMemory) -> list[str]:
    """The contents of all episodes of the butler, by age."""
    found = await memory.search(
        "port", types=["episode"], mode="semantic", limit=1000, narrowing=Narrowing(scope="shop")
    )
    episodes = sorted((each.memory for each in found), key=lambda each: (each.created_at, each.content))
    return [each.content for each in episodes]


async def test_a_session_becomes_one_episode_however_often_it_is_read(
    knowledge: KnowledgeMemory, records: SessionRecords, tmp_path: Path
) -> None:
    """A hundred times: one; what is said later becomes another, and so does only what is new in a copy."""
    record = begun(tmp_path, exchange("Which port?", "5433."))
    for _ in range(100):
        record = await learn(records, InMemory(knowledge), record)
    assert await stored(knowledge) == ["User: Which port?\n\nAssistant: 5433."]

    with record.transcript.open("a") as file:
        file.writelines(f"{each}\n" for each in exchange("And now?", "5434."))
    copied = begun(tmp_path, [*record.transcript.read_text().splitlines(), *exchange("Forked?", "Yes.")])
    await learn(records, InMemory(knowledge), record)
    await learn(records, InMemory(knowledge), copied)

    assert sorted(await stored(knowledge)) == [
        "User: And now?\n\nAssistant: 5434.",
        "User: Forked?\n\nAssistant: Yes.",
        "User: Which port?\n\nAssistant: 5433.",
    ]


async def test_an_episode_says_where_it_came_from(
    knowledge: KnowledgeMemory, records: SessionRecords, tmp_path: Path
) -> None:
    """The session, the client, and when it was."""
    record = begun(tmp_path, exchange("Which port?", "5433."))

    await learn(records, InMemory(knowledge), record)

    (found,) = await knowledge.search("port", types=["episode"], mode="keyword")
    episode = found.memory
    assert isinstance(episode, Episode)
    assert episode.session_id == UUID(record.session_id)
    assert episode.metadata == {"source": "claude-code"}
    assert episode.created_at.isoformat() == "2026-03-01T10:00:00+00:00"


async def test_one_that_was_ended_while_it_stored_does_not_store_twice(
    knowledge: KnowledgeMemory, records: SessionRecords, tmp_path: Path
) -> None:
    """The episode is there, and the record could not say so any more."""
    record = begun(tmp_path, exchange("Which port?", "5433."))
    await learn(records, InMemory(knowledge), record)
    records.put(replace(record, storing=True))

    known = records.get(record.session_id)
    assert known is not None
    again = await learn(records, InMemory(knowledge), known)

    assert again.storing is False
    assert len(again.read) == 2
    assert len(await stored(knowledge)) == 1


async def test_a_session_that_cannot_be_learned_from_waits_for_the_next(
    knowledge: KnowledgeMemory, records: SessionRecords, engine: EmbeddingEngine, tmp_path: Path
) -> None:
    """Nothing is marked as read that was not stored."""
    record = replace(begun(tmp_path, exchange("Which port?", "5433.")), ended=True)
    records.put(record)
    async with open_knowledge(GONE, tmp_path, engine=engine, lazy=True) as gone:
        with pytest.raises(StorageUnavailableError, match="no episode was stored"):
            await learn(records, InMemory(gone), record)

    current = begun(tmp_path, [])
    assert await sweep(records, InMemory(knowledge), current) == 1
    assert await sweep(records, InMemory(knowledge), current) == 0
    assert len(await stored(knowledge)) == 1


@pytest.mark.parametrize(("hook", "ended"), [(session_start, False), (session_end, True)])
async def test_a_session_whose_hooks_never_got_the_lock_is_learned_from_later(
    knowledge: KnowledgeMemory,
    settings: Settings,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    hook: Callable[[HookCall, KnowledgeMemory], Awaitable[str]],
    *,
    ended: bool,
) -> None:
    """Others had it all the time: it is known of all the same, and what went wrong is one line."""
    monkeypatch.setattr(sessions, "LOCK_TIMEOUT_S", 0.1)
    records = SessionRecords(settings.home)
    begun_one = begun(tmp_path, exchange("Which port?", "5433."))
    called = HookCall(
        session_id=begun_one.session_id,
        transcript=begun_one.transcript,
        prompt="",
        named_butler="shop",
        settings=settings.model_copy(update={"postgres_url": GONE}),
    )

    async with open_knowledge(GONE, tmp_path, engine=knowledge.engine, lazy=True) as gone, records.locked():
        with suppress(StorageUnavailableError):
            await hook(called, gone)

    record = records.get(called.session_id)
    assert record == replace(begun_one, ended=ended)
    reasons = [line for line in caplog.records if "has been locked" in line.getMessage()]
    assert [line.exc_info for line in reasons] == ([] if ended else [None])
    quiet = time.time() - QUIET_S - 1
    os.utime(begun_one.transcript, (quiet, quiet))
    assert await sweep(records, InMemory(knowledge), begun(tmp_path, [])) == 1
    assert len(await stored(knowledge)) == 1


async def test_transcripts_that_cannot_be_read_do_not_keep_others_from_being_learned(
    knowledge: KnowledgeMemory, records: SessionRecords, tmp_path: Path
) -> None:
    """A directory, and a place below a file; each is tried again, and none counts."""
    (tmp_path / "file").touch()
    (tmp_path / "directory").mkdir()
    for name in ["directory"] * (SWEPT + 1) + ["file/transcript"]:
        records.put(
            SessionRecord(session_id=str(uuid4()), transcript=tmp_path / name, butler="shop", ended=True)
        )
    records.put(replace(begun(tmp_path, exchange("Which port?", "5433.")), ended=True))

    assert await sweep(records, InMemory(knowledge), begun(tmp_path, [])) == 1
    await sweep_all(tmp_path / "home", knowledge)
    assert len(await stored(knowledge)) == 1


async def test_sessions_that_were_killed_are_taken_up_a_few_at_a_time(
    knowledge: KnowledgeMemory, records: SessionRecords, tmp_path: Path
) -> None:
    """Those that still go on, those of other projects and those without a transcript are left alone."""
    old = time.time() - QUIET_S - 5
    for number in range(SWEPT + 2):
        record = begun(tmp_path, exchange(f"Question {number}?", "Yes."))
        os.utime(record.transcript, (old, old))
        records.put(record)
    records.put(begun(tmp_path, exchange("Still going on?", "Yes.")))
    records.put(
        SessionRecord(session_id=str(uuid4()), transcript=tmp_path / "project" / "none", butler="shop")
    )
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    other = replace(begun(elsewhere, exchange("Elsewhere?", "Yes.")), butler="garden")
    os.utime(other.transcript, (old, old))
    records.put(other)

    current = begun(tmp_path, [])
    counts = [await sweep(records, InMemory(knowledge), current) for _ in range(3)]

    assert counts == [SWEPT, 2, 0]
    assert [text[:14] for text in sorted(await stored(knowledge))] == [
        f"User: Question {number}"[:14] for number in range(SWEPT + 2)
    ]


def test_records_are_forgotten_in_time_and_damaged_ones_are_none(
    records: SessionRecords, tmp_path: Path
) -> None:
    """The name of a file is never taken from outside."""
    record = begun(tmp_path, [])
    records.put(record)
    assert records.get(record.session_id) == record
    (path,) = (tmp_path / "home").rglob("*.json")
    moment = time.time() - KEPT_S
    os.utime(path, (moment + 60, moment + 60))
    records.forget_old()
    assert records.beside(record) == [record]
    os.utime(path, (moment - 60, moment - 60))
    records.forget_old()
    assert records.beside(record) == []

    for damage in ("", "[]", '{"read": 3, "transcript": "x"}', '{"later": 1, "read": [], "transcript": "x"}'):
        path.write_text(damage)
        assert records.get(record.session_id) is None
    with pytest.raises(ValueError, match="session_id: expected a UUID"):
        records.get("../../etc/passwd")
