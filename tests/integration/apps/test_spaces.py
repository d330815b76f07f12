"""Users' spaces, shared memories, search, export and import, conflicts and statistics.

Every test runs on SQLite and on PostgreSQL.
"""

import json
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import pytest

from commonplace.apps.memory import AppMemory
from commonplace.apps.model.memories import ChangeKind
from commonplace.apps.model.receipts import DigestOutcome
from commonplace.core.clock import ManualClock
from commonplace.core.errors import InvalidInputError, NotFoundError
from commonplace.core.request_context import request_context
from commonplace.core.settings import Settings
from commonplace.embedding import EmbeddingEngine, EmbeddingOptions
from commonplace.llm import Script
from support.apps import digests, fill, said

NEW_YEAR = "2026-01-01T00:00:00Z"

Opener = Callable[..., AbstractAsyncContextManager[AppMemory]]


@pytest.fixture
def opened(database: Settings, clock: ManualClock, engine: EmbeddingEngine) -> Opener:
    """Open app memory with a script for a model and two apps."""

    @asynccontextmanager
    async def opener(*steps: str, engine: EmbeddingEngine = engine) -> AsyncIterator[AppMemory]:
        async with AppMemory.open(database, model=Script(*steps).model(), engine=engine, clock=clock) as apps:
            await apps.registry.register("cal")
            await apps.registry.register("mail")
            yield apps

    return opener


@pytest.mark.requirement("APP-16.7")
async def test_a_user_has_a_space_of_their_own(opened: Opener) -> None:
    """Shown with the app's common memories to that user, and to nobody else."""
    async with opened("Common matter.", "Ada likes tea.", "Ben likes coffee.") as apps:
        await apps.ingest("cal", "c-0", said("x"))
        await apps.ingest("cal", "c-1", said("x"), user_id="ada")
        await apps.ingest("cal", "c-2", said("x"), user_id="ben")
        assert {one.content for one in await apps.focus.visible("cal")} == {"Common matter."}
        ada = await apps.context("cal", user_id="ada")
        assert {one.content for one in ada.memories} == {"Common matter.", "Ada likes tea."}
        assert [hit.memory.user_id for hit in await apps.search("cal", "likes", user_id="ben")] == ["ben"]
        assert await apps.search("cal", "likes") == []
        assert await apps.search("cal", "Ada likes tea", by="meaning") == []
        await apps.begin_conversation("cal", "c-3", user_id="ben")
        await apps.add_message("c-3", "user", "Hello?")
        focus = await apps.focus.unanswered("c-3")
        assert focus is not None
        assert {one.content for one in focus.memories} == {"Common matter.", "Ben likes coffee."}
        assert len(await apps.list_memories("cal")) == await apps.count("cal") == 3


@pytest.mark.requirement("APP-16.7", "DIG-07.1")
async def test_common_memories_leave_room_for_a_users_own(opened: Opener) -> None:
    """Ten common memories that are newer hide at most half of the user's; the most important ones are shown."""
    own = ["The user likes plums.", "Never call Ada before nine.", *digests(6, first=21)]
    async with opened(*own, *digests(10)) as apps:
        for number in range(8):
            await apps.ingest("cal", f"a-{number}", said("x"), user_id="ada")
        await fill(apps, "cal", 10)
        shown = (await apps.context("cal", user_id="ada")).memories
        assert [one.user_id for one in shown].count("ada") == 5
        assert len(shown) == 10
        assert "Never call Ada before nine." in [one.content for one in shown]
        assert [one.updated_at for one in shown] == sorted((one.updated_at for one in shown), reverse=True)


@pytest.mark.requirement("APP-16.7", "APP-03.4")
async def test_each_space_has_its_own_ten(opened: Opener) -> None:
    """A user's eleventh memory takes none of the app's, nor of another user's."""
    decision = '{"action": "delete", "targetMemoryId": 2}'
    async with opened(*digests(12), decision) as apps:
        await apps.ingest("cal", "common", said("x"))
        for number in range(11):
            await apps.ingest("cal", f"c-{number}", said("x"), user_id="ada")
        kept = [one.user_id for one in await apps.list_memories("cal")]
        assert sorted(kept, key=str) == [None, *["ada"] * 10]
        assert len(await apps.focus.visible("cal", user_id="ada")) == 10


@pytest.mark.requirement("APP-16.6")
async def test_a_memory_is_shared_only_on_purpose(opened: Opener) -> None:
    """Then the other app's conversations see it too, until it is taken away; it stays the first app's."""
    async with opened("Ships on Friday.", "Ada likes tea.") as apps:
        (shared,) = await fill(apps, "cal", 1)
        private = await apps.ingest("cal", "c-1", said("x"), user_id="ada")
        assert shared.memory is not None
        assert private.memory is not None
        assert await apps.focus.visible("mail") == []
        with request_context(actor="ada"):
            assert (await apps.shares.add(shared.memory.id, "mail")).changed
        assert not (await apps.shares.add(shared.memory.id, "mail")).changed
        await apps.shares.add(private.memory.id, "mail")
        assert [one.id for one in await apps.focus.visible("mail")] == [shared.memory.id]
        assert len(await apps.focus.visible("mail", user_id="ada")) == 2
        assert len(await apps.search("mail", "ships")) == 1
        assert len(await apps.search("mail", "Ships on Friday", by="meaning")) == 1
        assert await apps.list_memories("mail") == []
        assert await apps.shares.list(shared.memory.id) == ["mail"]
        assert (await apps.purge("mail")).deleted == 0
        assert (await apps.shares.remove(shared.memory.id, "mail")).changed
        assert not (await apps.shares.remove(shared.memory.id, "mail")).changed
        assert await apps.focus.visible("mail") == []
        kinds = [(change.kind, change.actor) for change in await apps.history(shared.memory.id)]
        assert kinds[1:] == [(ChangeKind.SHARED, "ada"), (ChangeKind.UNSHARED, "operator")]
        with pytest.raises(InvalidInputError):
            await apps.shares.add(shared.memory.id, "cal")
        with pytest.raises(NotFoundError):
            await apps.shares.add(shared.memory.id, "nobody")


@pytest.mark.requirement("APP-16.2", "APP-16.5")
async def test_memories_are_found_by_words_and_by_meaning(opened: Opener) -> None:
    """Both say how well each fits."""
    async with opened("The deploy of the shop failed on Friday.", "Ada likes green tea.") as apps:
        await fill(apps, "cal", 2)
        (hit,) = await apps.search("cal", "shop DEPLOYS deploy")
        assert (hit.memory.id, hit.words) == (1, ("shop", "deploy"))
        (near, *_) = await apps.search("cal", "what did the deploy of the shop do", by="meaning")
        assert near.memory.id == 1
        assert 0.25 <= near.score <= 1
        with pytest.raises(InvalidInputError):
            await apps.search("cal", "  ")
        with pytest.raises(NotFoundError):
            await apps.search("nobody", "x")


@pytest.mark.requirement("APP-16.5")
async def test_memories_without_a_vector_get_one_when_somebody_searches(
    opened: Opener, engine: EmbeddingEngine, tmp_path: Path
) -> None:
    """Made while no model of embeddings was there: the memory is kept all the same, and counted."""
    missing = EmbeddingEngine(EmbeddingOptions(model=str(tmp_path / "nowhere")))
    async with opened("The deploy of the shop failed on Friday.", engine=missing) as apps:
        (receipt,) = await fill(apps, "cal", 1)
        assert receipt.outcome is DigestOutcome.CREATED
        assert apps.figures.counts().fallbacks == {"embedding": 1}
    async with opened(engine=engine) as apps:
        for _ in range(2):
            assert len(await apps.search("cal", "the deploy of the shop", by="meaning")) == 1
        async with apps._store.reading() as sql:
            rows = await sql.vectors_of(app_id="cal", model="fake@1")
        assert [len(row["vector"]) for row in rows] == [384 * 4]


async def test_lists_and_searches_refuse_what_does_not_exist(opened: Opener) -> None:
    """A misspelt word would find nothing; SQLite would take -1 for all."""
    async with opened() as apps:
        for call, message in (
            (apps.search("cal", "tea", by="sense"), "by: expected words or meaning"),  # type: ignore[arg-type]
            (apps.digests.list("skiped"), "state: expected one of waiting"),  # type: ignore[arg-type]
            (apps.registry.list(status="active"), "status: expected one of installed"),  # type: ignore[arg-type]
            (apps.list_memories("cal", limit=-1), "limit: expected a whole number from 1"),
            (apps.conversations.list("cal", limit=0), "limit: expected a whole number from 1"),
        ):
            with pytest.raises(InvalidInputError, match=message):
                await call


@pytest.mark.requirement("APP-16.3")
async def test_what_was_exported_can_be_imported(opened: Opener, clock: ManualClock) -> None:
    """Into another app, word for word with times and metadata; a second time changes nothing."""
    async with opened("User prefers tea.", *digests(1)) as apps:
        await fill(apps, "cal", 1)
        clock.advance(days=1)
        await apps.ingest("cal", "c-2", said("x"), user_id="ada")
        document = json.loads(json.dumps((await apps.export("cal")).as_json()))
        assert document["memories"][1]["createdAt"] == "2026-03-01T12:00:00.000000Z"
        assert document["memories"][1]["metadata"]["tags"] == ["preference"]
        clock.advance(days=1)
        receipt = await apps.import_document("mail", document)
        assert (len(receipt.added), receipt.known, receipt.refused) == (2, 0, ())
        copied = json.loads(json.dumps((await apps.export("mail")).as_json()))
        fields = ("content", "createdAt", "updatedAt", "sourceConversationId", "userId", "metadata")
        assert [[one[field] for field in fields] for one in copied["memories"]] == [
            [one[field] for field in fields] for one in document["memories"]
        ]
        again = await apps.import_document("mail", document)
        assert (again.added, again.known) == ((), 2)
        assert [one.kind for one in await apps.history(receipt.added[0].id)] == [ChangeKind.IMPORTED]


@pytest.mark.requirement("APP-16.3", "APP-03.4")
async def test_an_import_never_removes_what_is_there(opened: Opener) -> None:
    """What finds no room is refused, and so are secrets; each with its place in the document."""
    async with opened(*digests(9)) as apps:
        await fill(apps, "cal", 9)
        moment = "2026-02-01T00:00:00Z"
        contents = ["A first fact.", "The password: hunter2x", "A second fact."]
        document = {
            "memories": [{"content": one, "createdAt": moment, "updatedAt": moment} for one in contents]
        }
        receipt = await apps.import_document("cal", document)
        assert [one.content for one in receipt.added] == ["A second fact."]
        assert [(one.index, "secret" in one.reason) for one in receipt.refused] == [(0, False), (1, True)]
        assert await apps.count("cal") == 10


async def test_an_import_takes_ids_that_read_like_noise(opened: Opener) -> None:
    """Long mixed ids are ordinary, also those of related conversations; what is exported can be imported."""
    noise = "Zk3vQ9xLr7TbW2mNc8YfHs5JdGp4KaUe6RiXoVtBqMzE"
    memory = {
        "content": "A fact.",
        "createdAt": NEW_YEAR,
        "updatedAt": NEW_YEAR,
        "sourceConversationId": noise,
        "metadata": {"relatedConversations": [noise]},
    }
    async with opened() as apps:
        assert len((await apps.import_document("cal", {"memories": [memory]})).added) == 1
        copied = json.loads(json.dumps((await apps.export("cal")).as_json()))
        assert len((await apps.import_document("mail", copied)).added) == 1
        noted = memory | {"metadata": {"note": noise}}
        (refused,) = (await apps.import_document("mail", {"memories": [noted]})).refused
        assert "high-entropy" in refused.reason


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"metadata": {"note": "password: hunter2secret9"}}, "metadata or ids (password: with a value)"),
        ({"metadata": {"password": "hunter2secret9"}}, "metadata or ids (password: with a value)"),
        ({"metadata": {"deep": [{"note": "Use\nsk-abc123def456"}]}}, "metadata or ids (API key (sk-…))"),
        ({"metadata": {"tags": ["sk-abc123def456"]}}, "metadata or ids (API key (sk-…))"),
        ({"metadata": {"sk-abc123def456": 1}}, "metadata or ids (API key (sk-…))"),
        ({"sourceConversationId": "sk-abc123def456"}, "metadata or ids (API key (sk-…))"),
        ({"userId": "ghp_abc123def456"}, "metadata or ids (GitHub token)"),
        ({"metadata": {"note": "x" * 70_000}}, "has 70012 characters of metadata, more than 65536"),
    ],
)
async def test_an_import_takes_no_secret_and_no_mountain_beside_the_text(
    opened: Opener, fields: dict[str, object], reason: str
) -> None:
    """What stands in metadata or ids is refused by name; an innocent memory beside it is taken."""
    innocent = {"content": "A fact.", "createdAt": NEW_YEAR, "updatedAt": NEW_YEAR}
    async with opened() as apps:
        receipt = await apps.import_document(
            "cal", {"memories": [innocent, {**innocent, "content": "Another fact.", **fields}]}
        )
        assert [one.content for one in receipt.added] == ["A fact."]
        (refusal,) = receipt.refused
        assert refusal.index == 1
        assert reason in refusal.reason


async def test_an_import_says_what_it_shortened(opened: Opener) -> None:
    """A memory has 200 characters and four sentences; spaces alone are no loss."""
    contents = ["A\n fact。Another。", "word " * 60, "One. Two. Three. Four. Five."]
    document = {
        "memories": [{"content": one, "createdAt": NEW_YEAR, "updatedAt": NEW_YEAR} for one in contents]
    }
    async with opened() as apps:
        receipt = await apps.import_document("cal", document)
    assert len(receipt.added) == 3
    assert receipt.shortened == (1, 2)


@pytest.mark.requirement("APP-16.3")
async def test_an_import_keeps_the_order_of_what_was_made_at_one_moment(opened: Opener) -> None:
    """A document has the newest first, also where times are equal."""
    contents = ["The third.", "The second.", "The first."]
    document = {
        "memories": [{"content": one, "createdAt": NEW_YEAR, "updatedAt": NEW_YEAR} for one in contents]
    }
    async with opened() as apps:
        await apps.import_document("cal", document)
        exported = (await apps.export("cal")).as_json()
    assert [one["content"] for one in exported["memories"]] == contents


async def test_an_import_takes_text_of_any_kind(opened: Opener) -> None:
    """NUL and lone surrogates, as programs in other languages leave them, break no database."""
    memory = {
        "content": "A fact\x00 of some kind.",
        "createdAt": NEW_YEAR,
        "updatedAt": NEW_YEAR,
        "metadata": {"tags": ["\ud83d", "\x00"]},
    }
    async with opened() as apps:
        receipt = await apps.import_document("cal", {"memories": [memory]})
        assert [one.content for one in receipt.added] == ["A fact of some kind."]


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ([], "document: expected an object"),
        ({}, "memories: expected a value, got nothing"),
        ({"memories": [{"content": "x"}]}, "createdAt: expected a value, got nothing"),
        (
            {
                "memories": [
                    {"content": "x", "createdAt": "2026-01-01T00:00:00", "updatedAt": "2026-01-01T00:00:00Z"}
                ]
            },
            "createdAt: expected a time with its time zone",
        ),
        (
            {"memories": [{"content": "x", "createdAt": "2026", "updatedAt": NEW_YEAR}]},
            "createdAt: expected a time such as",
        ),
        (
            {"memories": [{"content": "x", "createdAt": NEW_YEAR, "updatedAt": 7}]},
            "updatedAt: expected a time",
        ),
        (
            {"memories": [{"content": "x", "createdAt": "0001-01-01T00:00:00+14:00", "updatedAt": NEW_YEAR}]},
            "createdAt: expected a moment of the years 1 to 9999 in UTC",
        ),
        (
            {"memories": [{"content": "x", "createdAt": NEW_YEAR, "updatedAt": NEW_YEAR, "userid": "ada"}]},
            "userid: expected no value, because this field does not exist",
        ),
        ({"format": "other", "memories": []}, "format: expected "),
        (
            {
                "memories": [
                    {"content": "x", "createdAt": NEW_YEAR, "updatedAt": NEW_YEAR, "userId": "a\x00b"}
                ]
            },
            "userId: expected ",
        ),
    ],
)
async def test_another_document_is_refused(opened: Opener, document: object, message: str) -> None:
    """With what is wrong with it."""
    async with opened() as apps:
        with pytest.raises(InvalidInputError, match=message):
            await apps.import_document("cal", document)  # type: ignore[arg-type]


@pytest.mark.requirement("APP-16.8")
async def test_a_new_digest_that_disagrees_is_told(opened: Opener) -> None:
    """In its receipt and in the list; both memories stay."""
    async with opened("Meetings start at 2pm.", "Meetings start at 4pm.", "Ada likes tea.") as apps:
        first, second, third = await fill(apps, "cal", 3)
        assert first.conflicts == third.conflicts == ()
        (conflict,) = second.conflicts
        assert (conflict.older, conflict.newer) == (first.memory, second.memory)
        assert [(one.older.id, one.newer.id) for one in await apps.conflicts("cal")] == [(1, 2)]
        assert apps.figures.counts().conflicts == 1
        assert await apps.count("cal") == 3


@pytest.mark.requirement("APP-16.1")
async def test_importance_is_scored_when_a_memory_is_made(opened: Opener) -> None:
    """With the tags of what speaks for it."""
    async with opened("The office has a garden.", "The user prefers tea.") as apps:
        plain, preference = await fill(apps, "cal", 2)
        assert plain.memory is not None
        assert preference.memory is not None
        assert plain.memory.metadata.importance == 3
        assert preference.memory.metadata.importance == 6
        assert preference.memory.metadata.tags == ("preference",)


@pytest.mark.requirement("APP-12.1", "APP-12.2", "APP-12.3", "APP-12.4", "APP-12.5", "APP-16.4")
async def test_statistics_tell_how_memory_is_used(opened: Opener, clock: ManualClock) -> None:
    """Rates, compactions by app, utilisation, injection rate and energy, from the database."""
    decision = '{"action": "delete", "targetMemoryId": 1}'
    async with opened(*digests(11), decision, *digests(1, first=20)) as apps:
        await fill(apps, "cal", 11)
        clock.advance(hours=2)
        await fill(apps, "cal", 1, first=20)
        await apps.begin_conversation("cal", "c-a")
        await apps.add_message("c-a", "user", "Hello?")
        await apps.begin_conversation("mail", "m-a")
        await apps.add_message("m-a", "user", "Hello?")
        await apps.focus.unanswered("c-a")
        await apps.focus.unanswered("m-a")
        figures = await apps.figures.total()
        assert (figures.apps, figures.apps_with_memories, figures.utilisation) == (2, 1, 0.5)
        assert (figures.created_last_hour, figures.created_last_day) == (1, 12)
        assert figures.compactions_last_day["cal"] >= 1
        assert (figures.conversations, figures.in_focus, figures.injection_rate) == (14, 2, 0.5)
        assert figures.fullest == {"cal": figures.memories}
        assert figures.digests == {"done": 12}
        assert 120 <= figures.energy_last_day["creation"] <= 180
        clock.advance(days=2)
        later = await apps.figures.total()
        assert (later.created_last_day, later.compactions_last_day, later.energy_last_day) == (0, {}, {})
        counts = apps.figures.counts()
        assert counts.digests["created"] == 12
        assert counts.compactions_of_apps["cal"] == sum(counts.compactions.values())
        assert counts.contexts == {"with": 1, "without": 1}
