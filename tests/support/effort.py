"""What processes compute, held against what others compute beside them.

A bound in seconds on a machine that does other things meanwhile says how busy it was. Processor time does not count
the waiting, and a yardstick that is measured in the same moment takes out how fast the machine is.
"""

import subprocess
import sys
from collections.abc import Callable

import psutil

ATTEMPTS = 3
"""Whatever else the machine does can only add to what an attempt takes."""


def computed_s(process_id: int) -> float:
    """Return the processor seconds that a running process has used."""
    used = psutil.Process(process_id).cpu_times()
    return used.user + used.system


def importing_s(*modules: str) -> float:
    """Return the processor seconds that a new interpreter needs to import modules."""
    code = f"import {', '.join(modules)}, time; print(time.process_time())"
    command = [sys.executable, "-c", code]
    return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def computes_less(measure: Callable[[], float], *, than: float, imports: tuple[str, ...]) -> bool:
    """Tell whether one of a few attempts takes less than so many times what importing modules takes."""
    return any(measure() < than * importing_s(*imports) for _ in range(ATTEMPTS))
