"""ONNX Runtime without its telemetry: import it from here, never directly.

Builds since 1.31 report their use to their maker, and begin with it when they are imported: a file with an id of this
machine appears in the temporary directory. What runs beside somebody's memories reports to nobody, so the variable
that keeps it from starting is set before the import.
"""

# onnxruntime ships no types.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false

import os

os.environ["ORT_DISABLE_TELEMETRY"] = "1"

import onnxruntime

onnxruntime.disable_telemetry_events()

__all__ = ["onnxruntime"]
