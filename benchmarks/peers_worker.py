"""Chroma and txtai in a process of their own, for benchmarks/peers.py, which starts it and asks it by lines of JSON.

    python benchmarks/peers_worker.py CORPUS.npz

It needs neither commonplace nor a model: all vectors are in the file. It prints ``ready``; then each line
``{"system": "chroma", "question": 3}`` is answered by ``{"ms": 2.1, "found": [17, 4]}``.
"""

import json
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

import numpy as np

FOUND = 10
BATCH = 5_000

Search = Callable[[int], Sequence[int]]


def chroma(corpus: Any, directory: str) -> Search:  # noqa: ANN401 - arrays of numpy's file
    """Return a dense search by Chroma, in process and on disk."""
    chromadb: Any = import_module("chromadb")
    client = chromadb.PersistentClient(path=directory, settings=chromadb.Settings(anonymized_telemetry=False))
    collection = client.create_collection("episodes", metadata={"hnsw:space": "cosine"})
    texts, vectors, questions = corpus["texts"], corpus["vectors"], corpus["question_vectors"]
    for start in range(0, len(texts), BATCH):
        part = slice(start, start + BATCH)
        names = [str(number) for number in range(start, min(start + BATCH, len(texts)))]
        collection.add(ids=names, embeddings=vectors[part], documents=texts[part].tolist())

    def search(number: int) -> Sequence[int]:
        found = collection.query(query_embeddings=[questions[number]], n_results=FOUND)
        return [int(name) for name in found["ids"][0]]

    return search


def txtai(corpus: Any, *, hybrid: bool) -> Search:  # noqa: ANN401 - arrays of numpy's file
    """Return a search by txtai in process, by vectors alone or with BM25."""
    library: Any = import_module("txtai")
    texts, questions = corpus["texts"].tolist(), corpus["questions"].tolist()
    known = dict(zip([*texts, *questions], [*corpus["vectors"], *corpus["question_vectors"]], strict=True))

    def transform(wanted: Sequence[str]) -> object:
        return np.array([known[text] for text in wanted], np.float32)

    index = library.Embeddings({"method": "external", "transform": transform, "hybrid": hybrid})
    index.index((number, text, None) for number, text in enumerate(texts))
    return lambda number: [int(found) for found, _ in index.search(questions[number], FOUND)]


def main() -> None:
    """Fill all, and answer until standard input ends."""
    with np.load(sys.argv[1]) as file, tempfile.TemporaryDirectory() as directory:
        corpus = dict(file)
        systems = {
            "chroma": chroma(corpus, directory),
            "txtai": txtai(corpus, hybrid=False),
            "txtai hybrid": txtai(corpus, hybrid=True),
        }
        print("ready", flush=True)
        for line in sys.stdin:
            asked = json.loads(line)
            began_s = time.perf_counter()
            found = systems[asked["system"]](asked["question"])
            ms = (time.perf_counter() - began_s) * 1000
            print(json.dumps({"ms": ms, "found": list(found)}), flush=True)


if __name__ == "__main__":
    main()
