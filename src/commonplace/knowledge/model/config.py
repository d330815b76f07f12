"""Settings of knowledge memory in a host: ``[modules.memory]`` of its ``butler.toml`` (KNW-23)."""

from enum import StrEnum
from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field

from commonplace.core.bounds import BudgetTokens, Share
from commonplace.core.settings import DEFAULT_MIN_RELEVANCE, RERANKER_OFF, Settings
from commonplace.knowledge.model.bounds import (
    DEFAULT_BUDGET_TOKENS,
    DEFAULT_LIMIT,
    DEFAULT_MIN_CONFIDENCE,
    Limit,
)
from commonplace.knowledge.model.quotas import ContextQuotas


class SearchMode(StrEnum):
    """The way in which a search finds its candidates. Source: KNW-07."""

    SEMANTIC = "semantic"
    KEYWORD = "keyword"
    HYBRID = "hybrid"
    CONTEXTUAL = "contextual"
    """Episodes also by their neighbouring turns; facts and rules as in hybrid."""


Weight = Annotated[float, Field(ge=0.0, allow_inf_nan=False)]


class ScoreWeights(BaseModel):
    """Weights of the parts of a recall score; the defaults sum to 1. Source: KNW-08."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    relevance: Weight = 0.4
    importance: Weight = 0.3
    recency: Weight = 0.2
    confidence: Weight = 0.1

    def without_recency(self) -> "ScoreWeights":
        """Return the weights with which uses count nothing."""
        return self.model_copy(update={"recency": 0.0})


class RetrievalConfig(BaseModel):
    """``[modules.memory.retrieval]``: defaults of searches and blocks."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    context_token_budget: BudgetTokens = DEFAULT_BUDGET_TOKENS
    """Token budget of the block for a prompt."""
    default_limit: Limit = 20
    """Maximum number of results of a search, and of candidates for a block."""
    default_mode: SearchMode = SearchMode.HYBRID
    min_relevance: Share = DEFAULT_MIN_RELEVANCE
    """Minimum relevance of recalls and blocks: the similarity that the best memory must have; 0 for no minimum."""
    min_confidence: Share = DEFAULT_MIN_CONFIDENCE
    """Minimum effective confidence of the facts and rules in blocks."""
    reranks: bool = True
    """Whether the reranker reads the nearest memories together with the topic of a recall or the prompt of a block."""
    quarantine: bool = True
    """Whether recalls and blocks leave out memories with flags until a person confirms them."""
    show_sources: bool = False
    """Whether lines of blocks name the source of the memory."""
    score_weights: ScoreWeights = ScoreWeights()
    section_quotas: ContextQuotas = ContextQuotas()
    """Maximum share of the block for facts and for rules."""

    @property
    def door_limit(self) -> int:
        """Maximum number of results of a search by a tool, a command or a request without a limit.

        The default of tools is 10, the default of this section is 20; a host's setting overrides both.

        Source: KNW-19.5, KNW-23.2.
        """
        return self.default_limit if "default_limit" in self.model_fields_set else DEFAULT_LIMIT

    def at_door(self, limit: int | None) -> int:
        """Return the limit of a search by a tool, a command or a request: the given one, or :attr:`door_limit`."""
        return self.door_limit if limit is None else limit


class MemoryModuleConfig(BaseModel):
    """``[modules.memory]``: all settings of a host."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    retrieval: RetrievalConfig = RetrievalConfig()
    purpose: Annotated[str, Field(max_length=500)] = ""
    """The purpose of the host, in one sentence; consolidation passes it to the model. Source: CNS-03."""

    @classmethod
    def of(cls, settings: Settings, *, default_mode: SearchMode = SearchMode.HYBRID) -> Self:
        """Return the configuration without a host: the defaults, and the settings for blocks."""
        retrieval = RetrievalConfig(
            default_mode=default_mode,
            min_relevance=settings.min_relevance,
            min_confidence=settings.min_confidence,
            reranks=settings.reranker != RERANKER_OFF,
            quarantine=settings.quarantine,
            show_sources=settings.show_sources,
        )
        return cls(retrieval=retrieval)
