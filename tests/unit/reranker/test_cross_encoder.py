"""A cross-encoder of the hub in place of the learned network."""

import json
import logging
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
from safetensors.numpy import load_file, save_file

from commonplace.core.errors import EmbeddingError, ModelDamagedError, ModelMissingError, SettingsError
from commonplace.core.settings import Settings, load_settings
from commonplace.embedding import EmbeddingOptions
from commonplace.embedding.onnx_graph import read_config
from commonplace.knowledge.model.config import MemoryModuleConfig
from commonplace.reranker import Reranker, reranker, reranker_of
from commonplace.reranker.cross_encoder import MOST_ODDS, CrossEncoder, open_cross_encoder
from commonplace.reranker.cross_graph import CrossEncoderConfig, build_cross_graph
from support.cross_encoders import (
    CONFIG,
    POSITIONS,
    VOCABULARY,
    reference_score,
    save_tokenizer,
    write_cross_encoder,
)
from support.deadlines import DEADLINE_S

NAME = "cross-encoder/ms-marco-MiniLM-L-6-v2"
PROMPT = "is the queue full"
MEMORIES = ["queue : restart it", "the queue", "full : the queue is full"]


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """Write a cross-encoder with random weights."""
    return write_cross_encoder(tmp_path / "cross" / "encoder")


def open_model(model: Path | str, cache_dir: Path | None = None) -> CrossEncoder:
    """Open the cross-encoder of a directory, or of a name."""
    return open_cross_encoder(EmbeddingOptions(model=str(model), cache_dir=cache_dir))


def ids_of(text: str) -> list[int]:
    """Return the tokens of a text of known words."""
    return [VOCABULARY.index(word) for word in text.split()]


def references(model: Path, memories: list[str]) -> list[float]:
    """Return the score of each memory, computed with numpy."""
    scores: list[float] = []
    for memory in memories:
        one, other = [2, *ids_of(PROMPT), 3], [*ids_of(memory), 3]
        scores.append(reference_score(model, one + other, [0] * len(one) + [1] * len(other)))
    return scores


@pytest.mark.requirement("SHW-09.1")
def test_the_score_is_that_of_bert(model: Path) -> None:
    """With the exact weights and a padded batch, as numpy computes it; the first segment is the prompt's."""
    weights = model / "model.safetensors"
    graph = build_cross_graph(weights, read_config(weights, CrossEncoderConfig), int8=False)
    session = onnxruntime.InferenceSession(graph, providers=["CPUExecutionProvider"])
    inputs = open_model(model).inputs([(PROMPT, memory) for memory in MEMORIES])
    shape = (len(MEMORIES), max(len(each.ids) for each in inputs) + 2)
    arrays = {name: np.zeros(shape, dtype=np.int64) for name in ("input_ids", "roles", "attention_mask")}
    for row, (ids, roles) in enumerate(inputs):
        arrays["input_ids"][row, : len(ids)] = ids
        arrays["roles"][row, : len(ids)] = roles
        arrays["attention_mask"][row, : len(ids)] = 1
    scores = np.asarray(session.run(None, arrays)[0])
    assert scores[:, 0] == pytest.approx(references(model, MEMORIES), abs=1e-5)


@pytest.mark.requirement("SHW-09.1")
def test_weights_of_8_bits_say_nearly_the_same(model: Path) -> None:
    """For a memory alone and in a batch, in the order of the memories."""
    network, expected = open_model(model), references(model, MEMORIES)
    assert max(expected) - min(expected) > 0.3
    assert network.odds(PROMPT, MEMORIES) == pytest.approx(expected, abs=0.1)
    assert network.odds(PROMPT, MEMORIES[::-1]) == pytest.approx(expected[::-1], abs=0.1)
    assert network.odds(PROMPT, []) == []


@pytest.mark.requirement("SHW-09.1")
def test_it_is_found_where_embedding_models_are(tmp_path: Path) -> None:
    """Under its name among the models of the home."""
    write_cross_encoder(tmp_path / "models" / NAME.replace("/", "--"), score=1.5)
    encoder = reranker_of(Settings(home=tmp_path, reranker=NAME))
    assert encoder is not None
    assert encoder.odds("restart\n it", ["it is full"]) == pytest.approx([1.5], abs=0.02)
    assert encoder.odds_alone


@pytest.mark.requirement("SHW-09.1")
def test_a_long_memory_is_cut_and_a_long_prompt_keeps_both_ends(model: Path) -> None:
    """A pair has no more tokens than the model has positions."""
    network = open_model(model)
    (short,) = network.inputs([("the queue", "is " * 500)])
    assert short.ids == [2, 4, 5, 3, *[6] * (POSITIONS - 5), 3]
    assert short.roles == [0] * 4 + [1] * (POSITIONS - 4)
    (long,) = network.inputs([(f"restart {'the ' * 500} full", "queue " * 500)])
    assert len(long.ids) == len(long.roles) == POSITIONS
    half = (POSITIONS - 3) // 2
    assert long.ids[1 : half + 1] == [8, *[4] * (half - 2), 7]
    assert all(map(np.isfinite, network.odds("the " * 5_000, ["queue " * 5_000])))


@pytest.mark.requirement("SHW-09.1")
@pytest.mark.parametrize(("score", "odds"), [(1e6, MOST_ODDS), (-1e6, -MOST_ODDS)])
def test_a_score_beyond_all_odds_is_bounded(tmp_path: Path, score: float, odds: float) -> None:
    """Its probability can be computed."""
    assert open_model(write_cross_encoder(tmp_path / "model", score=score)).odds("it", ["is"]) == [odds]


def _other_architecture(model: Path) -> None:
    (model / "config.json").write_text(json.dumps({**CONFIG, "architectures": ["BertModel"]}))


def _other_network(model: Path) -> None:
    (model / "config.json").write_text(json.dumps({**CONFIG, "model_type": "roberta"}))


def _no_config(model: Path) -> None:
    (model / "config.json").unlink()


def _wrong_heads(model: Path) -> None:
    (model / "config.json").write_text(json.dumps({**CONFIG, "num_attention_heads": 7}))


def _three_outputs(model: Path) -> None:
    write_cross_encoder(model, outputs=3)


def _truncated(model: Path) -> None:
    path = model / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-100])


def _no_pooler(model: Path) -> None:
    tensors = load_file(model / "model.safetensors")
    del tensors["bert.pooler.dense.weight"]
    save_file(tensors, model / "model.safetensors")


def _no_numbers(model: Path) -> None:
    write_cross_encoder(model, score=float("nan"))


def _broken_tokenizer(model: Path) -> None:
    (model / "tokenizer.json").write_text("{")


def _other_tokenizer(model: Path) -> None:
    save_tokenizer(model, ["[PAD]", "[UNK]", "<s>", "</s>"])


def _more_words(model: Path) -> None:
    save_tokenizer(model, [*VOCABULARY, "more"])


@pytest.mark.requirement("SHW-09.2")
@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (_other_architecture, r"config\.json does not describe a BERT cross-encoder"),
        (_other_network, r"config\.json does not describe a BERT cross-encoder"),
        (_no_config, r"config\.json does not describe a BERT cross-encoder"),
        (_wrong_heads, "encoder: a network over pairs of texts cannot be opened: "),
        (_three_outputs, "expected a cross-encoder with one output, found 3 outputs"),
        (_truncated, r"model\.safetensors cannot be read"),
        (_no_pooler, r"expected the tensor pooler\.dense\.weight as \(32, 32\), found none"),
        (_no_numbers, r"model\.safetensors: expected a number as the score of a pair, got nan"),
        (_broken_tokenizer, "encoder: a network over pairs of texts cannot be opened: "),
        (_other_tokenizer, r"tokenizer\.json is not the tokenizer of a BERT model: it has no token \[CLS\]"),
        (_more_words, r"tokenizer\.json: expected at most 11 tokens as in config\.json, found 12"),
    ],
)
def test_a_model_of_another_form_is_named(model: Path, damage: Callable[[Path], None], message: str) -> None:
    """The error says what was expected and what was found."""
    damage(model)
    with pytest.raises(ModelDamagedError, match=message):
        open_model(model)


@pytest.mark.requirement("SHW-09.2")
def test_a_missing_model_says_how_to_get_it(tmp_path: Path) -> None:
    """As for embedding models; a graph alone is not enough."""
    with pytest.raises(ModelMissingError, match=f'the reranker "{NAME}" is not on this machine') as failure:
        open_model(NAME, tmp_path)
    assert "COMMONPLACE_EMBEDDING_DOWNLOAD=true" in str(failure.value)
    with pytest.raises(ModelMissingError, match="contains no reranker"):
        open_model(tmp_path)
    model = write_cross_encoder(tmp_path / "model")
    (model / "onnx").mkdir()
    (model / "model.safetensors").rename(model / "onnx" / "model.onnx")
    with pytest.raises(ModelMissingError, match=r"expected model\.safetensors"):
        open_model(model)


@pytest.mark.requirement("SHW-09.2")
def test_a_model_that_cannot_be_opened_is_tried_once_and_logged_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Prompts wait for no further try."""
    tries: list[int] = []

    def fails() -> CrossEncoder:
        tries.append(1)
        raise ModelDamagedError("no weights")

    broken = Reranker(fails)
    with caplog.at_level(logging.WARNING):
        assert not any(broken.prepare() for _ in range(5))
    assert len(tries) == 1
    assert caplog.text.count("no weights") == 1


@pytest.mark.requirement("SHW-09.2")
def test_a_prompt_does_not_wait_for_a_download(model: Path) -> None:
    """A network that another thread is still opening is not used yet."""
    begun, end = threading.Event(), threading.Event()

    def opens() -> CrossEncoder:
        begun.set()
        assert end.wait(DEADLINE_S)
        return open_model(model)

    slow = Reranker(opens, patience_s=0.01)
    first = threading.Thread(target=slow.prepare)
    first.start()
    assert begun.wait(DEADLINE_S)
    began = time.monotonic()
    assert not slow.prepare()
    assert time.monotonic() - began < DEADLINE_S
    end.set()
    first.join(DEADLINE_S)
    assert slow.prepare()


@pytest.mark.requirement("SHW-09.3")
def test_the_setting_names_the_reranker(tmp_path: Path) -> None:
    """The learned network, none, or a model, which is opened once in a process."""
    assert reranker_of(Settings()) is reranker
    off = Settings(reranker="off")
    assert reranker_of(off) is None
    assert not MemoryModuleConfig.of(off).retrieval.reranks
    settings = Settings(home=tmp_path, reranker=NAME)
    assert MemoryModuleConfig.of(settings).retrieval.reranks
    first = reranker_of(settings)
    assert first is not None
    assert first is reranker_of(Settings(home=tmp_path, reranker=NAME))
    assert first is not reranker_of(Settings(home=tmp_path, reranker=NAME, embedding_download=True))
    with pytest.raises(EmbeddingError):
        first.odds("prompt", ["memory"])


@pytest.mark.requirement("SHW-09.3")
def test_another_word_is_refused() -> None:
    """A slip must not become the name of a model."""
    expected = "expected learned, off, or a cross-encoder such as cross-encoder/ms-marco-MiniLM-L-6-v2, got"
    with pytest.raises(SettingsError, match=f'{expected} "of"'):
        load_settings(read_current_directory=False, environ={"COMMONPLACE_RERANKER": "of"})
