"""The service does what its OpenAPI document says: Schemathesis makes up requests, good ones and bad ones."""

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx2
import pytest

from commonplace.core.settings import Settings
from support.commands import CommandServer, clean_environment
from support.deadlines import DEADLINE_S
from support.programs import CHECKOUT
from support.service import open_app_memory, service_process

SCHEMATHESIS = Path(sys.executable).with_name("schemathesis")
EXAMPLES = int(os.environ.get("TESTS_EXAMPLES", "1"))
"""Random requests to each operation, and sequences of requests. The other phases make up some 3,500 requests whatever
this number is; `make fuzz` sets it so that there are more than ten thousand."""

QUICKER = {"NO_PROXY": "127.0.0.1", "HYPOTHESIS_STORAGE_DIRECTORY": str(CHECKOUT / ".hypothesis")}
"""No search for a proxy before each request, and the tables of Unicode that Hypothesis made in earlier runs."""

KEY = "Idempotency-Key"

CONFIGURATION = """
[parameters]
"path.appId" = "calendar"

# Ids have to be printable: Unicode's tables say what is, and no pattern does. An id may also be another user's, and the
# conversation may have ended.
[[operations]]
include-path-regex = "^/api/v1/apps(/.appId./(search|context|conversations.*))?$"
checks.positive_data_acceptance.enabled = false

# Likewise; and times are also taken as numbers of seconds, which the document does not promise.
[[operations]]
include-name = "POST /api/v1/apps/{appId}/import"
checks.positive_data_acceptance.enabled = false
checks.negative_data_rejection.enabled = false

# What is stored must not look like a secret, and must not be blank: no pattern says that.
[[operations]]
include-path-regex = "^/api/v1/(knowledge|operational|workspace)/"
checks.positive_data_acceptance.enabled = false

# An id says its kind, a time may be words, and a kind has not every verb: no schema says that.
[[operations]]
include-path-regex = "^/api/v1/(know$|memories)"
checks.positive_data_acceptance.enabled = false

# The form of an id says which verdicts fit the item: no schema says that.
[[operations]]
include-path-regex = "^/api/v1/reviews/"
checks.positive_data_acceptance.enabled = false

# One value is a list of one, and a number in a query is text.
[[operations]]
include-path = "/api/v1/operational/context"
checks.negative_data_rejection.enabled = false

# A number may come as text.
[[operations]]
include-path = "/api/v1/briefing"
checks.negative_data_rejection.enabled = false

# Their last part could be an id, and another method takes it for one that is malformed.
[[operations]]
include-path-regex = "/(entities/resolve|memories/bulk-delete|memories/bulk-edit)$"
checks.unsupported_method.enabled = false
checks.allow_header_conformance.enabled = false
checks.positive_data_acceptance.enabled = false
"""


def document_without_keys(url: str) -> dict[str, Any]:
    """Return the OpenAPI document without the header for repeated requests.

    Schemathesis would send the same key with each request to an operation: the service would refuse all but the first
    without a look at them.
    """
    document = httpx2.get(f"{url}/openapi.json", timeout=DEADLINE_S).json()
    for operations in document["paths"].values():
        for operation in operations.values():
            parameters = operation.get("parameters", [])
            operation["parameters"] = [each for each in parameters if each["name"] != KEY]
    return document


@pytest.mark.long
@pytest.mark.requirement("APP-10.1", "APP-10.2", "APP-10.3", "APP-10.4")
def test_the_service_does_what_it_says(
    settings: Settings, knowledge_url: str, tmp_path: Path, command_server: CommandServer
) -> None:
    """No fault of the server; status, headers, type and shape as described; what does not fit is refused.

    In all phases: bounds of each parameter, random requests, and sequences of requests that follow from each other.
    """

    async def fill() -> None:
        moment = "2026-01-01T00:00:00Z"
        held = [{"content": f"Fact {n}.", "createdAt": moment, "updatedAt": moment} for n in range(3)]
        async with open_app_memory(settings) as memory:
            await memory.registry.register("calendar")
            await memory.import_document("calendar", {"memories": held})

    asyncio.run(fill())
    (tmp_path / "schemathesis.toml").write_text(CONFIGURATION)
    program = command_server.program
    with service_process(settings.home, program=program, COMMONPLACE_POSTGRES_URL=knowledge_url) as service:
        (tmp_path / "openapi.json").write_text(json.dumps(document_without_keys(service.url)))
        done = subprocess.run(
            [
                *(SCHEMATHESIS, "run", "openapi.json", "--url", service.url),
                *("--max-examples", str(EXAMPLES)),
                *("--generation-deterministic", "--no-color", "--warnings", "off"),
            ],
            cwd=tmp_path,
            env=clean_environment(settings.home, **QUICKER),
            capture_output=True,
            text=True,
            timeout=(8 + EXAMPLES) * DEADLINE_S,
            check=False,
        )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Tested: 93" in done.stdout
    sys.stdout.write(done.stdout)  # The number of requests.
