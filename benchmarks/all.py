"""Run every benchmark that needs only minutes, one after the other.

The benchmarks that fill a large database first are left out; run them by themselves: locomo.py, retrieval.py, scale.py,
service.py, upkeep.py, dashboard.py, partitions.py, passages_cost.py. The exit status is 1 if a benchmark failed or
missed its target.

    python benchmarks/all.py
"""

import subprocess
import sys
from pathlib import Path

BENCHMARKS = (
    "startup.py",
    "hooks.py",
    "stream.py",
    "context.py",
    "judge.py",
    "stances.py",
    "answers.py report",
    "recall.py --worlds set-aside",
    "passages.py",
    "periods.py",
    "workspace.py",
    "embedding.py",
    "apps.py",
    "digests.py",
    "compaction.py",
    "conflicts.py",
    "consolidation.py",
    "runs.py",
    "poisoning.py",
)


def main() -> int:
    """Run each benchmark in its own process."""
    missed: list[str] = []
    for command in BENCHMARKS:
        print(f"\n== {command}", flush=True)
        name, *options = command.split()
        if subprocess.run([sys.executable, Path(__file__).with_name(name), *options], check=False).returncode:
            missed.append(command)
    print(f"\nfailed or missed a target: {', '.join(missed)}" if missed else "\nno target was missed")
    return int(bool(missed))


if __name__ == "__main__":
    raise SystemExit(main())
