"""Runs every benchmark, one after the other; the exit status is 1 where one failed or says that it missed a target.

Those that fill a large database first are left out, and run by themselves: locomo.py, scale.py, service.py, upkeep.py,
dashboard.py.

    python benchmarks/all.py
"""

import subprocess
import sys
from pathlib import Path

BENCHMARKS = (
    "startup.py",
    "stream.py",
    "context.py",
    "judge.py",
    "workspace.py",
    "embedding.py",
    "apps.py",
    "consolidation.py",
)


def main() -> int:
    """Run them, each in a process of its own."""
    missed: list[str] = []
    for name in BENCHMARKS:
        print(f"\n== {name}", flush=True)
        if subprocess.run([sys.executable, Path(__file__).with_name(name)], check=False).returncode:
            missed.append(name)
    print(f"\nfailed or missed a target: {', '.join(missed)}" if missed else "\nno target was missed")
    return int(bool(missed))


if __name__ == "__main__":
    raise SystemExit(main())
