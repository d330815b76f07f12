"""The real claude CLI, against a scripted API, in a home of its own."""

from pathlib import Path

from support.programs import program_path


def claude_environment(home: Path, api_url: str) -> dict[str, str]:
    """Return an environment in which the CLI knows nothing but an API, a key for it and an empty home."""
    home.mkdir(parents=True, exist_ok=True)
    return {
        "PATH": program_path("claude"),
        "HOME": str(home),
        "ANTHROPIC_BASE_URL": api_url,
        "ANTHROPIC_API_KEY": "sk-scripted",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    }
