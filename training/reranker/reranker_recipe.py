"""The recipe of the reranker's network: what it was made from."""

from pathlib import Path
from typing import Any, Final

from recipe import HERE as JUDGE_TRAINING
from recipe import JUDGE, hash_of_code, hash_of_files
from worlds import WORLDS, learned_worlds

HERE: Final = Path(__file__).parent
CODE: Final = (
    *(HERE / f"{name}.py" for name in ("fit_reranker", "prompts", "worlds")),
    *(JUDGE_TRAINING / f"{name}.py" for name in ("network", "pack")),
    JUDGE.parent / "reranker" / "inputs.py",
)
"""The code that decides which weights come out."""

LAYERS: Final = 3
EPOCHS: Final = 5
RATE: Final = 1.5e-4
SEED: Final = 0


def recipe() -> dict[str, Any]:
    """Return the recipe of the present repository: hashes of the worlds and of the code, and the settings."""
    worlds = [WORLDS / f"{name}.txt" for name in learned_worlds()]
    settings = {"epochs": EPOCHS, "layers": LAYERS, "rate": RATE, "seed": SEED}
    return {"code": hash_of_code(CODE), "data": hash_of_files(worlds)} | settings
