"""The judge's network: what the file was made from, and what it says."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from safetensors import safe_open

from commonplace.core.errors import ModelDamagedError, ModelMissingError
from commonplace.embedding.backend import EmbeddingOptions
from commonplace.embedding.model_files import ModelFiles, find_model
from commonplace.judge import Judge, Verdict
from commonplace.judge.inputs import MOST_TOKENS, pair_input, with_amounts
from commonplace.judge.network import NETWORK, PairNetwork, open_network
from commonplace.judge.pair_graph import build_pair_graph
from commonplace.judge.pair_session import BATCH
from corpus import KEPT, LABELS, SET_ASIDE, learned_authors, read_pairs
from recipe import figures, recipe

MOST_BYTES = 12 << 20


def _carried() -> dict[str, object]:
    with safe_open(NETWORK, framework="numpy") as file:
        return json.loads(file.metadata()["recipe"])


@pytest.mark.requirement("JDG-06", "JDG-06.1")
def test_the_network_was_made_from_this_repository() -> None:
    """From its pairs, by its code: ``python training/judge/fit.py`` makes it again."""
    carried = _carried()
    assert {name: carried[name] for name in recipe()} == recipe()
    assert NETWORK.stat().st_size <= MOST_BYTES


@pytest.mark.requirement("JDG-06.1")
def test_nothing_is_learned_from_authors_who_measure() -> None:
    """Nor from those whose pairs choose thresholds."""
    learned = learned_authors()
    assert SET_ASIDE.isdisjoint(KEPT)
    assert (SET_ASIDE | KEPT).isdisjoint(learned)
    assert all(read_pairs([author]) for author in (*learned, *KEPT))


@pytest.mark.requirement("JDG-06", "JDG-06.1")
def test_the_kept_pairs_get_the_figures_that_the_file_carries() -> None:
    """Weights of 8 bits say nearly what the trained weights said."""
    pairs = read_pairs(KEPT)
    chances = open_network().chances([(pair.old, pair.new) for pair in pairs])
    assert figures(chances, [pair.label for pair in pairs]) == pytest.approx(_carried()["kept"], abs=0.02)


@pytest.mark.requirement("JDG-06.2")
def test_a_pair_has_one_verdict_whatever_is_judged_beside_it() -> None:
    """The chances of a pair depend neither on the batch nor on the process."""
    pairs = [(pair.old, pair.new) for pair in read_pairs(["en-parent"])[: 3 * BATCH]]
    together = open_network().chances(pairs)
    graph = build_pair_graph(*_weights())
    alone = PairNetwork(graph, _tokenizer())
    assert np.allclose(np.vstack([alone.chances([pair]) for pair in pairs[:8]]), together[:8], atol=2e-3)
    assert np.allclose(together.sum(axis=1), 1.0, atol=1e-5)
    assert together.shape == (len(pairs), len(LABELS))
    assert open_network().chances([]).shape == (0, len(LABELS))


@pytest.mark.requirement("JDG-06.2")
def test_the_network_is_opened_when_it_is_needed() -> None:
    """Importing the package, and comparing equal texts, loads no runtime."""
    code = (
        "import sys; from commonplace.judge import judge; judge.compare('a  b', 'A b');"
        "print('onnxruntime' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


@pytest.mark.requirement("JDG-06.2")
@pytest.mark.parametrize("error", [ModelMissingError("no weights"), ModelDamagedError("half a file")])
def test_without_weights_texts_are_compared_word_for_word(
    error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    """A lesson is stored all the same, and the log says why it repeats nothing."""

    def fails() -> PairNetwork:
        raise error

    alone = Judge(fails)
    assert alone.compare("Takes 60s", "takes  60s").verdict is Verdict.SAME
    assert alone.compare("Takes 60s", "Takes 90s").verdict is Verdict.DISTINCT
    assert str(error) in caplog.text


@pytest.mark.requirement("JDG-06.2")
def test_half_a_file_is_an_error(tmp_path: Path) -> None:
    """It names what to do."""
    half = tmp_path / "network.safetensors"
    half.write_bytes(NETWORK.read_bytes()[:100_000])
    with pytest.raises(ModelDamagedError, match="reinstall"):
        build_pair_graph(_weights()[0], half)


@pytest.mark.requirement("JDG-06.2")
@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("Takes 60s", "Takes a minute and a half", ("Takes 60s = 60 duration", "90 duration, other")),
        ("invoice run at 18:30", "starts 6:30 pm", ("1110 time of day", "1110 time of day, equal")),
        ("at least 8 GB", "8 GB or more", ("= at least 8.58993e+09 size", ", equal")),
        ("Needs Redis", "Needs 3 hosts", ("Needs Redis", "Needs 3 hosts = 3")),
        ("Runs 22.4.1", "Runs 20", ("22.4.1", "20, other")),
    ],
)
def test_the_network_reads_amounts_in_base_units(old: str, new: str, told: tuple[str, str]) -> None:
    """With whether they agree, because it cannot count."""
    ends = with_amounts(old, new)
    assert all(each.endswith(end) for each, end in zip(ends, told, strict=True))


@pytest.mark.requirement("JDG-06.2")
def test_a_long_pair_loses_the_end_of_the_longer_text() -> None:
    """The shorter one stays whole."""
    ids, roles = pair_input(range(1_000, 1_300), [1_000, 5])
    assert (len(ids), len(roles)) == (MOST_TOKENS, MOST_TOKENS)
    assert ids[-4:] == [102, 1_000, 5, 102]
    assert roles[:3] == [0, 0, 2]
    assert roles[-4:] == [0, 1, 3, 1]


def _weights() -> tuple[Path, Path]:
    return _files().weights, NETWORK


def _tokenizer() -> Path:
    return _files().tokenizer


def _files() -> ModelFiles:
    return find_model(EmbeddingOptions())
