"""A graph of entities, their facts, and the links between memories."""

from dataclasses import dataclass, field
from typing import Final, Literal
from uuid import UUID

from commonplace.core.errors import NotFoundError
from commonplace.knowledge import inputs
from commonplace.knowledge.connection.session import KnowledgeSession
from commonplace.storage.database import Row

MOST_ENTITIES: Final = 30
FACTS_OF_ONE: Final = 40
FACTS_OF_EACH: Final = 5
MOST_LINKS: Final = 200
"""Most links of a graph that a person can read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """An entity or a memory; ``label`` is its name or the beginning of its text."""

    id: str
    kind: Literal["entity", "fact", "episode", "rule"]
    label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """``relation`` is the relation of a link, or the predicate of a fact about an entity or between two entities."""

    source: str
    target: str
    relation: str


@dataclass(slots=True, kw_only=True)
class Graph:
    """Nodes in the order in which they were found, and the edges between them."""

    nodes: dict[str, Node] = field(default_factory=dict[str, Node])
    edges: list[Edge] = field(default_factory=list[Edge])

    def add(self, node: Node) -> None:
        """Add a node, unless the graph has it."""
        self.nodes.setdefault(node.id, node)


class GraphMethods(KnowledgeSession):
    """The method of knowledge memory that draws entities, facts and links."""

    async def knowledge_graph(self, *, entity_id: UUID | str | None = None) -> Graph:
        """Return an entity with its most important active facts, and the entities and memories that they relate it to.

        Without an entity: the 30 entities with the most active facts, five facts each.

        Raises:
            InvalidInputError: The id is malformed.
            NotFoundError: The entity does not exist, or was merged into another.
            StorageUnavailableError: The server cannot be reached.
        """
        key = inputs.optional_id(entity_id, field="entity_id")
        async with self._reading() as sql:
            entities = await sql.graph_entities(entity_id=key, limit=MOST_ENTITIES)
            if key is not None and not entities:
                raise NotFoundError("entity", str(key))
            facts = await sql.graph_facts(
                entity_ids=[entity["id"] for entity in entities],
                per_entity=FACTS_OF_EACH if key is None else FACTS_OF_ONE,
            )
            if key is None:
                shown = [fact["id"] for fact in facts]
                relations = await sql.graph_relations(fact_ids=shown, limit=MOST_LINKS)
            else:
                now = self.clock()
                relations = await sql.relations(
                    entity_id=key, scopes=None, as_of=None, valid_at=None, now=now, limit=MOST_LINKS
                )
            links = await sql.graph_links(ids=[fact["id"] for fact in facts], limit=MOST_LINKS)
        return _drawn(entities, facts, relations, links)


def _drawn(entities: list[Row], facts: list[Row], relations: list[Row], links: list[Row]) -> Graph:
    graph = Graph()
    for entity in entities:
        graph.add(Node(id=str(entity["id"]), kind="entity", label=entity["canonical_name"]))
    for fact in facts:
        graph.add(Node(id=str(fact["id"]), kind="fact", label=_label(fact)))
        graph.edges.append(
            Edge(source=str(fact["entity_id"]), target=str(fact["id"]), relation=fact["predicate"])
        )
    for row in relations:
        for end in ("source", "target"):
            graph.add(Node(id=str(row[f"{end}_id"]), kind="entity", label=row[f"{end}_name"]))
        graph.edges.append(
            Edge(source=str(row["source_id"]), target=str(row["target_id"]), relation=row["predicate"])
        )
    for link in links:
        for end in ("source", "target"):
            graph.add(
                Node(id=str(link[f"{end}_id"]), kind=link[f"{end}_type"], label=link[f"{end}_text"] or "")
            )
        graph.edges.append(
            Edge(source=str(link["source_id"]), target=str(link["target_id"]), relation=link["relation"])
        )
    return graph


def _label(fact: Row) -> str:
    return f"{fact['predicate']}: {fact['content']}"[:120]
