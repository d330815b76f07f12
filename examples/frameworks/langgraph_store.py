"""A LangGraph graph whose node remembers across runs. Needs `pip install 'commonplace[langgraph]'`."""

from langgraph.graph import START, StateGraph
from langgraph.runtime import Runtime
from typing_extensions import TypedDict

from commonplace.adapters.langgraph import CommonplaceStore


class State(TypedDict):
    """The state of the graph."""

    said: str
    known: list[str]


def remember(state: State, runtime: Runtime[None]) -> dict[str, list[str]]:
    """Return what is known about the text, and store the text."""
    store = runtime.store
    if store is None:
        raise RuntimeError("compile the graph with a store")
    found = store.search(("users", "ann"), query=state["said"], limit=3)
    store.put(("users", "ann"), state["said"], {"text": state["said"]})
    return {"known": [item.value["text"] for item in found]}


def main() -> None:
    """Run the graph twice."""
    graph = StateGraph(State).add_node("remember", remember).add_edge(START, "remember")
    with CommonplaceStore.open() as store:
        compiled = graph.compile(store=store)
        compiled.invoke({"said": "Ann likes green tea", "known": []})
        print(compiled.invoke({"said": "Which tea?", "known": []})["known"])


if __name__ == "__main__":
    main()
