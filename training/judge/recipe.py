"""The recipe of a network: what it was made from, so that a file that was not made from it can be told apart."""

import ast
import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from corpus import LABELS, PAIRS, learned_authors

HERE: Final = Path(__file__).parent
JUDGE: Final = HERE.parents[1] / "src" / "commonplace" / "judge"
CODE: Final = (
    *(HERE / f"{name}.py" for name in ("batches", "corpus", "fit", "network", "pack", "variations")),
    *(
        JUDGE / f"{name}.py"
        for name in ("inputs", "lexicon", "quantities", "quantity_reading", "units", "words")
    ),
)
"""The code that decides which weights come out."""

EPOCHS: Final = 6
RATE: Final = 1.5e-4
SEED: Final = 0


def recipe() -> dict[str, Any]:
    """Return the recipe of the present repository: hashes of the pairs and of the code, and the settings."""
    pairs = [PAIRS / f"{author}.jsonl" for author in learned_authors()]
    return {
        "code": hash_of_code(CODE),
        "data": hash_of_files(pairs),
        "epochs": EPOCHS,
        "rate": RATE,
        "seed": SEED,
    }


def figures(values: NDArray[np.float32], labels: Sequence[str]) -> dict[str, float]:
    """Return the shares of pairs with the right verdict, wrong corrections and lost ones, if the likeliest one counts.

    Args:
        values: Scores or probabilities, shape ``(pairs, 4)``.
        labels: The labels of the pairs.
    """
    likeliest = [LABELS[place] for place in values.argmax(axis=1)]
    verdicts = list(zip(likeliest, labels, strict=True))
    corrections = [verdict for verdict, label in verdicts if label == "correct"]
    others = [verdict for verdict, label in verdicts if label != "correct"]
    shares = {
        "right": sum(verdict == label for verdict, label in verdicts) / len(verdicts),
        "wrong": others.count("correct") / len(others),
        "lost": 1 - corrections.count("correct") / len(corrections),
    }
    return {name: round(share, 3) for name, share in shares.items()}


def hash_of_files(files: Sequence[Path]) -> str:
    """Return the hash of files and of their names without an ending, in their order."""
    digest = hashlib.sha256()
    for file in files:
        digest.update(file.stem.encode())
        digest.update(file.read_bytes())
    return digest.hexdigest()


def hash_of_code(files: Sequence[Path]) -> str:
    """Return the hash of what code does; comments, layout and imports do not count."""
    digest = hashlib.sha256()
    for file in files:
        digest.update(ast.dump(_statements(ast.parse(file.read_text(encoding="utf-8")))).encode())
    return digest.hexdigest()


def _statements(tree: ast.Module) -> ast.Module:
    """Return a module without its docstrings and imports."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            node.body = [each for each in node.body if not _does_nothing(each)]
    return tree


def _does_nothing(node: ast.stmt) -> bool:
    constant = node.value if isinstance(node, ast.Expr) else None
    is_text = isinstance(constant, ast.Constant) and isinstance(constant.value, str)
    return is_text or isinstance(node, ast.Import | ast.ImportFrom)
