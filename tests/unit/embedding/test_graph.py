"""Weights of 8 bits."""

import numpy as np
import pytest

from commonplace.embedding.onnx_graph import round_weights


@pytest.mark.parametrize("inputs", [16, 64, 100, 384])
def test_a_rounded_weight_is_half_a_step_away_at_most(inputs: int) -> None:
    """Each block of 64 has a scale of its own, and zeros fill the last one."""
    weight = np.random.default_rng(1).normal(size=(5, inputs)).astype(np.float32)
    weight[2] = 0
    levels, scales = round_weights(weight)
    blocks = -(-inputs // 64)
    assert levels.dtype == np.uint8
    assert levels.shape == (5, blocks, 64)
    assert scales.shape == (5 * blocks,)
    steps = scales.reshape(5, blocks, 1)
    rounded = ((levels.astype(np.float32) - 128) * steps).reshape(5, -1)
    step = np.repeat(steps[:, :, 0], 64, axis=1)[:, :inputs]
    assert np.all(np.abs(rounded[:, :inputs] - weight) <= step * 0.501)
    assert not rounded[:, inputs:].any()
