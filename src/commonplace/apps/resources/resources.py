"""The resources that the parts of one app memory share."""

from dataclasses import dataclass
from datetime import tzinfo
from typing import Final

from commonplace.apps.model.counts import Counts
from commonplace.apps.resources.energy_budget import EnergyBudget
from commonplace.apps.resources.vectors import Vectors
from commonplace.apps.store.statements import AppStatements
from commonplace.core.quarantine import Quarantine
from commonplace.llm import Model
from commonplace.storage.store import Store

DEFAULT_TIMEOUT_S: Final = 30.0
"""The time limit of one model answer. Source: APP-04.3."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Resources:
    """The database, the model and the budget that digests and compactions use.

    Attributes:
        model: Writes digests and decides on compactions; the extractive model picks sentences, and a rule decides.
        timeout_s: The time limit of one model answer.
        zone: The time zone of the times in a model's prompt.
        quarantine: Tells which memories no context shows.
    """

    store: Store[AppStatements]
    model: Model
    energy: EnergyBudget
    vectors: Vectors
    counts: Counts
    timeout_s: float
    zone: tzinfo
    quarantine: Quarantine
