"""Spawners, which ask a language model: they take the prompt and return the answer as text."""

from dataclasses import dataclass
from typing import Final, Protocol

from commonplace.core.errors import ModelCannotError
from commonplace.knowledge.consolidation.answer_form import ConsolidationAnswer
from commonplace.knowledge.rules.consolidation_policy import Policy
from commonplace.llm import Model

TRIGGER_SOURCE: Final = "schedule:consolidation"
"""The trigger of a consolidation session. Source: KNW-12.2."""

PURPOSE: Final = "consolidation"

MAX_ANSWER_TOKENS: Final = 8192
"""Room for about sixty facts of a hundred tokens; a truncated answer is lost."""


class Spawner(Protocol):
    """Starts a session of a language model and returns its final answer.

    A spawner whose attribute ``asks_for_form`` is true tells the model itself how to send the answer, for example as
    the arguments of a tool. For all others the prompt asks for a fenced ``json`` block.
    """

    async def __call__(self, prompt: str, *, trigger_source: str) -> str:
        """Ask the model.

        Args:
            prompt: The whole prompt.
            trigger_source: :data:`TRIGGER_SOURCE`, for a record of sessions.

        Raises:
            ModelUnavailableError: The model cannot be reached now: the episodes wait, and no attempt is counted.
            Exception: Any other error counts as an attempt; after five, the episodes are dead letters.
        """
        ...


@dataclass(frozen=True, slots=True)
class ModelSpawner:
    """A spawner that uses the port for language models.

    Args:
        model: The model; its budget applies, and its tokens count under the purpose ``consolidation``.
        timeout_s: The time limit of an answer, including retries.
        asks_for_form: The port asks for the answer in the way of the model's transport.
    """

    model: Model
    timeout_s: float
    asks_for_form: bool = True

    @property
    def name(self) -> str:
        """The model's name."""
        return self.model.name

    async def __call__(self, prompt: str, *, trigger_source: str) -> str:
        """Ask the model, in the form of :data:`ConsolidationAnswer` if its server enforces forms.

        Raises:
            ModelError: The model gave no answer, or is extractive and cannot consolidate.
        """
        del trigger_source  # The port keeps no record of sessions; tokens are counted by purpose.
        if self.model.extractive:
            raise ModelCannotError(NO_LANGUAGE_MODEL)
        completion = await self.model.complete(
            prompt,
            purpose=PURPOSE,
            form=ConsolidationAnswer,
            timeout_s=self.timeout_s,
            max_output_tokens=MAX_ANSWER_TOKENS,
        )
        return completion.text


NOT_ASKED: Final = "no model was asked: waiting episodes were counted and nothing was changed"

NO_LANGUAGE_MODEL: Final = (
    "no language model is set, and the extractive model cannot consolidate: waiting episodes were counted and nothing "
    "was changed. To consolidate, set COMMONPLACE_MODEL to a language model"
)


def model_spawner(model: Model, *, policy: Policy | None = None) -> ModelSpawner | None:
    """Return a spawner for a model; ``None``, which means a dry run, for an extractive model."""
    return None if model.extractive else ModelSpawner(model, (policy or Policy()).timeout_s)


def asks_for_form(spawner: Spawner) -> bool:
    """Return whether a spawner tells the model how to send the answer, so that the prompt must not."""
    return getattr(spawner, "asks_for_form", False) is True


def name_of(spawner: Spawner) -> str | None:
    """Return the name of a spawner's model, if the spawner has a ``name``."""
    name = getattr(spawner, "name", None)
    return name if isinstance(name, str) else None
