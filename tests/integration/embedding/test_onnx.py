"""Loading on ONNX Runtime: graphs are built, cached, shared and mended. The model is a small one with real parts."""

import json
import logging
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file
from tokenizers import Tokenizer
from tokenizers.models import WordPiece
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer
from tokenizers.processors import TemplateProcessing

from commonplace.core.errors import ModelDamagedError
from commonplace.embedding import EmbeddingEngine, EmbeddingOptions, Weights
from commonplace.embedding.onnx_graph import build_graph
from support.deadlines import DEADLINE_S

VOCABULARY = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "the", "queue", "is", "full"]
SIZE, INNER, POSITIONS = 384, 16, 32
CONFIG = {
    "model_type": "bert",
    "hidden_act": "gelu",
    "hidden_size": SIZE,
    "intermediate_size": INNER,
    "layer_norm_eps": 1e-12,
    "max_position_embeddings": POSITIONS,
    "num_attention_heads": 12,
    "num_hidden_layers": 1,
    "vocab_size": len(VOCABULARY),
}
LAYER = "encoder.layer.0"
SHAPES: dict[str, tuple[int, ...]] = {
    "embeddings.word_embeddings.weight": (len(VOCABULARY), SIZE),
    "embeddings.position_embeddings.weight": (POSITIONS, SIZE),
    "embeddings.token_type_embeddings.weight": (2, SIZE),
    f"{LAYER}.attention.self.query.weight": (SIZE, SIZE),
    f"{LAYER}.attention.self.key.weight": (SIZE, SIZE),
    f"{LAYER}.attention.self.value.weight": (SIZE, SIZE),
    f"{LAYER}.attention.output.dense.weight": (SIZE, SIZE),
    f"{LAYER}.intermediate.dense.weight": (INNER, SIZE),
    f"{LAYER}.output.dense.weight": (SIZE, INNER),
    **{
        f"{name}.{part}": (SIZE,)
        for name in (
            "embeddings.LayerNorm",
            f"{LAYER}.attention.output.LayerNorm",
            f"{LAYER}.output.LayerNorm",
        )
        for part in ("weight", "bias")
    },
    **{f"{LAYER}.attention.{name}.bias": (SIZE,) for name in ("self.query", "self.key", "self.value")},
    f"{LAYER}.attention.output.dense.bias": (SIZE,),
    f"{LAYER}.intermediate.dense.bias": (INNER,),
    f"{LAYER}.output.dense.bias": (SIZE,),
}


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """Write a BERT of one layer and eight words, with random weights."""
    directory = tmp_path / "model"
    directory.mkdir()
    random = np.random.default_rng(0)
    tensors = {name: random.normal(0, 0.1, shape).astype(np.float32) for name, shape in SHAPES.items()}
    save_file(tensors, directory / "model.safetensors")
    (directory / "config.json").write_text(json.dumps(CONFIG))
    (directory / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": POSITIONS}))
    ids = {word: number for number, word in enumerate(VOCABULARY)}
    tokenizer = Tokenizer(WordPiece(ids, unk_token="[UNK]"))
    tokenizer.normalizer = BertNormalizer()
    tokenizer.pre_tokenizer = BertPreTokenizer()
    special = [(word, ids[word]) for word in ("[CLS]", "[SEP]")]
    tokenizer.post_processor = TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=special)
    tokenizer.save(str(directory / "tokenizer.json"))
    return directory


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    """Name a cache directory that is not there yet."""
    return tmp_path / "cache"


def _engine(model: Path, cache_dir: Path | None) -> EmbeddingEngine:
    return EmbeddingEngine(EmbeddingOptions(model=str(model), cache_dir=cache_dir))


def _graph(cache: Path) -> Path:
    (graph,) = (cache / "graphs").glob("*.onnx")
    return graph


def test_a_graph_is_built_once_and_named_by_its_weights(model: Path, cache: Path) -> None:
    """The second engine takes the file of the first, and other weights get another."""
    first = _engine(model, cache)
    vector = first.embed("the queue")
    graph = _graph(cache)
    assert first.model_version in graph.name
    written = graph.stat().st_mtime_ns
    assert _engine(model, cache).embed("the queue") == vector
    assert graph.stat().st_mtime_ns == written
    tensors = load_file(model / "model.safetensors")
    save_file({name: -tensor for name, tensor in tensors.items()}, model / "model.safetensors")
    assert _engine(model, cache).embed("the queue") != vector
    assert len(list((cache / "graphs").glob("*.onnx"))) == 2


def test_without_a_cache_directory_nothing_is_written(model: Path, cache: Path, tmp_path: Path) -> None:
    """The graph is built in memory and gives the same vectors."""
    vector = _engine(model, None).embed("the queue")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model"]
    assert vector == _engine(model, cache).embed("the queue")


def test_a_ready_graph_is_used_as_it_is(model: Path, cache: Path) -> None:
    """A directory with onnx/model.onnx and no safetensors needs no building."""
    vector = _engine(model, None).embed("the queue is full")
    (model / "onnx").mkdir()
    (model / "onnx" / "model.onnx").write_bytes(build_graph(model / "model.safetensors"))
    (model / "model.safetensors").unlink()
    assert _engine(model, cache).embed("the queue is full") == vector
    assert not cache.exists()


async def test_a_ready_graph_computes_queries_with_its_own_weights(model: Path) -> None:
    """It has no weights of 8 bits."""
    (model / "onnx").mkdir()
    (model / "onnx" / "model.onnx").write_bytes(build_graph(model / "model.safetensors"))
    (model / "model.safetensors").unlink()
    engine = EmbeddingEngine(EmbeddingOptions(model=str(model), queries=Weights.INT8))
    assert await engine.embed_query_async("the queue") == engine.embed("the queue")
    engine.close()


async def test_weights_are_opened_at_their_first_use(model: Path, cache: Path) -> None:
    """A process that only searches needs neither the memory nor the graph of the weights for texts.

    A matrix whose rows do not fill a block has its graph of 8 bits, too.
    """
    engine = EmbeddingEngine(EmbeddingOptions(model=str(model), cache_dir=cache, queries=Weights.INT8))
    vector = np.array(await engine.embed_query_async("the queue is full"))
    assert engine.model_version
    assert [path.name[-10:] for path in (cache / "graphs").glob("*.onnx")] == ["-int8.onnx"]
    assert vector @ engine.embed("the queue is full") > 0.99
    engine.close()
    assert len(list((cache / "graphs").glob("*.onnx"))) == 2


def test_a_text_is_cut_where_the_model_says(model: Path) -> None:
    """``max_seq_length`` counts the two special tokens: 30 words are read of any longer text."""
    engine = _engine(model, None)
    assert engine.embed("the " * 31) == engine.embed("the " * 30) == engine.embed("the " * 500)
    assert engine.embed("the " * 29) != engine.embed("the " * 30)


@pytest.mark.parametrize("damage", [lambda _: b"", lambda b: b[: len(b) // 2], lambda _: b"no graph"])
def test_a_damaged_graph_in_the_cache_is_rebuilt(
    model: Path, cache: Path, caplog: pytest.LogCaptureFixture, damage: Callable[[bytes], bytes]
) -> None:
    """Nobody has to delete a file by hand; the log says that it happened."""
    vector = _engine(model, cache).embed("the queue")
    graph = _graph(cache)
    whole = graph.read_bytes()
    graph.write_bytes(damage(whole))
    caplog.set_level(logging.WARNING)
    assert _engine(model, cache).embed("the queue") == vector
    assert graph.read_bytes() == whole
    assert "damaged and is rebuilt" in caplog.text


def _truncate_weights(model: Path) -> None:
    path = model / "model.safetensors"
    os.truncate(path, path.stat().st_size // 2)


def _reshape_weights(model: Path) -> None:
    tensors = load_file(model / "model.safetensors")
    name = f"{LAYER}.output.dense.weight"
    save_file({**tensors, name: np.ascontiguousarray(tensors[name].T)}, model / "model.safetensors")


def _drop_weights(model: Path) -> None:
    tensors = load_file(model / "model.safetensors")
    del tensors["embeddings.LayerNorm.bias"]
    save_file(tensors, model / "model.safetensors")


def _other_network(model: Path) -> None:
    (model / "config.json").write_text(json.dumps({**CONFIG, "hidden_size": 768}))


def _wrong_heads(model: Path) -> None:
    (model / "config.json").write_text(json.dumps({**CONFIG, "num_attention_heads": 7}))


def _no_config(model: Path) -> None:
    (model / "config.json").unlink()


def _broken_tokenizer(model: Path) -> None:
    (model / "tokenizer.json").write_text('{"version": "1.0", ')


def _tokenizer_without_padding(model: Path) -> None:
    tokenizer = Tokenizer(WordPiece({"[UNK]": 0}, unk_token="[UNK]"))
    tokenizer.save(str(model / "tokenizer.json"))


def _broken_length(model: Path) -> None:
    (model / "sentence_bert_config.json").write_text('{"max_seq_length": "many"}')


def _other_pooling(model: Path) -> None:
    (model / "1_Pooling").mkdir()
    (model / "1_Pooling" / "config.json").write_text('{"pooling_mode_mean_tokens": false}')


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (_truncate_weights, r"model\.safetensors cannot be read"),
        (_reshape_weights, r"expected the tensor .*output\.dense\.weight as \(384, 16\), found \(16, 384\)"),
        (_drop_weights, r"expected the tensor embeddings\.LayerNorm\.bias as \(384,\), found none"),
        (_other_network, r"config\.json does not describe a BERT model of 384 dimensions"),
        (_wrong_heads, "cannot be run"),
        (_no_config, r"config\.json does not describe a BERT model"),
        (_broken_tokenizer, r"tokenizer\.json is not a tokenizer"),
        (_tokenizer_without_padding, r"no token \[PAD\]"),
        (_broken_length, r"sentence_bert_config\.json is damaged"),
        (_other_pooling, "does not pool its tokens by their mean"),
    ],
)
@pytest.mark.parametrize("cached", [True, False])
def test_a_damaged_model_is_named(
    model: Path, cache: Path, damage: Callable[[Path], None], message: str, *, cached: bool
) -> None:
    """The error says which file, what was expected and what was found; no vector is made up."""
    damage(model)
    with pytest.raises(ModelDamagedError, match=message):
        _engine(model, cache if cached else None).embed("the queue")


def test_a_damaged_ready_graph_is_named(model: Path, cache: Path) -> None:
    """It is not ours to mend."""
    (model / "model.safetensors").unlink()
    (model / "onnx").mkdir()
    (model / "onnx" / "model.onnx").write_bytes(b"no graph")
    with pytest.raises(ModelDamagedError, match=r"model\.onnx cannot be run"):
        _engine(model, cache).embed("the queue")


def test_loading_is_tried_again_after_an_error(model: Path, cache: Path) -> None:
    """An engine that could not load is not broken for good."""
    engine = _engine(model, cache)
    tokenizer = (model / "tokenizer.json").read_bytes()
    _broken_tokenizer(model)
    with pytest.raises(ModelDamagedError):
        engine.embed("the queue")
    (model / "tokenizer.json").write_bytes(tokenizer)
    assert len(engine.embed("the queue")) == 384


def test_processes_that_start_together_share_one_graph(model: Path, cache: Path) -> None:
    """Four processes on an empty cache: the same vectors, one graph, nothing half written."""
    script = (
        "import sys; from pathlib import Path; from commonplace.embedding import *\n"
        "model, cache = sys.argv[1:]\n"
        "engine = EmbeddingEngine(EmbeddingOptions(model=model, cache_dir=Path(cache)))\n"
        "print(engine.embed('the queue is full'))\n"
    )
    command = [sys.executable, "-c", script, str(model), str(cache)]
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    printed = {process.communicate(timeout=DEADLINE_S)[0] for process in processes}
    assert [process.returncode for process in processes] == [0, 0, 0, 0]
    assert len(printed) == 1
    assert _graph(cache).read_bytes() == build_graph(model / "model.safetensors")
    assert not list(cache.rglob("*.partial"))


def test_the_runtime_reports_to_nobody(tmp_path: Path) -> None:
    """Its telemetry would leave an id of this machine in the temporary directory."""
    script = "from commonplace.embedding import EmbeddingEngine; EmbeddingEngine().embed('x')"
    environment = {name: value for name, value in os.environ.items() if name != "ORT_DISABLE_TELEMETRY"}
    subprocess.run(
        [sys.executable, "-c", script],
        env=environment | {"TMPDIR": str(tmp_path)},
        check=True,
        timeout=DEADLINE_S,
    )
    assert list(tmp_path.iterdir()) == []
