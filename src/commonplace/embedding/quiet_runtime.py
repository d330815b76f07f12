"""ONNX Runtime without telemetry; import it from here, never directly.

Builds since 1.31 send telemetry to their maker from the moment of the import, and write a file with an id of this
machine to the temporary directory. A program with private memories must not do that, so the variable that disables
telemetry is set before the import.
"""

# onnxruntime ships no types.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false

import os

os.environ["ORT_DISABLE_TELEMETRY"] = "1"

import onnxruntime

onnxruntime.disable_telemetry_events()

__all__ = ["onnxruntime"]
