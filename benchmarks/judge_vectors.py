"""Write the table of word vectors by which the judge of operational memory tells how alike two words are.

``python benchmarks/judge_vectors.py`` embeds each word alone with all-MiniLM-L6-v2, reduces the vectors to their 32
principal components and writes them as one signed byte per component to ``vectors.bin`` in `commonplace.language`. The
words are those of the labelled pairs, and the most frequent ones of the model; words of one stem share a row.
"""

import json
import re
from pathlib import Path
from typing import Final

import numpy as np

from commonplace.core.settings import Settings
from commonplace.embedding.backend import EmbeddingOptions, load_backend
from commonplace.embedding.model_files import find_model
from commonplace.language import likeness
from commonplace.language.stems import stem

PAIRS: Final = Path(__file__).parent / "data" / "judge_pairs.jsonl"
FREQUENT: Final = 9_000
"""Whole words of the vocabulary, which is ordered by frequency."""

BATCH: Final = 32


def words() -> dict[str, str]:
    """Return the stems of the table, each with the shortest word that has it."""
    options = EmbeddingOptions.from_settings(Settings())
    vocabulary = json.loads(find_model(options).tokenizer.read_text(encoding="utf-8"))["model"]["vocab"]
    frequent = [word for word in sorted(vocabulary, key=vocabulary.__getitem__) if _is_word(word)]
    pairs = [json.loads(line) for line in PAIRS.read_text(encoding="utf-8").splitlines()]
    said = {word for pair in pairs for word in re.findall(r"\w+", f"{pair['old']} {pair['new']}".lower())}
    found: dict[str, str] = {}
    for word in sorted({*frequent[:FREQUENT], *filter(_is_word, said)}, key=lambda word: (len(word), word)):
        found.setdefault(stem(word), word)
    return dict(sorted(found.items()))


def _is_word(text: str) -> bool:
    return len(text) >= likeness.SHORTEST and text.isascii() and text.isalpha()


def main() -> None:
    """Embed, reduce and write."""
    backend = load_backend(EmbeddingOptions.from_settings(Settings()))
    found = words()
    texts = list(found.values())
    vectors = np.vstack([backend.encode(texts[at : at + BATCH]) for at in range(0, len(texts), BATCH)])
    centred = vectors - vectors.mean(axis=0)
    _, _, components = np.linalg.svd(centred, full_matrices=False)
    reduced = centred @ components[: likeness.DIMENSIONS].T
    unit = reduced / np.linalg.norm(reduced, axis=1, keepdims=True)
    rows = np.clip(np.round(unit * likeness.SCALE), -128, 127).astype(np.int8)
    likeness.TABLE.write_bytes(" ".join(found).encode() + b"\n" + rows.tobytes())
    print(f"{len(found)} words, {likeness.TABLE.stat().st_size / 1e3:.0f} kB")


if __name__ == "__main__":
    main()
