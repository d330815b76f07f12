"""What tests of MCP servers share: how a client calls a tool."""

from typing import Any

import jsonschema
from fastmcp import Client


async def ask(client: Client[Any], tool: str, **arguments: object) -> Any:  # noqa: ANN401 - JSON
    """Call a tool, and return its JSON or, where it has none, its text."""
    result = await client.call_tool(tool, arguments)
    return text(result) if result.structured_content is None else result.structured_content


async def refused(client: Client[Any], tool: str, **arguments: object) -> dict[str, str]:
    """Call a tool that refuses, and return its error, which the text says too."""
    result = await client.call_tool(tool, arguments, raise_on_error=False)
    assert result.is_error
    assert result.structured_content is not None
    schema = {each.name: each.output_schema for each in await client.list_tools()}[tool]
    if schema is not None:  # The client checks answers itself, but not refusals; other clients check both.
        jsonschema.validate(result.structured_content, schema)
    error: dict[str, str] = result.structured_content["error"]
    assert text(result) == f"{error['message']}. {error['hint']}"
    return error


def text(result: Any) -> str:  # noqa: ANN401 - the client's result
    """Return the one block of text of a result."""
    (block,) = result.content
    return block.text
