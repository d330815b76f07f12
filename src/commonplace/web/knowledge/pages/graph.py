"""The graph page: entities, facts and links as a picture and as a list."""

from dataclasses import asdict
from typing import Any, Final

from fastapi import Request
from fastapi.responses import HTMLResponse, JSONResponse

from commonplace.knowledge import Graph, Node
from commonplace.web.access import KnowledgeOfCaller, reader
from commonplace.web.dashboard.errors import pages
from commonplace.web.dashboard.rendering import NOT_KEPT, link, render
from commonplace.web.knowledge.pages.listing import SomeId

PATH: Final = "/knowledge/graph"
PLACES: Final = {"entity": "entities", "fact": "facts", "rule": "rules", "episode": "episodes"}

router = pages(PATH, reader)


@router.get("")
async def graph_page(request: Request, knowledge: KnowledgeOfCaller, entity: SomeId = None) -> HTMLResponse:
    """Show the graph of one entity, or of the best-known entities."""
    graph = await knowledge.knowledge_graph(entity_id=entity)
    return render(
        request,
        "knowledge/graph.html",
        entity=None if entity is None else await knowledge.entity_get(entity),
        data_url=link(f"{PATH}/data", entity=entity),
        listed=_listed(graph),
        is_empty=not graph.nodes,
    )


@router.get("/data")
async def graph_data(knowledge: KnowledgeOfCaller, entity: SomeId = None) -> JSONResponse:
    """Return the graph for the script that draws it: nodes with their addresses, and edges."""
    graph = await knowledge.knowledge_graph(entity_id=entity)
    return JSONResponse(
        {
            "nodes": [{**asdict(node), "url": url_of(node)} for node in graph.nodes.values()],
            "edges": [asdict(edge) for edge in graph.edges],
        },
        headers=NOT_KEPT,
    )


def url_of(node: Node) -> str:
    """Return the path of the page of a node."""
    return f"/knowledge/{PLACES[node.kind]}/{node.id}"


def _listed(graph: Graph) -> list[dict[str, Any]]:
    """Return entities and linked nodes, each with its page and its neighbours."""
    joined: dict[str, list[tuple[str, Node]]] = {}
    for edge in graph.edges:
        joined.setdefault(edge.source, []).append((edge.relation, graph.nodes[edge.target]))
    return [
        {
            "node": node,
            "url": url_of(node),
            "joined": [
                {"relation": relation, "node": other, "url": url_of(other)}
                for relation, other in joined.get(node.id, [])
            ],
        }
        for node in graph.nodes.values()
        if node.kind == "entity" or node.id in joined
    ]
