"""The verbs over all memories, over REST."""

from collections.abc import AsyncIterator

import pytest

from commonplace.core.settings import Settings
from commonplace.services.memory_ids import MemoryKind
from support.secured import STRANGER, Secured, secured
from support.shelves import one_of_each

API = "/api/v1"


@pytest.fixture
async def service(settings: Settings, knowledge_url: str) -> AsyncIterator[Secured]:
    """A service that asks for tokens, over empty memories."""
    async with secured(settings.model_copy(update={"postgres_url": knowledge_url})) as service:
        yield service


@pytest.mark.requirement("ONE-01.1")
async def test_each_kind_is_listed_shown_and_has_a_history_by_its_short_id(service: Secured) -> None:
    """Lists print the short and the full id, and both lead to the memory; a number alone has no kind."""
    ids = await one_of_each(service)
    async with service.client("reader") as client:
        for kind, memory_id in ids.items():
            listed = (await client.get(f"{API}/memories", params={"kind": kind})).json()["items"]
            assert [one["shortId"] for one in listed] == [str(memory_id)], kind
            full = listed[0]["id"]
            for text in (str(memory_id), *([] if full.isdigit() else [full])):
                shown = (await client.get(f"{API}/memories/{text}")).json()
                assert (shown["shortId"], shown["text"]) == (str(memory_id), listed[0]["text"]), (kind, text)
            history = await client.get(f"{API}/memories/{memory_id}/history")
            assert history.status_code == 200, (kind, history.text)


@pytest.mark.requirement("ONE-01.2")
async def test_a_memory_is_edited_confirmed_pinned_forgotten_and_brought_back(service: Secured) -> None:
    """An edited fact has a new id; the old id stands for it, and the receipt says so."""
    ids = await one_of_each(service)
    fact = ids[MemoryKind.FACT]
    async with service.client("writer") as client:
        edited = (await client.patch(f"{API}/memories/{fact}", json={"content": "black tea"})).json()
        assert (edited["verb"], edited["before"]) == ("edit", "green tea")
        pinned = (await client.post(f"{API}/memories/{fact}/pin")).json()
        assert (pinned["entry"]["pinned"], pinned["insteadOf"]) == (True, str(fact))
        new = pinned["entry"]["shortId"]
        assert not (await client.post(f"{API}/memories/{new}/unpin")).json()["entry"]["pinned"]
        assert (await client.post(f"{API}/memories/{new}/confirm")).json()["verb"] == "confirm"
        forgotten = (await client.post(f"{API}/memories/{new}/forget")).json()
        assert forgotten["entry"]["state"] == "forgotten"
        back = (await client.post(f"{API}/memories/{forgotten['undo']}/undo")).json()
        assert (back["undone"], back["verb"], back["entry"]["state"]) == (True, "forget", "current")
        refused = await client.post(f"{API}/memories/{ids[MemoryKind.EPISODE]}/pin")
        assert (refused.status_code, refused.json()["type"]) == (409, "/docs#state-conflict")
        assert (await client.get(f"{API}/memories/f:22222")).status_code == 404
        wrong = await client.get(f"{API}/memories", params={"kind": "thought"})
        assert (wrong.status_code, wrong.json()["field"]) == (422, "kind")


@pytest.mark.requirement("ONE-03.1")
async def test_one_search_over_all_memories(service: Secured) -> None:
    """What holds the word is first; words of time narrow; a strange word of time is refused."""
    ids = await one_of_each(service)
    async with service.client("reader") as client:
        answer = (await client.get(f"{API}/know", params={"q": "tea"})).json()
        literal = {one["shortId"] for one in answer["items"] if one["score"] > 1}
        assert literal == {str(ids[kind]) for kind in (MemoryKind.FACT, MemoryKind.RULE, MemoryKind.EPISODE)}
        newest = (await client.get(f"{API}/know", params={"since": "yesterday", "kind": ["note"]})).json()
        assert [one["shortId"] for one in newest["items"]] == [str(ids[MemoryKind.NOTE])]
        elsewhere = (await client.get(f"{API}/know", params={"q": "tea", "scope": "elsewhere"})).json()
        assert {one["kind"] for one in elsewhere["items"]} == {"fact", "rule"}, "both are global"
        wrong = await client.get(f"{API}/know", params={"until": "whenever"})
        assert (wrong.status_code, wrong.json()["field"]) == (422, "until")


async def test_other_tenants_reach_knowledge_memory_alone(service: Secured) -> None:
    """Their search finds nothing of the installation, and ids of its memories are refused."""
    ids = await one_of_each(service)
    async with service.client(STRANGER) as client:
        assert (await client.get(f"{API}/know", params={"q": "tea"})).json()["items"] == []
        for kind in (MemoryKind.LESSON, MemoryKind.NOTE, MemoryKind.DIGEST):
            assert (await client.get(f"{API}/memories/{ids[kind]}")).status_code == 403, kind
        assert (await client.get(f"{API}/memories/{ids[MemoryKind.FACT]}")).status_code == 404
    async with service.client("reader") as client:
        assert (await client.post(f"{API}/memories/{ids[MemoryKind.FACT]}/forget")).status_code == 403
