"""The reranker's network: what the file was made from, and what it says."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from safetensors import safe_open

from commonplace.core.errors import ModelMissingError
from commonplace.reranker import NETWORK, Reranker, memory_text, open_network
from commonplace.reranker.inputs import MEMORY_TOKENS, PROMPT_TOKENS, reading
from prompts import NEAREST, asked, figures
from reranker_recipe import recipe
from worlds import KEPT, SET_ASIDE, learned_worlds, read_world, read_worlds

MOST_BYTES = 8 << 20
PROMPT = "book us a table for Saturday, Ines is coming"
ALLERGY = memory_text("Ines is allergic to peanuts", "Ines", "allergy")
BOILER = memory_text("The boiler is serviced every March", "boiler", "service")


def _carried() -> dict[str, object]:
    with safe_open(NETWORK, framework="numpy") as file:
        return json.loads(file.metadata()["recipe"])


@pytest.mark.requirement("SHW-04.1")
def test_the_network_was_made_from_this_repository() -> None:
    """From its worlds, by its code: ``python training/reranker/fit_reranker.py`` makes it again."""
    carried = _carried()
    assert {name: carried[name] for name in recipe()} == recipe()
    assert NETWORK.stat().st_size <= MOST_BYTES


@pytest.mark.requirement("SHW-04.1")
def test_nothing_is_learned_from_worlds_that_measure() -> None:
    """Nor from those on which constants were chosen; every world can be read."""
    learned = learned_worlds()
    assert SET_ASIDE.isdisjoint(KEPT)
    assert (SET_ASIDE | KEPT).isdisjoint(learned)
    for world in read_worlds({*learned, *KEPT, *SET_ASIDE}):
        known = {each["id"] for each in world["memories"]}
        assert all(known.issuperset(each["wanted"] + each["acceptable"]) for each in world["prompts"])


@pytest.mark.requirement("SHW-04.1")
def test_the_kept_prompts_get_the_figures_that_the_file_carries() -> None:
    """Weights of 8 bits say nearly what the trained weights said."""
    prompts = list(asked(read_worlds(sorted(KEPT)[:2])))
    odds = [
        np.array(
            open_network().odds(each.text, [each.memories[int(place)] for place in each.nearest[:NEAREST]])
        )
        for each in prompts
    ]
    carried = _carried()["kept"]
    assert isinstance(carried, dict)
    assert figures(prompts, odds) == pytest.approx(carried, abs=0.12)


@pytest.mark.requirement("SHW-04.2")
def test_a_memory_that_helps_has_better_odds_than_one_that_does_not() -> None:
    """Whatever is read beside it, and however long both are."""
    allergy, boiler = open_network().odds(PROMPT, [ALLERGY, BOILER])
    assert allergy > boiler
    assert open_network().odds(PROMPT, [BOILER]) == pytest.approx([boiler], abs=0.02)
    assert open_network().odds(PROMPT, []) == []
    long = open_network().odds(f"{PROMPT} {'and so on ' * 2_000}", [ALLERGY, "long " * 5_000])
    assert all(map(np.isfinite, long))


@pytest.mark.requirement("SHW-04.2")
def test_a_long_prompt_keeps_its_beginning_and_its_end() -> None:
    """The task stands in one of them."""
    ids, roles = reading(list(range(1_000, 2_000)), list(range(5_000, 5_500)))
    assert len(ids) == len(roles) == PROMPT_TOKENS + MEMORY_TOKENS + 3
    assert (ids[1], ids[PROMPT_TOKENS]) == (1_000, 1_999)


@pytest.mark.requirement("SHW-04.3")
def test_the_network_is_opened_when_it_is_needed() -> None:
    """Importing the package loads no runtime."""
    code = "import sys; from commonplace.reranker import reranker; print('onnxruntime' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


@pytest.mark.requirement("SHW-04.3")
def test_without_weights_the_reranker_says_so(caplog: pytest.LogCaptureFixture) -> None:
    """Memories are then ranked by likeness."""

    def fails() -> object:
        raise ModelMissingError("no weights")

    assert not Reranker(fails).prepare()  # pyright: ignore[reportArgumentType] - it never returns
    assert "no weights" in caplog.text


def test_a_world_of_another_form_is_refused(tmp_path: Path) -> None:
    """With the place."""
    world = tmp_path / "bad.txt"
    world.write_text("W | a life\nF | f1 | 5 | home\n")
    with pytest.raises(ValueError, match=r"bad\.txt:2: expected a world, fact, rule or prompt"):
        read_world(world)
