"""Sentences are picked, never written."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.embedding import BackendName, EmbeddingEngine, EmbeddingOptions
from commonplace.llm import Request, fence
from commonplace.llm.extractive_backend import MOST_SENTENCES, ExtractiveBackend
from commonplace.llm.sentences import MAX_SENTENCES, Limits, pick, split_sentences, worth_picking

ENGINE = EmbeddingEngine(EmbeddingOptions(backend=BackendName.FAKE))

words = st.text(alphabet="abcdefg", min_size=1, max_size=8)
sentences = st.lists(words, min_size=1, max_size=8).map(lambda parts: f"{' '.join(parts).capitalize()}.")
texts = st.lists(sentences, max_size=12).map(" ".join)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One two. Three four! Five?", ["One two.", "Three four!", "Five?"]),
        ('He said "stop." Then he left.', ['He said "stop."', "Then he left."]),
        ("user: It broke at 3.14 s.\nassistant: I see…", ["It broke at 3.14 s.", "I see…"]),
        ("- first point\n* second point\n3. third point", ["first point", "second point", "third point"]),
        ("会議は午後がいい。朝は避ける\uff01", ["会議は午後がいい。", "朝は避ける\uff01"]),
        ("Same. Same. Other.", ["Same.", "Other."]),
        (" \n\n ", []),
    ],
)
def test_text_falls_into_sentences(text: str, expected: list[str]) -> None:
    """At line ends and closing punctuation; not inside numbers; without speakers and list marks."""
    assert split_sentences(text) == expected


def test_what_tells_nothing_is_left_out_unless_nothing_else_is_there() -> None:
    """Greetings and questions make no memory."""
    told = "The deadline is on Monday."
    assert worth_picking(["Hi there!", told, "Can you help me with that?"]) == [told]
    assert worth_picking(["Hi there!"]) == ["Hi there!"]
    assert worth_picking(["会議は午後がいい。"]) == ["会議は午後がいい。"]


def test_very_many_sentences_are_thinned_out_evenly() -> None:
    """From the first to the last part of the text."""
    many = [f"This is sentence number {number}." for number in range(MAX_SENTENCES * 3)]
    kept = worth_picking(many)
    assert len(kept) == MAX_SENTENCES
    assert kept[0] == many[0]
    assert many.index(kept[-1]) >= len(many) - 3


def test_central_sentences_come_first_and_repetitions_not_at_all() -> None:
    """Two that say the same do not both come, however central they are; the odd one comes last."""
    said = ["same", "same again", "near", "odd"]
    vectors = np.array([[1, 0, 0], [0.99, 0.14, 0], [0.7, 0.71, 0], [0, 0, 1]], dtype=np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    assert pick(said, vectors, Limits(sentences=1, chars=100)) == ["same again"]
    assert pick(said, vectors, Limits(sentences=2, chars=100)) == ["same again", "near"]
    assert pick(said, vectors, Limits(sentences=4, chars=100)) == ["same again", "near", "odd"]
    assert pick(said, vectors, Limits(sentences=4, chars=8)) == ["same", "odd"]


@pytest.mark.requirement("R-APP-5")
@given(texts, st.integers(1, 120))
async def test_an_extract_is_made_of_sentences_of_the_text_in_their_order(text: str, chars: int) -> None:
    """Within the characters and the number of sentences; only where none fits, the beginning of one."""
    prompt = f"Digest this.\n{fence(text, 'conversation')}\nNothing of this line, and never more."
    reply = await ExtractiveBackend(ENGINE).send(Request(prompt=prompt, max_chars=chars))
    assert len(reply.text) <= chars
    assert reply.usage.tokens == 0
    given_ = split_sentences(text)
    picked = split_sentences(reply.text)
    if any(len(sentence) <= chars for sentence in given_):
        assert picked == [sentence for sentence in given_ if sentence in set(picked)]
        assert 1 <= len(picked) <= MOST_SENTENCES
    else:
        assert not given_ or given_[0].startswith(reply.text.removesuffix("…"))


async def test_instructions_are_never_taken_for_data() -> None:
    """Where a fence is empty there is nothing to say; a prompt without fences is data as a whole."""
    backend = ExtractiveBackend(ENGINE)
    instruction = "Write a single paragraph of two sentences."
    assert (await backend.send(Request(prompt=f"{instruction}\n{fence('', 'data')}"))).text == ""
    assert (await backend.send(Request(prompt=instruction))).text == instruction


async def test_the_same_prompt_gives_the_same_extract() -> None:
    """Ties do not depend on chance."""
    prompt = fence(" ".join(f"The service number {n} uses port {n}." for n in range(40)), "data")
    replies = {(await ExtractiveBackend(ENGINE).send(Request(prompt=prompt))).text for _ in range(3)}
    assert len(replies) == 1


async def test_tokens_bound_an_extract_too() -> None:
    """Four characters a token."""
    prompt = fence("The deadline is on Monday. The database is on the second host.", "data")
    reply = await ExtractiveBackend(ENGINE).send(Request(prompt=prompt, max_output_tokens=7))
    assert reply.text == "The deadline is on Monday."
