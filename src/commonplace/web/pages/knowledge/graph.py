"""The graph page: facts about an entity, or the connection between two entities, as a picture and a list."""

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Annotated, Final, Literal
from uuid import UUID

from fastapi import Query, Request
from fastapi.responses import HTMLResponse, JSONResponse
from pydantic import Field

from commonplace.knowledge import EntityGraph, Graph, KnowledgeMemory, ListedEntity, Node
from commonplace.web.http.access import KnowledgeOfCaller, reader
from commonplace.web.pages.knowledge.listing import MAX_NAME_CHARS, Day
from commonplace.web.pages.layout import wording
from commonplace.web.pages.layout.errors import pages
from commonplace.web.pages.layout.paging import Address
from commonplace.web.pages.layout.rendering import NOT_KEPT, link, render

PATH: Final = "/knowledge/graph"
PLACES: Final = {"entity": "entities", "fact": "facts", "rule": "rules", "episode": "episodes"}
SUGGESTED: Final = 8
CANDIDATES: Final = 50
MOST_LISTED: Final = 100
SIZES: Final = (("30", "30"), ("200", "200"), ("800", "800"))
"""Numbers of best-known entities that the page offers."""
BETWEEN: Final = re.compile(r"\s+(?:and|und|to|with|&)\s+|\s*[,;→+]\s*", re.IGNORECASE)
"""The separator between the names of two entities in a question."""
ASKED: Final = re.compile(
    r"(?:(?:what|who|how|tell|show)\b.*?\b(?:about|is|are)\s+)?(.*?)(?:\s+(?:connected|related|linked))?[\s?.!]*",
    re.IGNORECASE,
)
"""A question that contains the names of entities."""

router = pages(PATH, reader)


class GraphAddress(Address):
    """The question and the filters in the address of the page.

    Attributes:
        q: The name of an entity, or the names of two.
        entity: The id of an entity, instead of a name.
        all: Whether to show the best-known entities.
        entities: How many of the best-known entities to show.
        kind: Show only nodes of this kind, and entities.
        scope: Show only facts of this scope, and global facts.
        since: Show only facts that were stored on this day or later.
    """

    q: Annotated[str, Field(max_length=2 * MAX_NAME_CHARS)] = ""
    entity: UUID | Literal[""] = ""
    all: bool = False
    entities: Annotated[int, Field(ge=1, le=EntityGraph.MAX_LIMIT)] = EntityGraph.LIMIT
    kind: Literal["", "fact", "rule", "episode"] = ""
    scope: Annotated[str, Field(max_length=MAX_NAME_CHARS)] = ""
    since: Day = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphAnswer:
    """The answer to a question.

    Attributes:
        graph: The nodes and edges; empty if the question has no answer.
        entities: The entities of the question.
        unknown: Names of the question that no entity has.
    """

    graph: Graph = field(default_factory=Graph)
    entities: Sequence[ListedEntity] = ()
    unknown: Sequence[str] = ()

    @property
    def is_way(self) -> bool:
        """Whether the question names two entities."""
        return len(self.entities) > 1


@router.get("")
async def graph_page(
    request: Request, knowledge: KnowledgeOfCaller, wanted: Annotated[GraphAddress, Query()]
) -> HTMLResponse:
    """Show the answer to a question about entities; without a question, suggestions."""
    answer = await _answer(knowledge, wanted)
    listed = _listed(answer.graph)
    suggested = [] if answer.graph.nodes else await _best_known(knowledge)
    return render(
        request,
        "knowledge/graph.html",
        wanted=wanted,
        answer=answer,
        suggested=suggested,
        has_entities=bool(answer.graph.nodes or suggested),
        data_url=link(f"{PATH}/data", **wanted.model_dump()),
        listed=listed[:MOST_LISTED],
        listed_of=len(listed),
        sizes=SIZES,
        steps=_steps(answer.graph) if answer.is_way else [],
        url_of=url_of,
        kinds=[("", "All"), ("fact", "Facts"), ("rule", "Rules"), ("episode", "Episodes")],
        has_facts=any(node.kind == "fact" for node in answer.graph.nodes.values()),
    )


async def _best_known(knowledge: KnowledgeMemory) -> list[Node]:
    """Return the entities with the most facts."""
    best = await knowledge.graph.read(kinds=["entity"])
    return sorted(best.nodes.values(), key=lambda node: -node.facts)[:SUGGESTED]


@router.get("/data")
async def graph_data(knowledge: KnowledgeOfCaller, wanted: Annotated[GraphAddress, Query()]) -> JSONResponse:
    """Return the graph for the script that draws it: nodes with their addresses, and edges."""
    graph = (await _answer(knowledge, wanted)).graph
    return JSONResponse(
        {
            "nodes": [{**asdict(node), "url": url_of(node)} for node in graph.nodes.values()],
            "edges": [{**asdict(edge), "relation": wording.relation(edge.relation)} for edge in graph.edges],
        },
        headers=NOT_KEPT,
    )


def url_of(node: Node) -> str:
    """Return the path of the page of a node."""
    return f"/knowledge/{PLACES[node.kind]}/{node.id}"


async def _answer(knowledge: KnowledgeMemory, wanted: GraphAddress) -> GraphAnswer:
    asked = ASKED.fullmatch(wanted.q)
    about = asked[1] if asked and asked[1] else wanted.q
    names = [name for name in BETWEEN.split(about) if name] if about else []
    whole = await _named(knowledge, about) if len(names) > 1 else None
    if whole is not None:  # A name may contain such a word.
        names = [about]
    found = [whole or await _named(knowledge, name) for name in names[:2]]
    unknown = [name for name, one in zip(names, found, strict=False) if one is None]
    entities = [one for one in found if one is not None]
    if unknown:
        return GraphAnswer(unknown=unknown)
    if len(entities) > 1:
        way = await knowledge.graph.between(entities[0].id, entities[1].id)
        return GraphAnswer(graph=way, entities=entities)
    entity_id = entities[0].id if entities else wanted.entity or None
    if entity_id is None and not wanted.all:
        return GraphAnswer()
    graph = await knowledge.graph.read(
        entity_id=entity_id,
        kinds=["entity", wanted.kind] if wanted.kind else None,
        scope=wanted.scope or None,
        since=wanted.since or None,
        limit=wanted.entities,
    )
    return GraphAnswer(graph=graph, entities=entities)


async def _named(knowledge: KnowledgeMemory, name: str) -> ListedEntity | None:
    """Return the entity with exactly this name, else the best-known entity whose name contains the text."""
    found = await knowledge.lists.entities(name=name, limit=CANDIDATES)
    exact = [one for one in found if name.casefold() in {one.canonical_name.casefold(), *one.aliases}]
    return max(exact or found, key=lambda one: one.facts, default=None)


def _steps(graph: Graph) -> list[tuple[Node, str, bool]]:
    """Return the path between two entities: each node, its relation to the next, and whether it is the source."""
    nodes = list(graph.nodes.values())
    edges = zip(nodes, graph.edges, strict=False)
    return [
        *((node, edge.relation, edge.source == node.id) for node, edge in edges),
        *((one, "", True) for one in nodes[-1:]),
    ]


def _listed(graph: Graph) -> list[tuple[Node, list[tuple[str, Node]]]]:
    """Return entities and linked nodes, each with its relations and neighbours."""
    joined: dict[str, list[tuple[str, Node]]] = {}
    for edge in graph.edges:
        joined.setdefault(edge.source, []).append((edge.relation, graph.nodes[edge.target]))
    return [
        (node, joined.get(node.id, []))
        for node in graph.nodes.values()
        if node.kind == "entity" or node.id in joined
    ]
