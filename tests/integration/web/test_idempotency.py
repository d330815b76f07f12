"""``Idempotency-Key``: a request that is sent again changes nothing twice, whichever process it reaches."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any
from uuid import uuid4

import asyncpg
import httpx2
import pytest

from commonplace.core.errors import ClaimLostError
from commonplace.core.settings import Settings
from commonplace.knowledge import KeptAnswers
from commonplace.knowledge.memory import KnowledgeMemory
from commonplace.operational import MemoryFilter, OperationalMemory
from commonplace.services.erasure.erasing import erase
from commonplace.services.erasure.selection import By, Selection
from commonplace.storage.request_claims import KeptAnswer, RequestClaim, RequestConflict
from support.secured import STRANGER, Secured, secured

JsonBody = dict[str, Any]

PATH = "/api/v1/knowledge/episodes"
EPISODE = {"content": "The port was moved.", "butler": "ops"}
ANSWER = KeptAnswer(status=201, media_type="application/json", location="", body="{}")

LESSON: JsonBody = {"category": "timing", "observation": "Backups end at four."}
APP: JsonBody = {"appId": "notes", "name": "Notes"}
TALK: JsonBody = {"conversationId": "c1", "userId": "u1"}
MESSAGES: JsonBody = {"messages": [{"role": "user", "content": "Hello."}]}
NOTE: JsonBody = {"text": "The tests need Docker."}
IN_A_DATABASE = {
    "/api/v1/operational/memories": LESSON,
    "/api/v1/apps": APP,
    "/api/v1/apps/notes/conversations": TALK,
    "/api/v1/apps/notes/conversations/c1/messages": MESSAGES,
    "/api/v1/apps/notes/conversations/c1/end": {},
}
"""A request to each kind of change in operational and app memory, in an order that works."""


@pytest.fixture
async def service(settings: Settings, knowledge_url: str) -> AsyncIterator[Secured]:
    """The service, where every request needs a token."""
    async with secured(settings.model_copy(update={"postgres_url": knowledge_url})) as service:
        yield service


async def send(service: Secured, key: str, *, who: str = "admin", **changed: str) -> httpx2.Response:
    """Store an episode under a key."""
    async with service.client(who, **{"Idempotency-Key": key}) as client:
        return await client.post(PATH, json=EPISODE | changed)


async def stored(service: Secured, who: str = "admin") -> int:
    """Return how many episodes the tenant of a token has."""
    async with service.client(who) as client:
        return (await client.get("/api/v1/knowledge/stats")).json()["episodes"]["total"]


async def test_a_repetition_gets_the_same_answer(service: Secured) -> None:
    """The episode is stored once, and the answer says that it was kept."""
    first, again = await send(service, "a"), await send(service, "a")
    assert first.status_code == again.status_code == 201
    assert first.json() == again.json()
    assert "idempotent-replayed" not in first.headers
    assert again.headers["idempotent-replayed"] == "true"
    assert await stored(service) == 1


async def test_repetitions_at_once_store_once(service: Secured) -> None:
    """One runs; the others get its answer, or are told to wait."""
    answers = await asyncio.gather(*(send(service, "a") for _ in range(5)))
    assert {answer.status_code for answer in answers} <= {201, 409}
    assert len({answer.json()["id"] for answer in answers if answer.status_code == 201}) == 1
    assert await stored(service) == 1


async def test_a_key_belongs_to_one_request_of_one_caller(service: Secured) -> None:
    """Another body or token is refused; another tenant has keys of its own."""
    await send(service, "a")
    for other in (await send(service, "a", content="Another."), await send(service, "a", who="writer")):
        assert (other.status_code, other.json()["type"]) == (409, "/docs#key-reused")
    assert (await send(service, "a", who=STRANGER)).status_code == 201
    assert await stored(service) == await stored(service, STRANGER) == 1


async def test_a_refused_request_frees_its_key(service: Secured) -> None:
    """Nothing was written, so the client may correct the request."""
    assert (await send(service, "a", content="")).status_code == 422
    assert (await send(service, "a")).status_code == 201


@pytest.mark.parametrize("key", ["", "x" * 256, "ü"])
async def test_a_malformed_key_is_refused(service: Secured, key: str) -> None:
    """It has 1 to 255 printable ASCII characters."""
    async with service.client("admin") as client:
        answer = await client.post(PATH, json=EPISODE, headers=[(b"Idempotency-Key", key.encode("latin-1"))])
    assert answer.status_code == 422
    assert await stored(service) == 0


@pytest.mark.parametrize(("applied", "status", "episodes"), [(False, 201, 1), (True, 409, 0)])
async def test_a_request_whose_process_died_runs_again_if_it_changed_nothing(
    service: Secured, knowledge_pool: asyncpg.Pool, *, applied: bool, status: int, episodes: int
) -> None:
    """At first the client has to wait; later it is told whether the request was done."""
    await send(service, "a")
    async with knowledge_pool.acquire() as connection, connection.transaction():
        await connection.execute("SELECT set_config('commonplace.tenant_id', 'default', true)")
        await connection.execute("DELETE FROM episodes")
        await connection.execute(
            "UPDATE kept_answers SET status = NULL, claim = $1, applied_at = $2",
            uuid4(),
            None if not applied else (await connection.fetchval("SELECT now()")),
        )
    waiting = await send(service, "a")
    assert (waiting.status_code, waiting.json()["type"]) == (409, "/docs#running")
    assert waiting.headers["retry-after"] == "1"
    async with knowledge_pool.acquire() as connection, connection.transaction():
        await connection.execute("SELECT set_config('commonplace.tenant_id', 'default', true)")
        await connection.execute("UPDATE kept_answers SET claimed_until = now() - interval '1 s'")
    later = await send(service, "a")
    assert later.status_code == status
    assert not applied or later.json()["type"] == "/docs#answer-lost"
    assert await stored(service) == episodes


async def test_a_process_that_lost_its_claim_writes_nothing(
    knowledge: KnowledgeMemory, knowledge_pool: asyncpg.Pool
) -> None:
    """It stood still for longer than its claim lasts, and another process has the request now."""
    answers = KeptAnswers(knowledge.session)
    claim = await answers.claim("a", "same")
    assert isinstance(claim, RequestClaim)
    assert await answers.claim("a", "same") is RequestConflict.RUNNING
    async with knowledge_pool.acquire() as connection, connection.transaction():
        await connection.execute("SELECT set_config('commonplace.tenant_id', $1, true)", knowledge.tenant_id)
        await connection.execute("UPDATE kept_answers SET claimed_until = now() - interval '1 s'")
    assert isinstance(await answers.claim("a", "same"), RequestClaim)
    with claim.running(), pytest.raises(ClaimLostError):
        await knowledge.store_episode(content="Late.", butler="ops")
    assert (await knowledge.stats()).episodes.total == 0


async def forget_the_response(pool: asyncpg.Pool, key: str) -> None:
    """Leave the claim of a request as a process leaves it that is killed before it has stored the response there."""
    async with pool.acquire() as connection, connection.transaction():
        await connection.execute("SELECT set_config('commonplace.tenant_id', 'default', true)")
        await connection.execute(
            "UPDATE kept_answers SET status = NULL, applied_at = NULL, claimed_until = now() - interval '1 s'"
            " WHERE key = $1",
            key,
        )


@pytest.mark.requirement("HRD-07.1")
async def test_a_killed_request_to_any_memory_takes_effect_once(
    service: Secured, knowledge_pool: asyncpg.Pool
) -> None:
    """Its change and its response were stored together, so a repetition gets the response of the first attempt."""
    for path, body in IN_A_DATABASE.items():
        async with service.client("admin", **{"Idempotency-Key": path}) as client:
            first = await client.post(path, json=body)
            await forget_the_response(knowledge_pool, path)
            again = await client.post(path, json=body)
        assert first.is_success, first.text
        assert (again.status_code, again.json()) == (first.status_code, first.json()), path
        assert again.headers["idempotent-replayed"] == "true"
    assert (await service.memories.operational.page(MemoryFilter())).active == 1
    conversation = await service.memories.apps.conversations.get("c1", app_id="notes")
    assert conversation.message_count == 1


async def test_the_key_of_a_killed_request_belongs_to_it(
    service: Secured, knowledge_pool: asyncpg.Pool
) -> None:
    """Another request with the key changes nothing, even if the claim is gone."""
    async with service.client("admin", **{"Idempotency-Key": "a"}) as client:
        await client.post("/api/v1/operational/memories", json=LESSON)
        async with knowledge_pool.acquire() as connection, connection.transaction():
            await connection.execute("SELECT set_config('commonplace.tenant_id', 'default', true)")
            await connection.execute("DELETE FROM kept_answers")
        other = await client.post("/api/v1/operational/memories", json=LESSON | {"observation": "Another."})
    assert (other.status_code, other.json()["type"]) == (409, "/docs#key-reused")
    assert (await service.memories.operational.page(MemoryFilter())).active == 1


async def test_a_killed_request_to_the_workspace_stores_its_note_once(
    service: Secured, knowledge_pool: asyncpg.Pool
) -> None:
    """A file has no transaction with the claim, but a note that is there is not stored again."""
    path = "/api/v1/workspace/memories"
    async with service.client("admin", **{"Idempotency-Key": "a"}) as client:
        first = await client.post(path, json=NOTE)
        await forget_the_response(knowledge_pool, "a")
        again = await client.post(path, json=NOTE)
    assert again.json()["memory"] == first.json()["memory"]
    assert (first.json()["repeated"], again.json()["repeated"]) == (False, True)


@pytest.mark.parametrize("is_killed", [True, False])
async def test_a_change_of_knowledge_memory_is_committed_with_its_response(
    knowledge: KnowledgeMemory, *, is_killed: bool
) -> None:
    """Nobody sees the change before; a process that is killed in between leaves neither."""
    answers = KeptAnswers(knowledge.session)
    claim = await answers.claim("a", "same")
    assert isinstance(claim, RequestClaim)
    with claim.running():
        await knowledge.store_episode(content="Once.", butler="ops")
        assert not claim.is_applied
        await (claim.roll_back() if is_killed else claim.commit(ANSWER))
    assert (await knowledge.stats()).episodes.total == (0 if is_killed else 1)
    assert await answers.claim("a", "same") == (RequestConflict.RUNNING if is_killed else ANSWER)


async def test_a_request_sees_its_own_changes(operational: OperationalMemory) -> None:
    """A request that reads after a change, or changes again, does not wait for itself."""
    claim = RequestClaim(tenant_id="default", key="a", fingerprint="same")
    with claim.running():
        added = (await operational.add(category="timing", observation="First.")).memory
        assert (await operational.get(added.id)).observation == "First."
        assert claim.is_applied
        await operational.edit([added.id], confidence=0.9)
        await claim.commit(ANSWER)
    assert await operational.requests.answer(claim) == ANSWER
    assert (await operational.get(added.id)).confidence == 0.9


async def test_a_request_that_fails_after_its_change_undoes_it(operational: OperationalMemory) -> None:
    """The change has no response, so it is not committed, and the request may run again."""
    claim = RequestClaim(tenant_id="default", key="a", fingerprint="same")
    with claim.running():
        await operational.add(category="timing", observation="Lost.")
        await claim.roll_back()
    assert (await operational.page(MemoryFilter())).active == 0
    assert await operational.requests.answer(claim) is None


async def test_an_attempt_that_comes_too_late_changes_nothing(operational: OperationalMemory) -> None:
    """Another process has run the request, and committed its change."""
    first, second = (RequestClaim(tenant_id="default", key="a", fingerprint="same") for _ in range(2))
    with first.running():
        await operational.add(category="timing", observation="Once.")
        await first.commit(ANSWER)
    with second.running(), pytest.raises(ClaimLostError):
        await operational.add(category="timing", observation="Once.")
    assert (await operational.page(MemoryFilter())).active == 1


@pytest.mark.session
async def test_an_erasure_deletes_kept_answers(
    settings: Settings, service: Secured, knowledge_pool: asyncpg.Pool
) -> None:
    """They may copy any memory."""
    await send(service, "a")
    there = settings.model_copy(
        update={"postgres_url": service.memories.knowledge.database.settings.postgres_url}
    )
    await erase(there, Selection(by=By.SOURCE, value="ops"))
    async with knowledge_pool.acquire() as connection, connection.transaction():
        await connection.execute("SELECT set_config('commonplace.tenant_id', 'default', true)")
        assert await connection.fetchval("SELECT count(*) FROM kept_answers") == 0
