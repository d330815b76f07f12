"""A graph of entities, their facts, and the links between memories."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Final, Literal
from uuid import UUID

from commonplace.core.choices import require_items
from commonplace.core.errors import NotFoundError
from commonplace.core.pages import require_page
from commonplace.knowledge.model import inputs
from commonplace.knowledge.model.kinds import GLOBAL_SCOPE, Moment
from commonplace.knowledge.store.session import KnowledgeSession
from commonplace.storage.database import Columns

ENTITIES: Final = 30
MOST_ENTITIES: Final = 800
"""With five facts each and their links, a graph has at most 5,000 nodes."""
FACTS_OF_ONE: Final = 40
FACTS_OF_EACH: Final = 5
MOST_LINKS: Final = 200
"""Maximum number of links in a readable graph."""
MOST_STEPS: Final = 6
"""The longest path between two entities; from one fact via its episode to another fact takes four steps."""
MOST_EDGES: Final = 5_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """An entity or a memory.

    Attributes:
        label: Its name, or the beginning of its text.
        facts: The number of active facts about an entity; 0 for a memory.
    """

    id: str
    kind: Literal["entity", "fact", "episode", "rule"]
    label: str
    facts: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """An edge; ``relation`` is the relation of a link, or the predicate of a fact about one or two entities."""

    source: str
    target: str
    relation: str


@dataclass(slots=True, kw_only=True)
class Graph:
    """Nodes in the order of discovery, and the edges between them."""

    nodes: dict[str, Node] = field(default_factory=dict[str, Node])
    edges: list[Edge] = field(default_factory=list[Edge])

    def add(self, node: Node) -> None:
        """Add a node, unless the graph already has it."""
        self.nodes.setdefault(node.id, node)

    def join(self, source: object, target: object, relation: str) -> None:
        """Add an edge between two nodes, by their ids."""
        self.edges.append(Edge(source=str(source), target=str(target), relation=relation))

    def only(self, kinds: Collection[str]) -> "Graph":
        """Return the nodes of some kinds and the edges between them."""
        nodes = {key: node for key, node in self.nodes.items() if node.kind in kinds}
        edges = [edge for edge in self.edges if edge.source in nodes and edge.target in nodes]
        return Graph(nodes=nodes, edges=edges)


class EntityGraph:
    """The graph of entities, facts and links: ``memory.graph``.

    Attributes:
        LIMIT: The default number of entities.
        MAX_LIMIT: The maximum number of entities.
    """

    LIMIT: ClassVar[int] = ENTITIES
    MAX_LIMIT: ClassVar[int] = MOST_ENTITIES

    def __init__(self, session: KnowledgeSession) -> None:
        self._session = session

    async def read(
        self,
        *,
        entity_id: UUID | str | None = None,
        kinds: Collection[str] | None = None,
        scope: str | None = None,
        since: Moment | None = None,
        limit: int = ENTITIES,
    ) -> Graph:
        """Return an entity with its most important active facts, and the entities and memories related by them.

        Without an entity, return the entities with the most active facts, each with five facts.

        Args:
            entity_id: The entity.
            kinds: Only nodes of these kinds, ``entity``, ``fact``, ``episode`` or ``rule``; ``None`` for all.
            scope: Only facts of this scope and global facts; ``None`` for all.
            since: Only facts that were stored at this moment or later.
            limit: Maximum number of entities if no entity is given, up to 800.

        Raises:
            NotFoundError: The entity does not exist, or was merged into another.
        """
        key = inputs.optional_id(entity_id, field="entity_id")
        own = inputs.optional_scope(scope)
        oldest = inputs.optional_moment(since, field="since", times=self._session.times)
        require_page(limit, max_limit=MOST_ENTITIES)
        async with self._session.reading() as sql:
            entities = await sql.graph_entities(entity_id=key, limit=limit)
            if key is not None and not entities:
                raise NotFoundError("entity", str(key))
            facts = await sql.graph_facts(
                entity_ids=[entity["id"] for entity in entities],
                per_entity=FACTS_OF_EACH if key is None else FACTS_OF_ONE,
                scope=own,
                since=oldest,
            )
            if key is None:
                shown = [fact["id"] for fact in facts]
                relations = await sql.graph_relations(fact_ids=shown, limit=max(MOST_LINKS, 2 * limit))
            else:
                relations = await sql.relations(
                    entity_id=key,
                    scopes=None if own is None else [GLOBAL_SCOPE, own],
                    as_of=None,
                    valid_at=None,
                    now=self._session.clock(),
                    limit=MOST_LINKS,
                )
                relations = [row for row in relations if oldest is None or row["created_at"] >= oldest]
            links = await sql.graph_links(ids=[fact["id"] for fact in facts], limit=MOST_LINKS)
        graph = _drawn(entities, facts, relations, links)
        return graph if kinds is None else graph.only(require_items(kinds, field="kinds"))

    async def between(self, first_id: UUID | str, second_id: UUID | str) -> Graph:
        """Return the shortest path from one entity to another, via facts, links and memories.

        The search goes up to six steps and follows up to 5,000 edges per step.

        Returns:
            The nodes in path order, and the edge between each node and the next, in the direction of its relation; an
            empty graph if there is no path.
        """
        first = inputs.require_id(first_id, field="first_id")
        second = inputs.require_id(second_id, field="second_id")
        before: dict[UUID, Columns | None] = {first: None}
        frontier = [first]
        async with self._session.reading() as sql:
            for _ in range(MOST_STEPS):
                if second in before or not frontier:
                    break
                edges = await sql.graph_steps(ids=frontier, limit=MOST_EDGES)
                fresh = {edge["to_id"]: edge for edge in reversed(edges) if edge["to_id"] not in before}
                before |= fresh
                frontier = list(fresh)
            way = _way(before, second)
            ids = [first, *(edge["to_id"] for edge in way)]
            names = {row["id"]: row["name"] for row in await sql.names_of(ids=ids, now=self._session.clock())}
        return _walked(first, way, names)


def _way(before: Mapping[UUID, Columns | None], end: UUID) -> list[Columns]:
    """Return the edges of the path to the end of a search, in order."""
    way: list[Columns] = []
    edge = before.get(end)
    while edge is not None:
        way.append(edge)
        edge = before[edge["from_id"]]
    return way[::-1]


def _walked(first: UUID, way: Sequence[Columns], names: Mapping[UUID, str]) -> Graph:
    graph = Graph()
    if way:
        graph.add(Node(id=str(first), kind="entity", label=names.get(first, "")))
    for edge in way:
        node = Node(id=str(edge["to_id"]), kind=edge["to_kind"], label=names.get(edge["to_id"], "")[:300])
        graph.add(node)
        ends = (edge["from_id"], node.id) if edge["is_forward"] else (node.id, edge["from_id"])
        graph.join(*ends, edge["relation"])
    return graph


def _drawn(
    entities: Sequence[Columns],
    facts: Sequence[Columns],
    relations: Sequence[Columns],
    links: Sequence[Columns],
) -> Graph:
    graph = Graph()
    for entity in entities:
        name, facts_about = entity["canonical_name"], entity["facts"]
        graph.add(Node(id=str(entity["id"]), kind="entity", label=name, facts=facts_about))
    for fact in facts:
        graph.add(Node(id=str(fact["id"]), kind="fact", label=_label(fact)))
        graph.join(fact["entity_id"], fact["id"], fact["predicate"])
    for row in relations:
        for end in ("source", "target"):
            graph.add(Node(id=str(row[f"{end}_id"]), kind="entity", label=row[f"{end}_name"]))
        graph.join(row["source_id"], row["target_id"], row["predicate"])
    for link in links:
        for end in ("source", "target"):
            label = link[f"{end}_text"] or ""
            graph.add(Node(id=str(link[f"{end}_id"]), kind=link[f"{end}_type"], label=label))
        graph.join(link["source_id"], link["target_id"], link["relation"])
    return graph


def _label(fact: Columns) -> str:
    return f"{fact['predicate']}: {fact['content']}"[:120]
