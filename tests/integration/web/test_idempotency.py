"""``Idempotency-Key``: a request that is sent again changes nothing twice, whichever process it reaches."""

import asyncio
from collections.abc import AsyncIterator
from uuid import uuid4

import asyncpg
import httpx2
import pytest

from commonplace.core.errors import ClaimLostError
from commonplace.core.settings import Settings
from commonplace.knowledge import KeptAnswers, RequestClaim, RequestConflict
from commonplace.knowledge.memory import KnowledgeMemory
from commonplace.services.erasure.erasing import erase
from commonplace.services.erasure.selection import By, Selection
from support.secured import STRANGER, Secured, secured

PATH = "/api/v1/knowledge/episodes"
EPISODE = {"content": "The port was moved.", "butler": "ops"}


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
    with claim.held(), pytest.raises(ClaimLostError):
        await knowledge.store_episode(content="Late.", butler="ops")
    assert (await knowledge.stats()).episodes.total == 0


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
