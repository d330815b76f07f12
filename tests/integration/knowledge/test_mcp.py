"""The knowledge MCP server: its tools, its answers and its refusals, asked by a real client."""

import json
import logging
import re
from collections.abc import AsyncIterator
from importlib.metadata import version
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from fastmcp import Client
from mcp import MCPError
from mcp.types import TextResourceContents

from commonplace.core.request_context import RequestContext
from commonplace.core.settings import Settings
from commonplace.embedding import EmbeddingEngine
from commonplace.knowledge import MemoryType, short_id
from commonplace.knowledge.memory import KnowledgeMemory
from commonplace.knowledge.model.config import MemoryModuleConfig
from commonplace.knowledge.model.search_results import json_fields
from commonplace.mcp.knowledge.reading_tools import SHOWN_CHARS
from commonplace.mcp.knowledge.server import INSTRUCTIONS, build_server
from commonplace.mcp.protocol.profiles import View
from support.facade import open_knowledge
from support.mcp import ask, refused, text
from support.workers import fetch

TOOLS = {
    "memory_store_episode": {
        "content": ..., "butler": ..., "session_id": None, "importance": 5.0, "source": None, "metadata": None,
    },
    "memory_store_fact": {
        "subject": ..., "predicate": ..., "content": ..., "importance": 5.0, "permanence": "standard",
        "scope": "global", "tags": None, "entity_id": None, "valid_from": None, "valid_to": None, "source": None,
        "replaces": None, "metadata": None,
    },
    "memory_store_rule": {
        "content": ..., "scope": "global", "tags": None, "source": None, "replaces": None, "metadata": None,
    },
    "memory_search": {
        "query": ..., "types": None, "scope": None, "mode": "hybrid", "limit": 10, "min_confidence": 0.2,
        "min_relevance": 0.0, "explain": False, "as_of": None, "valid_at": None, "min_trust": None, "tags": None,
        "since": None, "until": None, "learned_by": None, "entity_id": None,
    },
    "memory_recall": {
        "topic": ..., "scope": None, "limit": 10, "min_confidence": 0.2, "min_relevance": None, "explain": False,
        "as_of": None, "valid_at": None, "min_trust": None, "tags": None, "since": None, "until": None,
        "learned_by": None, "entity_id": None,
    },
    "memory_get": {"memory_type": ..., "memory_id": ..., "as_of": None},
    "memory_context": {
        "trigger_prompt": ..., "butler": ..., "token_budget": 3000, "min_relevance": None, "with_ids": False,
        "with_dates": False, "as_of": None, "valid_at": None, "min_trust": None, "tags": None, "since": None,
        "until": None, "learned_by": None, "entity_id": None,
    },
    "memory_confirm": {"memory_type": ..., "memory_id": ...},
    "memory_mark_helpful": {"rule_id": ...},
    "memory_mark_harmful": {"rule_id": ..., "reason": None},
    "entity_create": {
        "canonical_name": ..., "entity_type": ..., "tenant_id": ..., "aliases": None, "metadata": None,
    },
    "entity_get": {
        "entity_id": ..., "tenant_id": "default", "scope": None, "as_of": None, "valid_at": None,
    },
    "entity_update": {
        "entity_id": ..., "canonical_name": None, "aliases": None, "metadata": None, "tenant_id": "default",
    },
    "entity_resolve": {
        "name": ..., "tenant_id": "default", "entity_type": None, "context_hints": None, "enable_fuzzy": False,
    },
    "entity_merge": {"source_entity_id": ..., "target_entity_id": ..., "tenant_id": "default"},
    "memory_forget": {"memory_type": ..., "memory_id": ...},
    "memory_stats": {"scope": None},
    "memory_run_consolidation": {},
    "memory_run_episode_cleanup": {"max_entries": 10000},
}  # fmt: skip
"""The specified surface: each tool's parameters with their defaults, ``...`` where one is required."""

NO_ID = "6f1e4c1e-0000-4000-8000-000000000000"


@pytest.fixture
async def memory(
    knowledge_url: str, tmp_path: Path, engine: EmbeddingEngine
) -> AsyncIterator[KnowledgeMemory]:
    """Knowledge memory of the default tenant."""
    async with open_knowledge(knowledge_url, tmp_path, engine=engine) as memory:
        yield memory


@pytest.fixture
async def client(memory: KnowledgeMemory) -> AsyncIterator[Client[Any]]:
    """A client of the server in this process."""
    async with Client(build_server(memory)) as client:
        yield client


@pytest.mark.requirement("KNW-19.1", "KNW-19.2", "KNW-19.3", "KNW-19.4", "KNW-19.5", "KNW-19.6", "KNW-19.7")
async def test_the_tools_are_the_specified_ones(client: Client[Any]) -> None:
    """Names, parameters, defaults; each one described for a model, with no sign of pool or engine."""
    assert client.instructions == INSTRUCTIONS
    assert client.server_info.version == version("commonplace")
    tools = {tool.name: tool for tool in await client.list_tools()}
    assert tools.keys() == TOOLS.keys()
    for name, tool in tools.items():
        properties = tool.input_schema["properties"]
        shown = {key: ... if key in tool.input_schema.get("required", []) else each["default"]
                 for key, each in properties.items()}  # fmt: skip
        assert shown == TOOLS[name]
        assert all(len(each["description"]) > 15 for each in properties.values())
        assert tool.input_schema["additionalProperties"] is False
        assert len(tool.description or "") > 100
        assert tool.annotations is not None
        assert (tool.output_schema is None) == (name == "memory_context")
    assert tools["memory_search"].annotations.read_only_hint
    assert tools["memory_forget"].annotations.destructive_hint
    assert "array" in json.dumps(tools["memory_store_fact"].input_schema["properties"]["tags"])


async def test_the_setting_is_the_default_of_a_cleanup(
    knowledge_url: str, tmp_path: Path, engine: EmbeddingEngine
) -> None:
    """The tool shows it, and a call without a number keeps so many."""
    settings = Settings(home=tmp_path, workspace=tmp_path, postgres_url=knowledge_url, episode_max_entries=1)
    async with (
        KnowledgeMemory.open(settings, engine=engine) as memory,
        Client(build_server(memory)) as client,
    ):
        tools = {tool.name: tool.input_schema["properties"] for tool in await client.list_tools()}
        assert tools["memory_run_episode_cleanup"]["max_entries"]["default"] == 1
        for number in range(3):
            await memory.store_episode(content=f"turn {number}", butler="web")
        change = "UPDATE episodes SET consolidated = true, consolidation_status = 'consolidated'"
        await fetch(await memory.database.pool(), memory.tenant_id, change)
        assert (await ask(client, "memory_run_episode_cleanup"))["capacity_deleted"] == 2


@pytest.mark.requirement("KNW-19.5", "KNW-23.2")
async def test_configured_defaults_are_shown_and_used(
    knowledge_url: str, tmp_path: Path, engine: EmbeddingEngine
) -> None:
    """What a model reads in the schema is what it gets."""
    config = MemoryModuleConfig.model_validate(
        {"retrieval": {"context_token_budget": 50, "default_mode": "keyword", "default_limit": 3}}
    )
    async with (
        open_knowledge(knowledge_url, tmp_path, engine=engine, config=config) as memory,
        Client(build_server(memory)) as client,
    ):
        tools = {tool.name: tool.input_schema["properties"] for tool in await client.list_tools()}
        assert tools["memory_context"]["token_budget"]["default"] == 50
        assert tools["memory_search"]["mode"]["default"] == "keyword"
        assert tools["memory_search"]["limit"]["default"] == 3
        assert tools["memory_recall"]["limit"]["default"] == 3
        for number in range(20):
            await ask(client, "memory_store_fact", subject=f"s{number}", predicate="p", content="word " * 5)
        block = await ask(client, "memory_context", trigger_prompt="word", butler="ops")
        assert 100 < len(block) <= 200
        assert (await ask(client, "memory_search", query="word"))["count"] == 3
        assert (await ask(client, "memory_recall", topic="word"))["count"] == 3
        assert (await ask(client, "memory_search", query="word", limit=12))["count"] == 12


async def test_an_agent_learns_and_remembers(client: Client[Any]) -> None:
    """Store, replace, search, recall, read, confirm, give feedback, forget."""
    episode = await ask(client, "memory_store_episode", content="Moved staging to port 5434", butler="ops")
    assert episode["stored"]
    old = await ask(client, "memory_store_fact", subject="staging", predicate="port", content="5433")
    fact = await ask(
        client, "memory_store_fact", subject="staging", predicate="port", content="5434", tags=["infra"]
    )
    assert old.keys() == {"id"}
    assert fact.keys() == {"id", "superseded_id", "superseded_text"}
    assert (fact["superseded_id"], fact["superseded_text"]) == (old["id"], "5433")
    rule = await ask(client, "memory_store_rule", content="Check the port of staging before a deploy")
    found = await ask(client, "memory_search", query="staging port")
    assert {each["id"] for each in found["results"]} == {episode["id"], fact["id"], rule["id"]}
    recalled = await ask(client, "memory_recall", topic="staging port")
    assert {each["memory_type"] for each in recalled["results"]} == {"fact", "rule"}
    read = await ask(client, "memory_get", memory_type="fact", memory_id=fact["id"])
    assert (read["content"], read["tags"], read["supersedes_id"]) == ("5434", ["infra"], old["id"])
    confirmed = await ask(client, "memory_confirm", memory_type="fact", memory_id=fact["id"])
    assert confirmed == {"confirmed": True, "memory_type": "fact", "id": fact["id"]}
    helped = await ask(client, "memory_mark_helpful", rule_id=rule["id"])
    harmed = await ask(client, "memory_mark_harmful", rule_id=rule["id"], reason="it took too long")
    assert (helped["success_count"], harmed["harmful_count"]) == (1, 1)
    assert harmed["metadata"]["harmful_reasons"] == ["it took too long"]
    for kind, each in (("rule", rule), ("fact", fact), ("episode", episode)):
        await ask(client, "memory_forget", memory_type=kind, memory_id=each["id"])
    assert (await ask(client, "memory_search", query="staging port"))["count"] == 0
    tools = {tool.name: tool for tool in await client.list_tools()}
    assert "all episodes" in str(tools["memory_stats"].input_schema)
    stats = await ask(client, "memory_stats", scope="ops")
    assert (stats["facts"]["superseded"], stats["facts"]["retracted"], stats["rules"]["forgotten"]) == (
        1,
        1,
        1,
    )


@pytest.mark.requirement("KNW-27.1")
async def test_a_client_reads_memories_and_the_block_as_resources(client: Client[Any]) -> None:
    """Reading counts no use; what does not exist is an error."""
    await ask(client, "memory_store_rule", content="Check the port before a deploy", tags=["pinned"])
    fact = await ask(client, "memory_store_fact", subject="staging", predicate="port", content="5434")
    templates = {each.uri_template for each in await client.list_resource_templates()}
    assert templates == {
        "commonplace://memory/{memory_type}/{memory_id}",
        "commonplace://block{?prompt,butler}",
    }
    content: Any
    block: Any
    (content,) = await client.read_resource(f"commonplace://memory/fact/{fact['id']}")
    assert content.mime_type == "application/json"
    read = json.loads(content.text)
    assert (read["content"], read["reference_count"]) == ("5434", 0)
    for uri, expected in (("block?prompt=staging%20port", "5434"), ("block", "Check the port")):
        (block,) = await client.read_resource(f"commonplace://{uri}")
        assert block.text.startswith("# Memory Context\n")
        assert expected in block.text
    for uri in (f"fact/{NO_ID}", "fact/7", "memory/7"):
        with pytest.raises(MCPError):
            await client.read_resource(f"commonplace://memory/{uri}")


async def test_a_client_offers_people_recall_and_remember(client: Client[Any]) -> None:
    """As prompts: one with the memories of a topic, one that says how to store a text."""
    await ask(client, "memory_store_fact", subject="staging", predicate="port", content="5434")
    prompts = {prompt.name: prompt for prompt in await client.list_prompts()}
    assert [each.name for each in prompts["recall"].arguments or []] == ["topic"]
    recalled = await client.get_prompt("recall", {"topic": "staging port"})
    assert "[staging] [port]: 5434" in str(recalled.messages[0].content)
    told = str((await client.get_prompt("remember", {"text": "Anna lives in Oslo"})).messages[0].content)
    assert "Anna lives in Oslo" in told
    assert "memory_store_fact" in told


async def test_an_agent_keeps_track_of_entities(client: Client[Any]) -> None:
    """Create, find, change, merge; what was merged says where it went."""
    mine = {"tenant_id": "default"}
    anna = await ask(client, "entity_create", canonical_name="Anna Smith", entity_type="person", **mine)
    annie = await ask(
        client, "entity_create", canonical_name="Annie", entity_type="person", aliases=["A. Smith"], **mine
    )
    found = await ask(client, "entity_resolve", name="anna smith")
    assert [each["entity_id"] for each in found["candidates"]] == [anna["entity_id"]]
    assert found["candidates"][0].keys() == {
        "entity_id", "canonical_name", "entity_type", "score", "name_match", "aliases",
    }  # fmt: skip
    changed = await ask(client, "entity_update", entity_id=anna["entity_id"], metadata={"team": "infra"})
    assert changed["metadata"] == {"team": "infra"}
    merged = await ask(
        client,
        "entity_merge",
        source_entity_id=annie["entity_id"],
        target_entity_id=anna["entity_id"],
        tenant_id="default",
    )
    assert merged["target_entity_id"] == anna["entity_id"]
    gone = await ask(client, "entity_get", entity_id=annie["entity_id"])
    assert gone["survivor_id"] == anna["entity_id"]
    nobody = await ask(client, "entity_resolve", name="Zoe", enable_fuzzy=True)
    assert nobody["candidates"] == []
    assert "entity_create" in nobody["hint"]


@pytest.mark.requirement("KNW-12.3", "KNW-19.7", "KNW-15.3")
async def test_an_operator_looks_after_episodes(client: Client[Any]) -> None:
    """Without a model, consolidation counts; cleanup says what it deleted."""
    for butler in ("ops", "mail", "ops"):
        await ask(client, "memory_store_episode", content="something happened", butler=butler)
    run = await ask(client, "memory_run_consolidation")
    assert (run["episodes_pending"], run["groups"], run["consolidated"]) == (3, {"mail": 1, "ops": 2}, False)
    stats = await ask(client, "memory_stats")
    assert stats["episodes"]["unconsolidated"] == 3
    cleaned = await ask(client, "memory_run_episode_cleanup", max_entries="0")
    assert (cleaned["expired_deleted"], cleaned["capacity_deleted"], cleaned["remaining"]) == (0, 0, 3)


@pytest.mark.requirement("KNW-20.1")
async def test_the_context_is_text_and_nothing_else(client: Client[Any]) -> None:
    """A client that gets JSON as well shows its model that alone."""
    await ask(client, "memory_store_fact", subject="Anna", predicate="lives_in", content="Lisbon")
    result = await client.call_tool("memory_context", {"trigger_prompt": "Anna", "butler": "ops"})
    assert result.structured_content is None
    assert text(result).startswith("# Memory Context\n")
    assert "- [Anna] [lives_in]: Lisbon (confidence: 1.00)" in text(result)
    for budget in (0, 4, 5, 30):
        block = await ask(client, "memory_context", trigger_prompt="A", butler="ops", token_budget=budget)
        assert len(block) <= budget * 4
        assert block in {"", "# Memory Context\n"} or "[Anna]" in block


@pytest.mark.requirement("KNW-27.1", "KNW-27.2", "R-KNW-9", "HSE-01.1")
async def test_results_are_json_without_vectors(client: Client[Any], memory: KnowledgeMemory) -> None:
    """Ids as text, times in ISO 8601, and neither ``embedding`` nor ``search_vector`` anywhere."""
    entity = await ask(client, "entity_create", canonical_name="A", entity_type="other", tenant_id="default")
    fact = await ask(client, "memory_store_fact", subject="a", predicate="b", content="c d")
    answers = [
        entity,
        fact,
        await ask(client, "memory_search", query="c d"),
        await ask(client, "memory_recall", topic="c d"),
        await ask(client, "memory_get", memory_type="fact", memory_id=fact["id"]),
        await ask(client, "entity_get", entity_id=entity["entity_id"]),
    ]
    for answer in answers:
        assert not re.search(r'"(embedding|search_vector)":', json.dumps(answer))
    read = answers[4]
    assert read.keys() == json_fields(await memory.read("fact", read["id"])).keys()
    assert "effective_confidence" in read
    assert not read.keys() & {"tenant_id", "embedding_model", "embedding_version"}
    assert re.fullmatch(r"[0-9a-f-]{36}", read["id"])
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z", read["created_at"])
    assert read["last_confirmed_at"] == read["created_at"]


async def test_an_empty_answer_says_what_to_do_next(client: Client[Any]) -> None:
    """A model that gets nothing is told not to ask the same again."""
    for answer in (
        await ask(client, "memory_search", query="nothing at all"),
        await ask(client, "memory_recall", topic="nothing at all"),
    ):
        assert (answer["count"], answer["results"]) == (0, [])
        assert "repeating the search will not help" in answer["hint"]


async def test_a_long_text_is_cut_in_lists_and_read_whole(client: Client[Any]) -> None:
    """Ten results of a million characters would fill any window."""
    content = "long " * 5_000
    stored = await ask(client, "memory_store_episode", content=content, butler="ops")
    (found,) = (await ask(client, "memory_search", query="long"))["results"]
    assert found["content_is_cut"]
    assert len(found["content"]) <= SHOWN_CHARS
    read = await ask(client, "memory_get", memory_type="episode", memory_id=stored["id"])
    assert read["content"] == content.strip()


async def test_lists_and_objects_may_come_as_json_in_a_string(client: Client[Any]) -> None:
    """As models send them."""
    fact = await ask(
        client, "memory_store_fact", subject="a", predicate="b", content="c", tags='["infra", "db"]'
    )
    read = await ask(client, "memory_get", memory_type="fact", memory_id=fact["id"])
    assert read["tags"] == ["infra", "db"]
    found = await ask(client, "memory_search", query="c", types='["fact"]', limit="5", min_confidence="0.1")
    assert found["count"] == 1
    entity = await ask(
        client,
        "entity_create",
        canonical_name="Anna",
        entity_type="person",
        tenant_id="default",
        aliases='["Annie"]',
        metadata='{"team": "infra"}',
    )
    assert (entity["aliases"], entity["metadata"]) == (["Annie"], {"team": "infra"})
    hinted = await ask(
        client,
        "entity_resolve",
        name="Annie",
        context_hints=json.dumps({"topic": "x", "domain_scores": {entity["entity_id"]: 5}}),
    )
    assert hinted["candidates"][0]["score"] == 85.0
    assert (await ask(client, "memory_store_rule", content="x", tags="null"))["id"]


@pytest.mark.parametrize(
    ("tool", "arguments", "field", "expected"),
    [
        ("memory_store_fact", {"subject": "a", "predicate": "b"}, "content", "a value"),
        ("memory_store_fact", {"subject": "a", "predicate": "b", "content": " "}, "content", "1 to"),
        ("memory_store_fact", {"subject": "a", "predicate": "b", "content": "c", "permanence": "forever"},
         "permanence", "permanent, stable"),
        ("memory_store_fact", {"subject": "a", "predicate": "b", "content": "c", "importance": 11},
         "importance", "0.0 to 10.0"),
        ("memory_store_fact", {"subject": "a", "predicate": "b", "content": "c", "tags": "infra, db"},
         "tags", "list"),
        ("memory_store_rule", {"content": "x", "confidence": 1}, "confidence", "content, scope, tags"),
        ("memory_store_episode", {"content": "x", "butler": "b", "session_id": "7"}, "session_id", "UUID"),
        ("memory_search", {"query": "x", "mode": "magic"}, "mode", "semantic, keyword, hybrid"),
        ("memory_search", {"query": "x", "types": ["facts"]}, "types", "episode, fact, rule"),
        ("memory_search", {"query": "x", "limit": 0}, "limit", "1 to"),
        ("memory_search", {"query": ["x"]}, "query", "text"),
        ("memory_get", {"memory_type": "fact", "memory_id": "7"}, "memory_id", "UUID"),
        ("memory_get", {"memory_type": "fact", "memory_id": NO_ID}, "memory_id", "existing fact"),
        ("memory_get", {"memory_type": "memory", "memory_id": NO_ID}, "memory_type", "episode, fact, rule"),
        ("memory_confirm", {"memory_type": "episode", "memory_id": NO_ID}, "memory_type", "fact or rule"),
        ("memory_confirm", {"memory_type": "rule", "memory_id": NO_ID}, "memory_id", "existing rule"),
        ("memory_forget", {"memory_type": "fact", "memory_id": NO_ID}, "memory_id", "existing fact"),
        ("memory_mark_helpful", {"rule_id": NO_ID}, "rule_id", "existing rule"),
        ("memory_mark_harmful", {"rule_id": "none"}, "rule_id", "UUID"),
        ("memory_context", {"trigger_prompt": "x", "butler": "b", "token_budget": "lots"}, "token_budget",
         "a whole number"),
        ("memory_context", {"trigger_prompt": "x", "butler": "b", "token_budget": -1}, "token_budget", "from 0"),
        ("memory_context", {"trigger_prompt": "x", "butler": ""}, "butler", "text"),
        ("memory_run_episode_cleanup", {"max_entries": -1}, "max_entries", "from 0"),
        ("entity_create", {"canonical_name": "A", "entity_type": "robot", "tenant_id": "default"},
         "entity_type", "person, organization"),
        ("entity_create", {"canonical_name": "A", "entity_type": "other"}, "tenant_id", "a value"),
        ("entity_get", {"entity_id": NO_ID}, "entity_id", "existing entity"),
        ("entity_update", {"entity_id": NO_ID, "aliases": []}, "entity_id", "entity"),
        ("entity_merge", {"source_entity_id": NO_ID, "target_entity_id": NO_ID}, "target_entity_id", "another"),
        ("entity_resolve", {"name": "A", "context_hints": "topic"}, "context_hints", "an object"),
    ],
)  # fmt: skip
async def test_a_refusal_names_the_parameter_and_what_would_do(
    client: Client[Any], tool: str, arguments: dict[str, object], field: str, expected: str
) -> None:
    """As an error of the tool that the model reads, with a hint; nothing is written."""
    error = await refused(client, tool, **arguments)
    assert error["field"] == field
    assert expected in error["expected"]
    assert error["got"]
    assert len(error["hint"]) > 20
    stats = await ask(client, "memory_stats")
    assert (stats["facts"]["active"], stats["rules"]["candidate"], stats["episodes"]["total"]) == (0, 0, 0)


@pytest.mark.parametrize("tenant", [{}, {"tenant_id": "acme"}])
async def test_a_hint_about_the_tenant_can_be_followed(client: Client[Any], tenant: dict[str, str]) -> None:
    """A tool that needs a tenant is told which one to pass."""
    error = await refused(client, "entity_create", canonical_name="A", entity_type="other", **tenant)
    assert error["hint"].startswith(
        "Pass your own tenant: the tenant that this error names, or else default."
    )


async def test_a_secret_is_refused_without_being_repeated(client: Client[Any]) -> None:
    """Whichever field it is in; no parameter of a tool allows it."""
    secret = "ghp_abcdefghijklmnopqrstuvwxyz0123456789"
    for tool, arguments in (
        ("memory_store_episode", {"content": secret, "butler": "b"}),
        ("memory_store_fact", {"subject": secret, "predicate": "p", "content": "c"}),
        ("memory_store_rule", {"content": "x", "tags": [secret]}),
        ("entity_create", {"canonical_name": secret, "entity_type": "other", "tenant_id": "default"}),
    ):
        error = await refused(client, tool, **arguments)
        assert "appears to contain a secret" in error["message"]
        assert "Leave the secret out" in error["hint"]
        assert secret not in json.dumps(error)
    error = await refused(client, "memory_store_rule", content=secret, allow_secrets=True)
    assert error["field"] == "allow_secrets"


@pytest.mark.requirement("KNW-29.1", "KNW-29.2")
async def test_no_argument_chooses_a_tenant(
    knowledge_url: str, tmp_path: Path, engine: EmbeddingEngine
) -> None:
    """A tenant that is named must be the caller's own; left out, it is."""
    async with (
        open_knowledge(knowledge_url, tmp_path, engine=engine, tenant_id="acme") as memory,
        Client(build_server(memory)) as client,
    ):
        entity = await ask(client, "entity_create", canonical_name="A", entity_type="other", tenant_id="acme")
        assert entity["tenant_id"] == "acme"
        assert (await ask(client, "entity_resolve", name="A"))["count"] == 1
        assert (await ask(client, "entity_resolve", name="A", tenant_id="acme"))["count"] == 1
        key = {"entity_id": entity["entity_id"]}
        for tool, arguments in (
            ("entity_create", {"canonical_name": "B", "entity_type": "other", "tenant_id": "default"}),
            ("entity_get", {**key, "tenant_id": "default"}),
            ("entity_update", {**key, "tenant_id": "globex", "aliases": ["x"]}),
            ("entity_resolve", {"name": "A", "tenant_id": "globex"}),
            ("entity_merge", {"source_entity_id": entity["entity_id"], "target_entity_id": NO_ID,
                              "tenant_id": "default"}),
        ):  # fmt: skip
            error = await refused(client, tool, **arguments)
            assert error["field"] == "tenant_id"
            assert "acme" in error["expected"]


@pytest.mark.requirement("KNW-29.1", "KNW-29.2")
async def test_a_server_may_serve_many_tenants(memory: KnowledgeMemory) -> None:
    """Who calls is asked at each call, and decides what is seen and who is recorded."""
    who = RequestContext(tenant_id="acme", actor="ann")
    async with Client(build_server(memory, caller=lambda: who)) as client:
        await ask(client, "memory_store_fact", subject="a", predicate="b", content="secret of acme")
        who = RequestContext(tenant_id="globex", actor="bob")
        assert (await ask(client, "memory_search", query="secret of acme"))["count"] == 0
        assert (await ask(client, "memory_stats"))["facts"]["active"] == 0
        who = RequestContext(tenant_id="acme", actor="ann")
        assert (await ask(client, "memory_search", query="secret of acme"))["count"] == 1


@pytest.mark.requirement("KNW-24.1", "KNW-24.2")
async def test_memory_that_is_out_of_reach_stops_no_agent(tmp_path: Path, engine: EmbeddingEngine) -> None:
    """Storing an episode says that it was not stored, the context says to go on, all else is an error that says so."""
    url = f"postgresql://u@/d?host={tmp_path}"
    async with (
        open_knowledge(url, tmp_path, engine=engine, lazy=True) as memory,
        Client(build_server(memory)) as client,
    ):
        stored = await ask(client, "memory_store_episode", content="x", butler="ops")
        assert (stored["stored"], stored["id"]) == (False, None)
        assert "Continue without memory" in stored["hint"]
        block = await ask(client, "memory_context", trigger_prompt="x", butler="ops")
        assert block.startswith("# Memory Context\n")
        assert "out of reach" in block
        error = await refused(client, "memory_recall", topic="x")
        assert "out of reach" in error["message"]


async def test_a_failure_of_our_own_is_no_traceback_for_a_model(
    memory: KnowledgeMemory, client: Client[Any], caplog: pytest.LogCaptureFixture
) -> None:
    """The model reads that it is not to blame, the operator reads why; neither tables nor statements are shown."""
    async with memory.session.acting() as pool:
        await pool.execute("ALTER TABLE rules ADD CONSTRAINT broken CHECK (content <> 'x')")
    error = await refused(client, "memory_store_rule", content="x")
    assert "not the call's fault" in error["message"]
    assert "broken" not in json.dumps(error)
    assert 'violates check constraint "broken"' in caplog.text


async def test_a_wrong_request_for_a_resource_or_a_prompt_is_one_line_in_the_log(
    client: Client[Any], caplog: pytest.LogCaptureFixture
) -> None:
    """The caller is told what to correct; the log has no traceback."""
    for uri in (f"fact/{NO_ID}", "fact/7"):
        with pytest.raises(MCPError, match=r"no fact with id|a UUID or a short id"):
            await client.read_resource(f"commonplace://memory/{uri}")
    with pytest.raises(MCPError, match="topic: expected a value, got nothing"):
        await client.get_prompt("recall")
    assert [record.levelname for record in caplog.records if record.levelname != "DEBUG"] == ["WARNING"] * 3
    assert not any(record.exc_info for record in caplog.records if record.levelno > logging.DEBUG)


async def test_a_memory_of_another_scope_says_how_it_is_found(memory: KnowledgeMemory) -> None:
    """A server for a project reads that project and global memories by default."""
    fact = {"subject": "staging", "predicate": "port", "content": "5434"}
    calls: dict[str, dict[str, Any]] = {
        "memory_store_episode": {"content": "Moved staging", "butler": ...},
        "memory_store_fact": {**fact, "scope": ...},
        "memory_store_rule": {"content": "Announce moves", "scope": ...},
    }
    async with Client(build_server(memory, view=View(butler="shop", prefix="brain"))) as client:
        for tool, arguments in calls.items():
            for place in ("shop", "global", None, "ops"):
                given = {
                    name: place if value is ... else value
                    for name, value in arguments.items()
                    if value is not ... or place is not None
                }
                stored = await ask(client, f"brain_{tool}", **given)
                hint = "Stored for ops. By default, you read shop and global: pass the scope ops to find it."
                assert stored.get("hint") == (hint if place == "ops" else None)
        found = await ask(client, "brain_memory_search", query="staging", scope="ops")
        assert {each["memory_type"] for each in found["results"]} == {"episode", "fact", "rule"}
    async with Client(build_server(memory)) as client:
        assert "hint" not in await ask(client, "memory_store_fact", **fact, scope="ops")


async def test_a_resource_has_the_short_id_of_the_block_too(client: Client[Any]) -> None:
    """Also with its colon encoded, as some clients write it."""
    fact = await ask(client, "memory_store_fact", subject="staging", predicate="port", content="5434")
    name = short_id(MemoryType.FACT, UUID(fact["id"]))
    for written in (name, name.replace(":", "%3A")):
        (content,) = await client.read_resource(f"commonplace://memory/fact/{written}")
        assert isinstance(content, TextResourceContents)
        assert json.loads(content.text)["id"] == fact["id"]


@pytest.mark.requirement("FLR-05.1")
async def test_metadata_is_stored_and_results_are_explained(
    memory: KnowledgeMemory, client: Client[Any]
) -> None:
    """Over MCP as over REST."""
    details = {"ticket": "OPS-7"}
    fact = {"subject": "tea", "predicate": "colour", "content": "Tea is green", "metadata": details}
    for tool, arguments in (
        ("memory_store_fact", fact),
        ("memory_store_rule", {"content": "Serve tea hot", "metadata": details}),
        ("memory_store_episode", {"content": "Tea arrived", "butler": "ops", "metadata": details}),
    ):
        await client.call_tool(tool, arguments)
    stored = [*await memory.lists.facts(), *await memory.lists.rules(), *await memory.lists.episodes()]
    assert [each.metadata for each in stored] == [details] * 3
    for tool, words in (("memory_search", {"query": "green tea"}), ("memory_recall", {"topic": "green tea"})):
        result = await client.call_tool(tool, {**words, "explain": True})
        assert all("why" in each["explanation"] for each in result.structured_content["results"])
        none = await client.call_tool(tool, {**words, "min_confidence": 1.0, "scope": "global"})
        types = [each["memory_type"] for each in none.structured_content["results"]]
        assert "rule" not in types
