"""The adapters import the frameworks that they adapt, and nobody else does."""

import subprocess
import sys

FRAMEWORKS = ("agents", "anthropic", "langgraph", "pydantic_ai")
CHECK = """
import sys
for name in {frameworks!r}:
    sys.modules[name] = None
import commonplace.adapters.documents, commonplace.adapters.toolset, commonplace.mcp.combined
for module in ("anthropic_memory", "langgraph", "openai_agents", "pydantic_ai"):
    try:
        __import__("commonplace.adapters." + module)
    except ImportError as error:
        print(error.name.split(".")[0])
"""


def test_an_adapter_asks_for_its_own_framework_only() -> None:
    """Without the frameworks everything else works, and each adapter fails on its own one."""
    code = CHECK.format(frameworks=FRAMEWORKS)
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said.split() == ["anthropic", "langgraph", "agents", "pydantic_ai"]
