"""Measure the cost of the embedding engine beyond the libraries under it.

Each round runs the same texts twice, in turn. The engine cleans, cuts, groups, tokenises, runs, pools, scales, and
makes lists of floats. The bare reference is ``encode_batch`` of the tokenizer and one ``run`` of the same graph on as
many threads, without pooling. The ratio is that of the medians, and its limit is 1.10. It falls below 1 for texts of
different lengths, because the engine groups them by length and the bare call pads all texts to the longest. It also
falls below 1 for a query with weights of 8 bits, which the bare call does not have.

    python benchmarks/embedding.py [--rounds N] [--json]
"""

import argparse
import asyncio
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import Progress
from rich.table import Table
from tokenizers import Tokenizer

from commonplace.core.errors import EmbeddingError
from commonplace.embedding import EmbeddingEngine, EmbeddingOptions, Weights
from commonplace.embedding.model_files import find_model
from commonplace.embedding.onnx_backend import SPINNING
from commonplace.embedding.quiet_runtime import onnxruntime

THREADS = 2
QUERY = "where does Alice work right now?"
SENTENCE = (
    "The gateway restarts when its health check fails three times in a row, so look at the queue first. "
)
CASES: dict[str, list[str]] = {
    "one query, 6 words": [QUERY],
    "one paragraph, 95 words": [SENTENCE * 5],
    "one text over 256 tokens": [SENTENCE * 40],
    "32 sentences": [f"{number}. {SENTENCE}" for number in range(32)],
    "32 texts of 19 to 152 words": [SENTENCE * (1 + number % 8) for number in range(32)],
}


def main() -> None:
    """Measure every case and print a table, or one JSON document."""
    parser = argparse.ArgumentParser(description="Measure the embedding engine against the bare runtime.")
    parser.add_argument("--rounds", type=int, default=40, help="runs of each case and side (default: 40)")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as cache_dir:
        options = EmbeddingOptions(cache_dir=Path(cache_dir), threads=THREADS)
        loads_ms = [_load_ms(options), _load_ms(options)]
        bare = _bare(options)
        rows = _measure(EmbeddingEngine(options), bare, arguments.rounds)
        rows.append(_measure_int8(options, bare, arguments.rounds))
    if arguments.json:
        document = {"threads": THREADS, "rounds": arguments.rounds, "load_ms": loads_ms, "cases": rows}
        print(json.dumps(document, indent=2))
    else:
        _print_table(rows, loads_ms)


def _load_ms(options: EmbeddingOptions) -> float:
    """Return the time from a new engine to its first vector; the first engine also builds the graph."""
    began_s = time.perf_counter()
    EmbeddingEngine(options).embed("first")
    return round((time.perf_counter() - began_s) * 1000, 1)


def _bare(options: EmbeddingOptions) -> Callable[[list[str]], Any]:
    """Return a function that tokenises and runs the network, and does nothing else."""
    (graph,) = (options.cache_dir or Path()).glob("graphs/*.onnx")
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = THREADS
    for name, value in SPINNING.items():
        settings.add_session_config_entry(name, value)
    session = onnxruntime.InferenceSession(str(graph), settings, providers=["CPUExecutionProvider"])
    tokenizer = Tokenizer.from_file(str(find_model(options).tokenizer))
    tokenizer.enable_truncation(max_length=256)
    tokenizer.enable_padding()

    def run(texts: list[str]) -> Any:  # noqa: ANN401  onnxruntime ships no types
        encodings = tokenizer.encode_batch(texts)
        ids = np.array([encoding.ids for encoding in encodings], dtype=np.int64)
        mask = np.array([encoding.attention_mask for encoding in encodings], dtype=np.int64)
        return session.run(None, {"input_ids": ids, "attention_mask": mask})

    return run


def _measure(engine: EmbeddingEngine, bare: Callable[[list[str]], Any], rounds: int) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("embedding", total=len(CASES) * rounds)
        for name, texts in CASES.items():
            ours_ms: list[float] = []
            bare_ms: list[float] = []
            _through_engine(engine, texts)
            bare(texts)
            for _ in range(rounds):
                ours_ms.append(_timed_ms(lambda texts=texts: _through_engine(engine, texts)))
                bare_ms.append(_timed_ms(lambda texts=texts: bare(texts)))
                progress.advance(task)
            rows.append(_row(name, len(texts), ours_ms, bare_ms))
    return rows


def _measure_int8(options: EmbeddingOptions, bare: Callable[[list[str]], Any], rounds: int) -> dict[str, Any]:
    """Measure a query with weights of 8 bits. It takes the way of queries, over the thread of the engine."""
    engine = EmbeddingEngine(replace(options, queries=Weights.INT8))
    ours_ms: list[float] = []
    bare_ms: list[float] = []
    with asyncio.Runner() as runner:
        runner.run(engine.embed_query_async(QUERY))
        for _ in range(rounds):
            ours_ms.append(_timed_ms(lambda: runner.run(engine.embed_query_async(QUERY))))
            bare_ms.append(_timed_ms(lambda: bare([QUERY])))
    engine.close()
    return _row("one query, weights of 8 bits", 1, ours_ms, bare_ms)


def _through_engine(engine: EmbeddingEngine, texts: list[str]) -> list[list[float]]:
    return engine.embed_batch(texts) if len(texts) > 1 else [engine.embed(texts[0])]


def _timed_ms(function: Callable[[], object]) -> float:
    began_s = time.perf_counter()
    function()
    return (time.perf_counter() - began_s) * 1000


def _row(name: str, count: int, ours_ms: list[float], bare_ms: list[float]) -> dict[str, Any]:
    ours, bare = statistics.median(ours_ms), statistics.median(bare_ms)
    return {
        "case": name,
        "engine_ms": round(ours, 2),
        "engine_p95_ms": round(float(np.percentile(ours_ms, 95)), 2),
        "bare_ms": round(bare, 2),
        "ratio": round(ours / bare, 3),
        "texts_per_s": round(count / ours * 1000, 1),
    }


def _print_table(rows: list[dict[str, Any]], loads_ms: list[float]) -> None:
    table = Table(
        title=f"Embedding on {THREADS} threads",
        caption=f"first vector of an engine: {loads_ms[0]} ms with building the graph, {loads_ms[1]} ms after",
    )
    table.add_column("case")
    for column in ("engine ms", "p95 ms", "bare ms", "ratio", "texts/s"):
        table.add_column(column, justify="right")
    for row in rows:
        figures = (row["engine_ms"], row["engine_p95_ms"], row["bare_ms"], row["ratio"], row["texts_per_s"])
        table.add_row(row["case"], *(str(figure) for figure in figures))
    Console().print(table)


if __name__ == "__main__":
    try:
        main()
    except EmbeddingError as error:
        sys.exit(f"embedding benchmark: {error}")
