"""Spans of memory operations, by OpenTelemetry's conventions for generative AI."""

import inspect
from collections.abc import Iterator

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from commonplace.core.tracing import trace_with
from commonplace.knowledge.memory import KnowledgeMemory

pytestmark = [pytest.mark.usefixtures("tenant"), pytest.mark.requirement("LIF-05.1")]


@pytest.fixture
def spans() -> Iterator[InMemorySpanExporter]:
    """The spans of the test."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    trace_with(provider.get_tracer("test"))
    yield exporter
    trace_with(None)


def of(spans: InMemorySpanExporter, name: str) -> ReadableSpan:
    """Return the only span with a name."""
    (found,) = [span for span in spans.get_finished_spans() if span.name == name]
    return found


async def test_a_trace_says_why_an_agent_knew_something(
    knowledge: KnowledgeMemory, spans: InMemorySpanExporter
) -> None:
    """The span of a recall has the ids, the trust and the episodes of what was found, and no text."""
    episode = await knowledge.store_episode(content="A page says tea is green", butler="ops", source="web")
    fact = await knowledge.store_fact(
        subject="tea", predicate="colour", content="Green", source_episode_id=episode.id
    )
    await knowledge.recall("tea colour", min_relevance=0.0)
    await knowledge.forget("fact", fact.id)
    recall = dict(of(spans, "search_memory").attributes or {})
    assert recall == {
        "gen_ai.operation.name": "search_memory",
        "gen_ai.memory.store.id": f"knowledge/{knowledge.tenant_id}",
        "gen_ai.memory.record.count": 1,
        "gen_ai.memory.record.id": str(fact.id),
        "commonplace.memory.ids": str(fact.id),
        "commonplace.memory.trust": "web",
        "commonplace.memory.episodes": str(episode.id),
    }
    for name in ("create_memory", "upsert_memory", "delete_memory"):
        assert (of(spans, name).attributes or {})["gen_ai.memory.record.count"] == 1
    texts = [str(value) for span in spans.get_finished_spans() for value in (span.attributes or {}).values()]
    assert not [text for text in texts if "tea" in text]


async def test_content_is_traced_on_request(knowledge: KnowledgeMemory, spans: InMemorySpanExporter) -> None:
    """The text of the query alone; a method looks as it does without spans."""
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(spans))
    trace_with(provider.get_tracer("test"), with_content=True)
    await knowledge.search(query="green tea")
    assert (of(spans, "search_memory").attributes or {})["gen_ai.memory.query.text"] == "green tea"
    assert "narrowing" in inspect.signature(KnowledgeMemory.search).parameters
