"""Repeated and opposed notes and rules at every door: the same answers, one review queue."""

import re
from typing import Any

import httpx2
import pytest
from fastmcp import Client

from commonplace.core.errors import ConflictError, NotFoundError
from commonplace.core.settings import Settings
from commonplace.judge import Verdict, judge
from commonplace.knowledge import MemoryType, short_id
from commonplace.services.catalog.rule_remarks import rule_note
from commonplace.services.opening import Memories
from commonplace.services.review.ids import ItemId, ItemKind
from support.commands import CommandLine
from support.judging import both_ways, decide
from support.mcp import ask
from support.review import queue_of
from support.secured import STRANGER, secured

NEVER, REWORDED, AFTER = (
    "Never deploy on Fridays",
    "Don't deploy on Fridays",
    "Deploy on Fridays after 14:00",
)
REASON = judge.compare(NEVER, AFTER).reason
VERDICTS = ["same", "refines", "corrects", "distinct"]


@pytest.fixture(autouse=True)
def verdicts(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first two texts say the same."""
    decide(monkeypatch, both_ways(Verdict.SAME, NEVER, REWORDED))


async def submitted(client: httpx2.AsyncClient, path: str, **fields: str) -> httpx2.Response:
    """Submit a form of the dashboard."""
    page = (await client.get("/memories/new", headers={"accept": "text/html"})).text
    found = re.search(r'name="csrf_token" value="([^"]+)"', page)
    assert found is not None
    headers = {
        "HX-Request": "true",
        "HX-Current-URL": str(client.base_url.join(path)),
        "sec-fetch-site": "same-origin",
    }
    return await client.post(path, data={"csrf_token": found[1], **fields}, headers=headers)


def summary(item: dict[str, Any]) -> tuple[Any, ...]:
    """Return what an item asks."""
    return (
        item["id"],
        item["topic"],
        item["reason"],
        [each["text"] for each in item["sides"]],
        item["verdicts"],
    )


@pytest.mark.requirement("TRU-05", "TRU-05.2")
async def test_every_door_says_that_a_note_is_there(
    memories: Memories, client: httpx2.AsyncClient, url: str, commonplace: CommandLine
) -> None:
    """With its id; nothing is stored twice, and an undo of what was not stored deletes nothing."""
    await memories.workspace.store(NEVER)
    printed = commonplace("workspace", "store", NEVER)
    document = commonplace("workspace", "store", NEVER, "--json").json
    added = commonplace("add", "note", NEVER)
    rest = (await client.post("/api/v1/workspace/memories", json={"text": NEVER})).json()
    page = await submitted(client, "/workspace", text=NEVER)
    async with Client(f"{url}/mcp/workspace") as mcp:
        told = await ask(mcp, "memory_store", text=NEVER)
    assert printed.out == "m-1 was there already.\n"
    assert (document["id"], document["repeated"]) == ("m-1", True)
    assert added.out.splitlines() == [f"w:1  {NEVER}", "  w:1 was there already."]
    assert (rest["memory"]["id"], rest["repeated"], rest["opposed"]) == ("m-1", True, [])
    assert "w:1 was there already." in page.headers["HX-Trigger"]
    assert told == {"ok": True, "id": "m-1", "repeated": True, "note": "m-1 was there already."}
    assert commonplace("undo", "w:1").status == 1
    assert (await memories.workspace.search()).count == 1


@pytest.mark.requirement("TRU-05", "TRU-05.2")
async def test_every_door_says_that_a_rule_is_there(
    memories: Memories, client: httpx2.AsyncClient, url: str, commonplace: CommandLine, stored: Settings
) -> None:
    """With its id and its maturity."""
    first = (await memories.knowledge.store_rule(content=NEVER)).id
    rule = short_id(MemoryType.RULE, first)
    postgres = str(stored.postgres_url)
    for _ in range(5):
        await memories.knowledge.mark_helpful(first)
    printed = commonplace("knowledge", "store-rule", NEVER, COMMONPLACE_POSTGRES_URL=postgres)
    document = commonplace("knowledge", "store-rule", NEVER, "--json", COMMONPLACE_POSTGRES_URL=postgres).json
    added = commonplace("add", "rule", NEVER, "--scope", "global", COMMONPLACE_POSTGRES_URL=postgres)
    rest = (await client.post("/api/v1/knowledge/rules", json={"content": NEVER})).json()
    page = await submitted(client, "/knowledge/rules", content=NEVER, scope="global")
    async with Client(f"{url}/mcp/knowledge") as mcp:
        told = await ask(mcp, "memory_store_rule", content=NEVER)
    assert printed.out == f"{rule} was there already.\n"
    assert (document["id"], document["repeated"]) == (str(first), True)
    assert added.out.splitlines()[1] == f"  {rule} was there already."
    assert (rest["id"], rest["repeated"]) == (str(first), True)
    assert f"{rule} was there already." in page.headers["HX-Trigger"]
    assert (told["id"], told["repeated"], told["maturity"]) == (str(first), True, "established")
    assert (await memories.knowledge.stats()).rules.established == 1
    assert (await memories.knowledge.stats()).rules.candidate == 0


@pytest.mark.requirement("TRU-05", "TRU-05.4", "FLR-03.2")
async def test_every_door_lists_the_same_pairs(
    memories: Memories, client: httpx2.AsyncClient, url: str, commonplace: CommandLine, stored: Settings
) -> None:
    """A pair of notes and a pair of rules, with both texts, the reason and the four verdicts."""
    postgres = str(stored.postgres_url)
    await memories.workspace.store(NEVER)
    older = short_id(MemoryType.RULE, (await memories.knowledge.store_rule(content=NEVER)).id)
    note = commonplace("add", "note", AFTER).out
    rule = rule_note(await memories.knowledge.store_rule(content=AFTER))
    listed = (await client.get("/api/v1/reviews")).json()["items"]
    pairs = ["w:1-w:2", listed[1]["id"]]
    assert list(map(summary, listed)) == [(pair, "doubt", REASON, [NEVER, AFTER], VERDICTS) for pair in pairs]
    assert pairs[1].startswith(f"{older}-r:")
    assert f"Both are kept until you decide: commonplace review {pairs[0]}" in note
    assert f"Both are kept until you decide: commonplace review {pairs[1]}" in rule
    assert commonplace("review", "--json", COMMONPLACE_POSTGRES_URL=postgres).json["items"] == listed
    text = commonplace("review", COMMONPLACE_POSTGRES_URL=postgres).out
    assert (f"old note w:1: {NEVER}" in text, f"old rule {older}: {NEVER}" in text) == (True, True)
    async with Client(f"{url}/mcp/all") as mcp:
        assert (await ask(mcp, "memory_review"))["items"] == listed
        told = await ask(mcp, "workspace_memory_store", text=NEVER)
    assert told["opposed"] == ["m-2"]
    page = (await client.get("/reviews")).text
    assert all(f'action="/reviews/{pair}"' in page for pair in pairs[1:])
    assert 'href="/workspace"' in page


@pytest.mark.requirement("TRU-05.4", "TRU-05.5", "FLR-03.3")
@pytest.mark.parametrize("kind", ["notes", "rules"])
async def test_a_decision_at_each_door(
    memories: Memories,
    client: httpx2.AsyncClient,
    url: str,
    commonplace: CommandLine,
    stored: Settings,
    kind: str,
) -> None:
    """Made and undone over REST, on the page, by a tool and by a command."""
    if kind == "notes":
        await memories.workspace.store(NEVER)
        await memories.workspace.store(AFTER)
    else:
        await memories.knowledge.store_rule(content=NEVER)
        await memories.knowledge.store_rule(content=AFTER)
    (item,) = (await client.get("/api/v1/reviews")).json()["items"]
    path, page = f"/api/v1/reviews/{item['id']}", f"/reviews/{item['id']}"
    receipt = (await client.post(path, json={"verdict": "corrects"})).json()
    assert (receipt["id"], receipt["verdict"], receipt["undoable"]) == (item["id"], "corrects", True)
    assert (await client.get("/api/v1/reviews")).json()["total"] == 0
    assert (await client.post(f"{path}/undo")).json()["verdict"] is None
    decided = await submitted(client, page, verdict="distinct")
    assert "Distinct. Both memories stay." in decided.text
    assert (await submitted(client, f"{page}/undo")).status_code == 200
    async with Client(f"{url}/mcp/all") as mcp:
        assert (await ask(mcp, "memory_decide", item_id=item["id"], verdict="refines"))[
            "verdict"
        ] == "refines"
        assert (await ask(mcp, "memory_decide", item_id=item["id"], undo=True))["verdict"] is None
    postgres = str(stored.postgres_url)
    assert commonplace("review", item["id"], "confirm", COMMONPLACE_POSTGRES_URL=postgres).status == 2
    assert item["id"] in commonplace("review", item["id"], "same", COMMONPLACE_POSTGRES_URL=postgres).out
    assert (await client.get("/api/v1/reviews")).json()["total"] == 0
    assert commonplace("review", item["id"], "undo", COMMONPLACE_POSTGRES_URL=postgres).status == 0
    (again,) = (await client.get("/api/v1/reviews")).json()["items"]
    assert summary(again) == summary(item)


@pytest.mark.requirement("TRU-05.4", "FLR-03.3")
async def test_notes_belong_to_the_installation(stored: Settings) -> None:
    """Another tenant neither sees their pairs nor decides about them; errors are typed."""
    async with secured(stored) as service:
        for text in (NEVER, AFTER):
            await service.memories.workspace.store(text)
        async with service.client(STRANGER) as theirs:
            assert (await theirs.get("/api/v1/reviews")).json()["total"] == 0
            answer = await theirs.post("/api/v1/reviews/w:1-w:2", json={"verdict": "same"})
            assert answer.status_code == 404
        queue = queue_of(service.memories)
        with pytest.raises(ConflictError, match="nothing to undo"):
            await queue.undo("w:1-w:2")
        with pytest.raises(NotFoundError):
            await queue.decide("w:7-w:9", "same")
        receipt = await queue.decide("w:m-1-w:m-2", "distinct")
        (item,) = (await queue.list_items(decided=True)).items
        assert (receipt.item, item.decision and item.decision.by) == (item, "ada")


@pytest.mark.requirement("TRU-05.4", "FLR-03.1")
def test_ids_of_pairs() -> None:
    """Two notes or two rules, the older one first."""
    for text in ("r:3k7q2-r:9x2vd", "w:2-w:6"):
        key = ItemId.parse(text.upper())
        assert (str(key), key.kind, key.is_of_notes) == (text, ItemKind.OPPOSED, text.startswith("w"))
    assert str(ItemId.parse("w:m-2-w:m-6")) == "w:2-w:6"
    assert ItemId.parse("r:3k7q2+r:9x2vd").kind is ItemKind.DUPLICATE
