"""Keep the wheel of a release as a fixture of tests, which open its homes with every later state.

Usage: python scripts/keep_release.py WHEEL

The fixture is the wheel without the weights of its models and the scripts of other authors, which are 50 times as
large as the code. Its RECORD is that of the release and still names the files that were left out, with their SHA-256.
"""

import hashlib
import sys
import zipfile
from pathlib import Path

RELEASES = Path(__file__).resolve().parents[1] / "tests" / "data" / "releases"
LEFT_OUT = (
    "commonplace/embedding/minilm/",
    "commonplace/web/pages/static/vendor/",
    "commonplace/judge/network.safetensors",
    "commonplace/reranker/network.safetensors",
)
LIST = "SHA256SUMS"
MOMENT = (1980, 1, 1, 0, 0, 0)
"""The time of each file in the archive, so that the same wheel makes the same fixture."""


def main() -> None:
    """Write the fixture of the wheel that the argument names."""
    print(f"{keep(Path(sys.argv[1]), RELEASES)} is kept for tests of upgrades")


def keep(wheel: Path, directory: Path) -> Path:
    """Write a wheel without the large files into a directory, with its SHA-256 in a list, and return the path."""
    directory.mkdir(parents=True, exist_ok=True)
    target = directory / wheel.name
    with zipfile.ZipFile(wheel) as source, zipfile.ZipFile(target, "w") as archive:
        for name in sorted(source.namelist()):
            if not name.startswith(LEFT_OUT):
                entry = zipfile.ZipInfo(name, MOMENT)
                entry.compress_type = zipfile.ZIP_DEFLATED
                archive.writestr(entry, source.read(name), compresslevel=9)
    sums = [
        f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n"
        for path in sorted(directory.glob("*.whl"))
    ]
    (directory / LIST).write_text("".join(sums), encoding="ascii")
    return target


if __name__ == "__main__":
    main()
