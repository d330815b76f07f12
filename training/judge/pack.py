"""Write trained tensors as the judge's network: matrices in 8 bits, with a scale for each 64 weights of a row."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import save_file

from commonplace.embedding.onnx_graph import round_weights
from commonplace.judge.pair_graph import SCALES


def write_network(path: Path, tensors: Mapping[str, NDArray[Any]], recipe: Mapping[str, Any]) -> None:
    """Write the network with its recipe, which :mod:`recipe` computes."""
    packed: dict[str, NDArray[Any]] = {}
    for name, tensor in tensors.items():
        if tensor.ndim == 1 or "token_type" in name:
            packed[name] = tensor.astype(np.float32)
            continue
        levels, scales = round_weights(tensor.astype(np.float32))
        packed[name] = levels.reshape(tensor.shape)
        packed[f"{name}{SCALES}"] = scales.reshape(len(tensor), -1).astype(np.float16)
    save_file(packed, path, metadata={"recipe": json.dumps(recipe, sort_keys=True)})
