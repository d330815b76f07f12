"""Language models: the port through which every model call goes.

    async with open_model(settings) as model:
        prompt = " ".join((task, data_notice("conversation"), fence(text, "conversation")))
        completion = await model.complete(prompt, purpose="app.digest", timeout_s=30)

Importing this package is cheap; the first call of a model imports its libraries.
"""

from commonplace.llm.backend import ModelBackend, Reply, Request, Usage
from commonplace.llm.ledger import Ledger, Totals
from commonplace.llm.model import Completion, Model
from commonplace.llm.opening import (
    can_consolidate,
    cli_of,
    consolidation_ledger,
    names_language_model,
    open_cli_model,
    open_consolidation_model,
    open_model,
)
from commonplace.llm.scripted import Hang, Script

__all__ = [
    "Completion",
    "Hang",
    "Ledger",
    "Model",
    "ModelBackend",
    "Reply",
    "Request",
    "Script",
    "Totals",
    "Usage",
    "can_consolidate",
    "cli_of",
    "consolidation_ledger",
    "names_language_model",
    "open_cli_model",
    "open_consolidation_model",
    "open_model",
]
