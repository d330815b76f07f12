"""The engine itself, on the fake backend."""

import asyncio
import logging
import subprocess
import sys
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from commonplace.core.errors import EmbeddingError, InvalidInputError
from commonplace.embedding import (
    BackendName,
    EmbeddingEngine,
    EmbeddingOptions,
    Weights,
    engine,
    fake_backend,
    get_embedding_engine,
)
from support.deadlines import DEADLINE_S

FAKE = EmbeddingOptions(backend=BackendName.FAKE)


@pytest.fixture
def fake() -> EmbeddingEngine:
    """Give an engine of its own to each test."""
    return EmbeddingEngine(FAKE)


@pytest.fixture
def no_singleton(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the test begin as a process does."""
    monkeypatch.setattr(engine, "_engine", None)


@pytest.mark.requirement("KNW-10.1")
@pytest.mark.parametrize("text", [None, "", "\x00"])
def test_nothing_is_embedded_as_a_space(fake: EmbeddingEngine, text: str | None) -> None:
    """None and texts that are empty, or become so by cleaning, have the vector of a single space."""
    assert fake.embed(text) == fake.embed(" ")


@pytest.mark.requirement("KNW-10.2")
def test_an_empty_list_gives_an_empty_list() -> None:
    """No texts, no vectors; the array keeps its width."""
    engine = EmbeddingEngine(FAKE)
    assert engine.embed_batch([]) == []
    assert engine.embed_array([]).shape == (0, 384)


@pytest.mark.requirement("KNW-10.1", "KNW-10.2")
@given(st.lists(st.none() | st.text(), max_size=8))
def test_a_batch_is_its_texts_in_order(texts: list[str | None]) -> None:
    """Each text, whatever characters it holds, gets 384 floats, and the same ones alone and in a batch."""
    engine = EmbeddingEngine(FAKE)
    vectors = engine.embed_batch(texts)
    assert vectors == [engine.embed(text) for text in texts]
    assert all(len(vector) == 384 and all(type(x) is float for x in vector) for vector in vectors)


def test_a_string_in_place_of_a_list_is_refused(fake: EmbeddingEngine) -> None:
    """A string is a sequence of strings too; embedding its letters would help nobody."""
    with pytest.raises(InvalidInputError, match="texts: expected a list of texts"):
        fake.embed_batch("hello")


@pytest.mark.requirement("KNW-10.3")
@pytest.mark.usefixtures("no_singleton")
def test_the_process_has_one_engine() -> None:
    """All callers get the same instance, also when many threads ask first at once."""
    barrier = threading.Barrier(8)

    def ask(_: int) -> EmbeddingEngine:
        barrier.wait(timeout=DEADLINE_S)
        return get_embedding_engine(FAKE)

    with ThreadPoolExecutor(max_workers=8) as pool:
        engines = set(pool.map(ask, range(8)))
    assert engines == {get_embedding_engine()}


@pytest.mark.requirement("KNW-10.3")
@pytest.mark.usefixtures("no_singleton")
def test_options_that_come_too_late_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    """The options of the first call hold; a caller who asks for others is not left in the dark."""
    first = get_embedding_engine(FAKE)
    assert get_embedding_engine(FAKE) is first
    assert not caplog.records
    assert get_embedding_engine(EmbeddingOptions(model="another/model")) is first
    assert "another/model" in caplog.text
    assert "is ignored" in caplog.text


@pytest.mark.requirement("KNW-10.3")
def test_an_engine_loads_at_its_first_use_and_once(caplog: pytest.LogCaptureFixture) -> None:
    """Creating loads nothing; eight threads that embed at once load one model."""
    caplog.set_level(logging.INFO, logger="commonplace.embedding")
    engine = EmbeddingEngine(FAKE)
    assert engine.dimensions == 384
    assert not caplog.records
    barrier = threading.Barrier(8)

    def embed(_: int) -> tuple[float, ...]:
        barrier.wait(timeout=DEADLINE_S)
        return tuple(engine.embed("hello"))

    with ThreadPoolExecutor(max_workers=8) as pool:
        assert len(set(pool.map(embed, range(8)))) == 1
    assert [record.message.split(",")[0] for record in caplog.records] == ["loaded embedding model fake"]


async def test_awaited_vectors_are_those_of_the_plain_call(fake: EmbeddingEngine) -> None:
    """The awaitables run the same functions."""
    assert await fake.embed_async("hello") == fake.embed("hello")
    assert await fake.embed_batch_async(["hello", None]) == fake.embed_batch(["hello", None])
    assert await fake.embed_query_async("hello") == fake.embed("hello")
    fake.close()


async def test_awaited_work_has_one_thread_of_the_engine(fake: EmbeddingEngine) -> None:
    """Many requests at once take turns on one thread, which ends when the engine is closed."""
    others = set(threading.enumerate())
    await asyncio.gather(*(fake.embed_async(f"text {i}") for i in range(20)))
    ours = [thread for thread in set(threading.enumerate()) - others if "embedding" in thread.name]
    assert len(ours) == 1
    fake.close()
    assert not ours[0].is_alive()


class GatedBackend(fake_backend.FakeBackend):
    """A backend that notes the texts of each run, begins only when the gate is open, and refuses one text."""

    def __init__(self) -> None:
        self.runs: list[list[str]] = []
        self.begun = threading.Event()
        self.gate = threading.Event()

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Note the texts, wait, and compute."""
        self.runs.append(list(texts))
        self.begun.set()
        assert self.gate.wait(DEADLINE_S)
        if "refused" in texts:
            raise EmbeddingError("refused")
        return super().encode(texts)


@pytest.fixture
def gated(monkeypatch: pytest.MonkeyPatch) -> GatedBackend:
    """Return a backend for the engine of the test."""
    backend = GatedBackend()
    monkeypatch.setattr(fake_backend, "load", lambda _options: backend)
    return backend


async def _wait_behind_a_run(
    fake: EmbeddingEngine, gated: GatedBackend, *texts: str
) -> list[asyncio.Task[list[float]]]:
    """Ask for texts while the thread of the engine computes another one."""
    first = asyncio.create_task(fake.embed_async("first"))
    assert await asyncio.to_thread(gated.begun.wait, DEADLINE_S)
    tasks = [first, *(asyncio.create_task(fake.embed_async(text)) for text in texts)]
    await asyncio.sleep(0)
    return tasks


async def test_texts_that_wait_are_computed_together(fake: EmbeddingEngine, gated: GatedBackend) -> None:
    """Ten texts wait for one run: eight share the next run, and each caller gets the vector of its own text."""
    waiting = [f"text {number}" for number in range(10)]
    tasks = await _wait_behind_a_run(fake, gated, *waiting)
    gated.gate.set()
    vectors = await asyncio.gather(*tasks)
    fake.close()
    assert gated.runs == [["first"], waiting[:8], waiting[8:]]
    assert vectors == [EmbeddingEngine(FAKE).embed(text) for text in ("first", *waiting)]


async def test_queries_with_weights_of_their_own_are_computed_apart(
    gated: GatedBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Queries that wait share a run with each other, and not with texts."""
    queries: list[list[str]] = []

    def encode_queries(texts: Sequence[str]) -> NDArray[np.float32]:
        queries.append(list(texts))
        return fake_backend.FakeBackend().encode(texts)

    monkeypatch.setattr(gated, "encode_queries", encode_queries)
    engine = EmbeddingEngine(EmbeddingOptions(backend=BackendName.FAKE, queries=Weights.INT8))
    tasks = await _wait_behind_a_run(engine, gated, "a text")
    tasks += [asyncio.create_task(engine.embed_query_async(f"query {number}")) for number in range(2)]
    await asyncio.sleep(0)
    gated.gate.set()
    await asyncio.gather(*tasks)
    engine.close()
    assert gated.runs == [["first"], ["a text"]]
    assert queries == [["query 0", "query 1"]]


async def test_a_text_that_fails_fails_alone(fake: EmbeddingEngine, gated: GatedBackend) -> None:
    """Of texts that wait together, one is refused and one is no longer wanted: the others get their vectors."""
    tasks = await _wait_behind_a_run(fake, gated, "one", "refused", "unwanted", "two")
    tasks[3].cancel()
    await asyncio.sleep(0)
    gated.gate.set()
    results = await asyncio.gather(*tasks, return_exceptions=True)
    fake.close()
    assert isinstance(results[2], EmbeddingError)
    assert isinstance(results[3], asyncio.CancelledError)
    assert [results[at] for at in (1, 4)] == [EmbeddingEngine(FAKE).embed(text) for text in ("one", "two")]
    assert not any("unwanted" in run for run in gated.runs)


async def test_a_closed_engine_begins_anew(fake: EmbeddingEngine) -> None:
    """Closing gives memory and thread back, so that the shared engine can be closed and still be used."""
    before = await fake.embed_async("hello")
    fake.close()
    fake.close()
    assert await fake.embed_async("hello") == before
    fake.close()


def test_name_and_version_say_what_made_a_vector(fake: EmbeddingEngine) -> None:
    """Both are known without embedding anything first."""
    assert (fake.model_name, fake.model_version) == ("fake", "1")


def test_a_backend_that_is_not_installed_says_how_to_get_it() -> None:
    """Asking for torch without the extra names the extra."""
    script = (
        "import sys; sys.modules['sentence_transformers'] = None\n"
        "from commonplace.embedding import *\n"
        "EmbeddingEngine(EmbeddingOptions(backend=BackendName.TORCH)).embed('x')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=DEADLINE_S
    )
    assert done.returncode == 1
    assert EmbeddingError.__name__ in done.stderr
    assert "pip install 'commonplace[torch]'" in done.stderr


def test_importing_the_package_imports_no_numerical_library() -> None:
    """A command that embeds nothing does not wait for them."""
    heavy = {"numpy", "onnx", "onnxruntime", "tokenizers", "huggingface_hub", "safetensors", "torch"}
    script = f"import sys, commonplace.embedding; print(sorted({heavy!r} & set(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=DEADLINE_S
    )
    assert done.stdout.strip() == "[]"
