"""What processes compute, held against what others compute beside them.

A bound in seconds on a machine that does other things meanwhile says how busy it was. Processor time does not count
the waiting, and a yardstick that is measured in the same moment takes out how fast the machine is.
"""

import subprocess
import sys

import psutil


def computed_s(process_id: int) -> float:
    """Return the processor seconds that a running process has used."""
    used = psutil.Process(process_id).cpu_times()
    return used.user + used.system


def importing_s(*modules: str) -> float:
    """Return the processor seconds that a new interpreter needs to import modules: of three times, the quickest."""
    code = f"import {', '.join(modules)}, time; print(time.process_time())"
    command = [sys.executable, "-c", code]
    return min(
        float(subprocess.run(command, capture_output=True, text=True, check=True).stdout) for _ in range(3)
    )
