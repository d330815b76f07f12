"""Play random histories of devices that sync, and check the laws after each.

    python benchmarks/sync_laws.py [--histories 10000] [--first 0]

A history is 40 random steps of two to four devices on the real engine with real files of state: memories are learned
and forgotten, devices sync, erase, leave, join and are revoked. Meanwhile one step in fifty is killed or meets a full
disk, and the carrier hides, truncates, repeats and splices files. In the end the carrier is mended, and every device
syncs until nothing is new. The laws: the members know the same changes; no change is lost unless another one has seen
it, or only a revoked device had it; every memory shows what its changes make; no erased text is left at the carrier, in
a state or in a memory.

The exit status is 1 if a law does not hold; the seeds of such histories are printed. ``--first`` is the first seed.
"""

import argparse
import asyncio
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from support.sync_histories import History

SHOWN = 20
"""The number of failed seeds that are printed."""


def played(seed: int, count: Counter[str]) -> str | None:
    """Play a history; return the law that does not hold."""
    with tempfile.TemporaryDirectory() as folder:
        history = History(Path(folder), seed)
        try:
            asyncio.run(history.play())
        except Exception as error:  # noqa: BLE001 - an error of any kind breaks the law that a sync ends well
            return f"{type(error).__name__}: {error}".partition("\n")[0]
        finally:
            count.update(history.count)
    return None


def main() -> int:
    """Play the histories and print the counts."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--histories", type=int, default=10_000)
    parser.add_argument("--first", type=int, default=0)
    args = parser.parse_args()
    count: Counter[str] = Counter()
    failures: dict[int, str] = {}
    begin = time.process_time()
    for seed in range(args.first, args.first + args.histories):
        failure = played(seed, count)
        if failure is not None:
            failures[seed] = failure
    for name, number in sorted(count.items()):
        print(f"{name:12} {number:>9,}")
    print(
        f"{args.histories:,} histories, {len(failures)} failed, {time.process_time() - begin:,.0f} s of processor"
    )
    for seed, failure in list(failures.items())[:SHOWN]:
        print(f"seed {seed}: {failure}")
    return 1 if failures else 0


if __name__ == "__main__":
    raise SystemExit(main())
