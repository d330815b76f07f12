"""Knowledge memory over REST: store, find, confirm, forget, entities, the audit stream."""

import json
from collections.abc import AsyncIterator
from uuid import uuid4

import httpx2
import pytest

from commonplace.core.settings import Settings
from commonplace.knowledge.model.config import MemoryModuleConfig
from commonplace.llm import Script
from support.deadlines import DEADLINE_S
from support.service import open_memories, serving
from support.workers import fetch

BASE = "/api/v1/knowledge"


@pytest.fixture
async def client(settings: Settings, knowledge_url: str) -> AsyncIterator[httpx2.AsyncClient]:
    """A client of the service, over an empty database."""
    there = settings.model_copy(update={"postgres_url": knowledge_url})
    async with (
        open_memories(there) as memories,
        serving(memories) as url,
        httpx2.AsyncClient(base_url=f"{url}{BASE}", timeout=DEADLINE_S) as client,
    ):
        yield client


@pytest.mark.requirement("KNW-19.5", "KNW-23.2")
@pytest.mark.parametrize(
    ("retrieval", "found"), [({}, 10), ({"default_limit": 3}, 3), ({"default_limit": 20}, 12)]
)
async def test_the_configured_limit_counts_where_a_request_names_none(
    settings: Settings, knowledge_url: str, retrieval: dict[str, int], found: int
) -> None:
    """In a search and in a recall; without configuration it is the tools' own."""
    there = settings.model_copy(update={"postgres_url": knowledge_url})
    config = MemoryModuleConfig.model_validate({"retrieval": retrieval})
    async with (
        open_memories(there, config=config) as memories,
        serving(memories) as url,
        httpx2.AsyncClient(base_url=f"{url}{BASE}", timeout=DEADLINE_S) as client,
    ):
        for number in range(12):
            await memories.knowledge.store_rule(content=f"Check port {number}.")
        for path in ("/search?query=port", "/recall?topic=port"):
            assert (await client.get(path)).json()["count"] == found
            assert (await client.get(f"{path}&limit=5")).json()["count"] == 5


async def test_no_dependency_of_a_recall_runs_in_a_thread(
    client: httpx2.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A thread, which FastAPI gives to plain functions, takes longer than what they do."""

    def refuse(*_arguments: object, **_options: object) -> object:
        raise AssertionError

    monkeypatch.setattr("fastapi.dependencies.utils.run_in_threadpool", refuse)
    assert (await client.get("/recall?topic=port&limit=3")).status_code == 200


@pytest.mark.requirement("KNW-05.1", "KNW-05.2", "KNW-05.4", "KNW-05.6", "KNW-27.2")
async def test_each_kind_is_stored_and_read(client: httpx2.AsyncClient) -> None:
    """In camel case and without vectors; a second fact of the same key takes the first one's place."""
    episode = await client.post("/episodes", json={"content": "The port was moved.", "butler": "ops"})
    assert episode.status_code == 201
    first = await client.post("/facts", json={"subject": "port", "predicate": "is", "content": "It is 5432."})
    second = await client.post(
        "/facts", json={"subject": "port", "predicate": "is", "content": "It is 5433."}
    )
    assert second.json()["supersededId"] == first.json()["id"]
    rule = await client.post(
        "/rules", json={"content": "Check the port before a deploy.", "tags": ["deploy"]}
    )
    for kind, stored, expected in (
        ("episode", episode, {"butler": "ops", "consolidationStatus": "pending", "subject": None}),
        ("fact", first, {"validity": "superseded", "subject": "port"}),
        (
            "fact",
            second,
            {"validity": "active", "supersedesId": first.json()["id"], "permanence": "standard"},
        ),
        ("rule", rule, {"maturity": "candidate", "tags": ["deploy"], "appliedCount": 0}),
    ):
        read = (await client.get(f"/memories/{kind}/{stored.json()['id']}")).json()
        assert read["memoryType"] == kind
        assert {name: read[name] for name in expected} == expected
        assert not [name for name in read if "embedding" in name.lower() or "vector" in name.lower()]


@pytest.mark.requirement("KNW-07.3", "KNW-07.4", "KNW-08.1", "KNW-20.1", "KNW-22.1")
async def test_what_is_stored_is_found(client: httpx2.AsyncClient) -> None:
    """By search with why, by recall with a score, in the block for a prompt, and in the counts."""
    await client.post("/episodes", json={"content": "The staging port was moved.", "butler": "ops"})
    await client.post(
        "/facts", json={"subject": "port", "predicate": "is", "content": "The staging port is 5433."}
    )
    found = (await client.get("/search?query=staging+port&explain=true")).json()
    assert found["count"] == len(found["results"]) == 2
    assert all(each["explanation"]["why"] for each in found["results"])
    facts = (await client.get("/search?query=staging+port&type=fact&mode=keyword&limit=1")).json()["results"]
    assert [each["memoryType"] for each in facts] == ["fact"]
    (recalled,) = (await client.get("/recall?topic=staging+port")).json()["results"]
    assert 0 < recalled["compositeScore"] <= 1
    block = (await client.get("/context?prompt=staging+port&butler=ops&budgetTokens=200")).json()["text"]
    assert "The staging port is 5433." in block
    stats = (await client.get("/stats")).json()
    assert stats["episodes"].pop("backlogAgeHours") < 1
    assert stats == {
        "episodes": {"total": 1, "unconsolidated": 1, "leased": 0, "failed": 0, "deadLetter": 0},
        "facts": {"active": 1, "fading": 0, "superseded": 0, "expired": 0, "retracted": 0},
        "rules": {"candidate": 0, "established": 0, "proven": 0, "antiPattern": 0, "forgotten": 0},
    }


@pytest.mark.requirement("KNW-02.2")
async def test_a_result_has_the_fact_that_holds_until_it_begins(client: httpx2.AsyncClient) -> None:
    """A search and a recall find the later fact, which has superseded the other."""
    office = {"subject": "The office", "predicate": "city"}
    graz = (await client.post("/facts", json={**office, "content": "It is in Graz"})).json()["id"]
    begins = {"content": "It is in Linz", "validFrom": "2100-01-01T00:00:00Z"}
    await client.post("/facts", json={**office, **begins})

    for path in ("/search?query=office+city", "/recall?topic=office+city"):
        (found,) = (await client.get(path)).json()["results"]
        assert found["untilThen"] == {"id": graz, "content": "It is in Graz", "validTo": begins["validFrom"]}


@pytest.mark.requirement("KNW-05.7", "KNW-02.3", "KNW-09.1")
async def test_memories_are_confirmed_judged_and_forgotten(client: httpx2.AsyncClient) -> None:
    """What is forgotten is found no more; each step is in the audit stream, and none of the text."""
    rule = (await client.post("/rules", json={"content": "Check the port."})).json()["id"]
    helped = (await client.post(f"/rules/{rule}/helpful")).json()
    assert (helped["successCount"], helped["effectivenessScore"]) == (1, 1.0)
    harmed = (await client.post(f"/rules/{rule}/harmful", json={"reason": "It was wrong."})).json()
    assert harmed["harmfulCount"] == 1
    assert (await client.post(f"/memories/rule/{rule}/confirm")).json() == {"confirmed": True}
    assert (await client.delete(f"/memories/rule/{rule}")).json() == {"forgotten": True}
    assert (await client.get(f"/memories/rule/{rule}")).status_code == 404
    assert (await client.get("/search?query=port")).json()["count"] == 0
    page = (await client.get(f"/events?memoryId={rule}&limit=4")).json()
    assert [event["eventType"] for event in page["events"]] == [
        "rule_forgotten",
        "rule_confirmed",
        "rule_harmful",
        "rule_helpful",
    ]
    assert page["nextOffset"] == 4
    assert "Check the port" not in str(page)
    nobody = uuid4()
    for method, path in (
        ("GET", f"/memories/fact/{nobody}"),
        ("DELETE", f"/memories/episode/{nobody}"),
        ("POST", f"/memories/fact/{nobody}/confirm"),
        ("POST", f"/rules/{nobody}/helpful"),
    ):
        assert (await client.request(method, path)).status_code == 404


@pytest.mark.requirement("RCL-01.1", "RCL-04.1")
async def test_a_block_has_a_floor_pins_and_short_ids(client: httpx2.AsyncClient) -> None:
    """The pinned rule is in every block, and its short id leads to it."""
    rule = (await client.post("/rules", json={"content": "Answer in short sentences."})).json()["id"]
    fact = {"subject": "port", "predicate": "is", "content": "The staging port is 5433."}
    await client.post("/facts", json=fact)
    pinned = (await client.put(f"/memories/rule/{rule}/pin")).json()
    assert pinned["tags"] == ["pinned"]
    asked = "/context?prompt=Who+won+the+cup&butler=ops&withIds=true&withDates=true"
    block = (await client.get(asked)).json()["text"]
    assert "5433" not in block
    short_id = block.rpartition("[")[2].partition("]")[0]
    assert short_id.startswith("r:")
    whole = (await client.get(f"{asked}&minRelevance=0")).json()["text"]
    assert "The staging port is 5433. (confidence: 1.00, as of " in whole
    assert (await client.post(f"/memories/rule/{short_id}/confirm")).json() == {"confirmed": True}
    assert (await client.post(f"/rules/{short_id}/helpful")).json()["id"] == rule
    assert (await client.delete(f"/memories/rule/{short_id}/pin")).json()["tags"] == []
    assert (await client.get(asked)).json()["text"] == "# Memory Context\n"
    assert (await client.delete(f"/memories/rule/{short_id}")).json() == {"forgotten": True}
    for path in ("/recall?topic=port", "/search?query=port&mode=contextual", asked):
        assert (await client.get(f"{path}&minRelevance=0.9")).status_code == 200
        assert (await client.get(f"{path}&minRelevance=2")).status_code == 422
    assert (await client.get("/memories/rule/r:1")).status_code == 422


@pytest.mark.requirement("KNW-16.1", "KNW-17.1", "KNW-18.1")
async def test_entities_are_kept_resolved_and_merged(client: httpx2.AsyncClient) -> None:
    """And a merge is undone."""
    anna = (
        await client.post("/entities", json={"canonicalName": "Anna Smith", "entityType": "person"})
    ).json()
    annie = (await client.post("/entities", json={"canonicalName": "Annie", "entityType": "person"})).json()
    again = await client.post("/entities", json={"canonicalName": "Annie", "entityType": "person"})
    assert (again.status_code, again.json()["field"]) == (422, "canonicalName")
    changed = await client.patch(f"/entities/{anna['id']}", json={"aliases": ["A. Smith"]})
    assert changed.json()["aliases"] == ["A. Smith"]
    (candidate,) = (await client.get("/entities/resolve?name=a.+smith")).json()["candidates"]
    assert (candidate["entityId"], candidate["nameMatch"]) == (anna["id"], "alias")
    merge = await client.post(f"/entities/{annie['id']}/merge", json={"targetEntityId": anna["id"]})
    assert merge.json()["aliasesAdded"] == 1
    assert (await client.get(f"/entities/{annie['id']}")).json()["survivorId"] == anna["id"]
    unmerged = await client.post(f"/entities/{annie['id']}/unmerge")
    assert unmerged.json()["aliasesRemoved"] == 1
    assert (await client.get(f"/entities/{annie['id']}")).json()["survivorId"] == annie["id"]
    assert (await client.get(f"/entities/{uuid4()}")).status_code == 404


async def test_upkeep_says_what_it_did(client: httpx2.AsyncClient) -> None:
    """A sweep and a cleanup, by hand."""
    await client.post("/facts", json={"subject": "port", "predicate": "is", "content": "It is 5433."})
    await client.post("/episodes", json={"content": "The port was moved.", "butler": "ops"})
    assert (await client.post("/sweep")).json()["factsEvaluated"] == 1
    cleaned = (await client.post("/cleanup?maxEntries=0")).json()
    assert (cleaned["expiredDeleted"], cleaned["remaining"]) == (0, 1)


async def test_a_cleanup_keeps_what_the_setting_says(settings: Settings, knowledge_url: str) -> None:
    """Where the request names no number."""
    there = settings.model_copy(update={"postgres_url": knowledge_url, "episode_max_entries": 1})
    async with (
        open_memories(there) as memories,
        serving(memories) as url,
        httpx2.AsyncClient(base_url=f"{url}{BASE}", timeout=DEADLINE_S) as client,
    ):
        for number in range(3):
            await client.post("/episodes", json={"content": f"turn {number}", "butler": "ops"})
        change = "UPDATE episodes SET consolidated = true, consolidation_status = 'consolidated'"
        await fetch(await memories.knowledge.database.pool(), "default", change)
        cleaned = (await client.post("/cleanup")).json()
    assert (cleaned["capacityDeleted"], cleaned["remaining"]) == (2, 1)


async def test_what_is_wrong_is_named(client: httpx2.AsyncClient) -> None:
    """The field in the words of the API; nothing is written."""
    fact = {"subject": "port", "predicate": "is", "content": "It is 5433."}
    for method, path, body, field in (
        ("POST", "/facts", {**fact, "permanence": "eternal"}, "permanence"),
        ("POST", "/facts", {**fact, "importance": 11}, "importance"),
        ("POST", "/facts", {**fact, "importance": True}, "importance"),
        ("POST", "/facts", {**fact, "tenantId": "acme"}, "tenantId"),
        ("POST", "/facts", {**fact, "allowSecrets": True}, "allowSecrets"),
        ("POST", "/facts", {**fact, "content": "password: hunter2secret"}, "content"),
        ("POST", "/facts", {**fact, "content": ""}, "content"),
        ("POST", "/facts", {**fact, "validFrom": "0001-01-01T00:00:00Z"}, "validFrom"),
        ("POST", "/facts", {**fact, "validTo": "9999-12-31T23:59:59-14:00"}, "validTo"),
        ("POST", "/episodes", {"content": "x"}, "butler"),
        ("POST", "/episodes", {"content": "x", "butler": "ops", "createdAt": 2026}, "createdAt"),
        ("POST", "/episodes", {"content": "x", "butler": "ops", "createdAt": "2026"}, "createdAt"),
        ("GET", "/search?query=x&mode=magic", None, "mode"),
        ("GET", "/search?query=x&limit=0", None, "limit"),
        ("GET", "/search?query=x&asOf=0001-01-01T00:00:00%2B14:00", None, "asOf"),
        ("GET", "/search?query=x&limt=5", None, "limt"),
        ("GET", "/stats?tennant=acme", None, "tennant"),
        ("GET", "/search?query=x&min_confidence=0.5", None, "minConfidence"),
        ("GET", "/events?eventType=fact_creatd", None, "eventType"),
        ("POST", "/facts?scope=ops", fact, "scope"),
        ("GET", "/memories/opinion/1", None, "memoryType"),
        ("GET", "/memories/fact/1", None, "memoryId"),
        ("POST", f"/memories/episode/{uuid4()}/confirm", None, "memoryType"),
    ):
        answer = await client.request(method, path, json=body)
        assert answer.status_code == 422, (path, body, answer.text)
        assert answer.json()["field"] == field
        assert answer.json()["detail"].startswith(f"{field}: ")
    assert (await client.get("/stats")).json()["facts"]["active"] == 0


@pytest.mark.requirement("KNW-12.3")
async def test_consolidation_is_run_read_and_undone(settings: Settings, knowledge_url: str) -> None:
    """By the model of the service; undoing it takes the fact out of every search again."""
    there = settings.model_copy(update={"postgres_url": knowledge_url})
    answer = json.dumps(
        {
            "new_facts": [{"subject": "port", "predicate": "is", "content": "The staging port is 5433."}],
            "updated_facts": [],
            "new_rules": [],
            "confirmations": [],
        }
    )
    model = Script(f"```json\n{answer}\n```").model()
    async with (
        open_memories(there) as memories,
        serving(memories, model=model) as url,
        httpx2.AsyncClient(base_url=f"{url}{BASE}", timeout=DEADLINE_S) as client,
    ):
        await client.post(
            "/episodes", json={"content": "The staging port was moved to 5433.", "butler": "ops"}
        )
        done = (await client.post("/consolidation/run?butler=ops")).json()
        assert (done["dryRun"], done["groups"], done["errors"]) == (False, {"ops": 1}, [])
        (run,) = (await client.get("/consolidation/runs?state=applied")).json()["runs"]
        assert run == done["runs"][0]
        assert run["factsCreated"] == 1
        record = (await client.get(f"/consolidation/runs/{run['id']}")).json()
        assert [action["content"] for action in record["actions"]] == ["The staging port is 5433."]
        assert (await client.get("/recall?topic=staging+port")).json()["count"] == 1
        undone = (await client.post(f"/consolidation/runs/{run['id']}/undo", json={"requeue": True})).json()
        assert (undone["factsRetracted"], undone["episodesRequeued"]) == (1, 1)
        assert (await client.get("/recall?topic=staging+port")).json()["count"] == 0
        assert (await client.get(f"/consolidation/runs/{uuid4()}")).status_code == 404


async def test_without_a_model_episodes_are_counted(client: httpx2.AsyncClient) -> None:
    """And nothing is changed."""
    await client.post("/episodes", json={"content": "The port was moved.", "butler": "ops"})
    done = (await client.post("/consolidation/run")).json()
    assert (done["dryRun"], done["groups"], done["runs"]) == (True, {"ops": 1}, [])


@pytest.mark.parametrize("order", [{}, {"sort": "subject", "reverse": "true"}])
async def test_lists_go_on_after_writes_between_two_pages(
    client: httpx2.AsyncClient, order: dict[str, str]
) -> None:
    """No item is repeated or skipped; filters hold on every page; the last page has no cursor, even if it is full."""

    async def fact(number: int, scope: str = "a") -> None:
        body = {"subject": f"s{number}", "predicate": "is", "content": f"Fact {number}", "scope": scope}
        assert (await client.post("/facts", json=body)).status_code == 201

    for number in range(5):
        await fact(number)
    await fact(5, scope="b")
    found: list[str] = []
    cursor: dict[str, str] = {}
    for written in (6, 7, 8):
        page = (await client.get("/facts", params={"scope": "a", "limit": 2, **order, **cursor})).json()
        found += [each["content"] for each in page["memories"]]
        await fact(written)
        cursor = {"cursor": page["nextCursor"]}
    assert found == [f"Fact {number}" for number in (4, 3, 2, 1, 0)]
    assert page["nextCursor"] is None
    assert "embedding" not in page["memories"][0]
    await client.post("/facts", json={"subject": "s1", "predicate": "is", "content": "New", "scope": "a"})
    old = (await client.get("/facts?validity=superseded")).json()["memories"]
    assert [each["content"] for each in old] == ["Fact 1"]
    for path, body in (
        ("rules", {"content": "Check the port"}),
        ("episodes", {"content": "The port moved", "butler": "ops"}),
        ("entities", {"canonicalName": "Ben", "entityType": "person"}),
        ("entities", {"canonicalName": "Ada", "entityType": "person"}),
    ):
        assert (await client.post(f"/{path}", json=body)).status_code == 201
    rules = (await client.get("/rules?maturity=candidate&limit=1")).json()
    assert [each["content"] for each in rules["memories"]] == ["Check the port"]
    assert rules["nextCursor"] is None
    assert (await client.get("/rules?forgotten=true")).json()["memories"] == []
    assert len((await client.get("/episodes?butler=ops&status=pending")).json()["memories"]) == 1
    first = (await client.get("/entities?limit=1")).json()
    second = (await client.get("/entities", params={"limit": 1, "cursor": first["nextCursor"]})).json()
    assert second["nextCursor"] is None
    names = [page["entities"][0]["canonicalName"] for page in (first, second)]
    assert (names, first["entities"][0]["facts"]) == (["Ada", "Ben"], 0)


async def test_a_text_that_is_no_cursor_is_refused(client: httpx2.AsyncClient) -> None:
    """With the status of invalid input, whatever it holds."""
    for path in ("facts", "rules", "episodes", "entities"):
        for cursor in (
            "x",
            "é",
            "W10=",
            "WzEsIDJd",
            "WyJcdWQ4MDAiLCAiYSJd",
            "bnVsbA==",
            "WyJhXHUwMDAwIiwgImIiXQ==",
        ):
            answer = await client.get(f"/{path}", params={"cursor": cursor})
            assert answer.status_code == 422, (path, cursor)


@pytest.mark.requirement("JDG-07.3")
async def test_a_body_names_the_memory_that_it_corrects(client: httpx2.AsyncClient) -> None:
    """A fact or a rule; an id that cannot be replaced is refused with its reason, and nothing is stored."""
    fact = {"subject": "staging", "predicate": "port", "content": "Staging listens on 5433"}
    other = fact | {"predicate": "listens_on", "content": "Staging listens on 6000"}
    for path, first, second in (
        ("/facts", fact, other),
        ("/rules", {"content": "Deploy with make ship"}, {"content": "Deploy with the release workflow"}),
    ):
        old = (await client.post(path, json=first)).json()["id"]
        stored = await client.post(path, json=second | {"replaces": old})
        assert stored.status_code == 201, stored.text
        assert stored.json()["supersededId"] == old
        assert stored.json()["supersededText"] == first["content"]
        for named, status in ((old, 409), (str(uuid4()), 404), ("x", 422)):
            third = second | {"predicate": "p"} if path == "/facts" else {"content": "Never deploy"}
            refused = await client.post(path, json=third | {"replaces": named})
            assert refused.status_code == status, refused.text
    stats = (await client.get("/stats")).json()
    assert (stats["facts"]["active"], stats["rules"]["candidate"]) == (1, 1)
