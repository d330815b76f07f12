"""Answers with a schema: the instruction, the parser, and the second request."""

import json
import re
from collections.abc import Iterator
from typing import Final, TypeVar

from pydantic import BaseModel, ValidationError

from commonplace.core.text import trim_to
from commonplace.prompts.fence import data_notice, fence

T = TypeVar("T", bound=BaseModel)

_FENCED_BLOCK: Final = re.compile(r"```(?:json)?\s*\n(.*?)```", re.DOTALL | re.IGNORECASE)
_MOST_CANDIDATES: Final = 32
_MOST_FAULTS: Final = 8
_SHOWN_ANSWER_CHARS: Final = 4000


class AnswerError(ValueError):
    """An answer without a valid object; the message tells the model the fault."""


def form_of(output: type[BaseModel]) -> str:
    """Return the instruction to answer with JSON, for models without native structured output."""
    schema = json.dumps(output.model_json_schema(), ensure_ascii=False)
    return (
        f"Answer with one JSON object and nothing else. It must be valid against this JSON Schema:\n{schema}"
    )


def read_answer(text: str, output: type[T]) -> T:
    """Return the first valid object in a model's text, even from a fenced block or between other words.

    Raises:
        AnswerError: The text has no valid object.
    """
    fault: AnswerError | None = None
    for candidate in _candidates(text):
        try:
            return output.model_validate_json(candidate)
        except ValidationError as error:
            fault = fault or AnswerError(_explain(error))
    raise fault or AnswerError("the answer contains no JSON object")


def ask_again(prompt: str, *, answer: str, fault: str) -> str:
    """Return the prompt of the second request, with the first answer and its fault."""
    return "\n\n".join(
        (
            prompt,
            "You were asked this before, and your answer did not have the required form.",
            fence(trim_to(answer, _SHOWN_ANSWER_CHARS), "previous_answer"),
            fence(fault, "fault"),
            data_notice("previous_answer", "fault"),
            "Answer again with the complete object.",
        )
    )


def _candidates(text: str) -> Iterator[str]:
    """Yield each JSON object in a text once, the most likely first."""
    seen: set[str] = set()
    for source in (text, *_FENCED_BLOCK.findall(text)):
        for piece in _objects(source):
            if piece not in seen:
                seen.add(piece)
                yield piece


def _objects(text: str) -> Iterator[str]:
    """Yield the outermost JSON objects of a text."""
    decoder = json.JSONDecoder()
    start = text.find("{")
    for _ in range(_MOST_CANDIDATES):
        if start < 0:
            return
        try:
            _, end = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            start = text.find("{", start + 1)
        else:
            yield text[start:end]
            start = text.find("{", end)


def _explain(error: ValidationError) -> str:
    faults = error.errors(include_url=False, include_input=False, include_context=False)
    lines = [f"{'.'.join(map(str, fault['loc'])) or 'the object'}: {fault['msg']}" for fault in faults]
    return "\n".join(lines[:_MOST_FAULTS])
