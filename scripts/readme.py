"""The readme for a package index, which shows no other file: its relative links become links to the repository."""

import re

LINK = re.compile(r"(?P<image>!?)\[(?P<text>[^\]]*)\]\((?P<path>(?![a-z]+:|#)[^)\s]+)\)")


def with_absolute_links(text: str, repository: str, tag: str) -> str:
    """Return Markdown whose relative links lead to the files of a tag; images lead to their content."""

    def absolute(found: re.Match[str]) -> str:
        kind = "raw" if found["image"] else "tree" if found["path"].endswith("/") else "blob"
        return f"{found['image']}[{found['text']}]({repository}/{kind}/{tag}/{found['path']})"

    return LINK.sub(absolute, text)


def addresses(repository: str) -> dict[str, str]:
    """Return the links that an index lists beside the readme."""
    return {
        "Changelog": f"{repository}/blob/HEAD/CHANGELOG.md",
        "Documentation": f"{repository}/tree/HEAD/docs",
        "Issues": f"{repository}/issues",
        "Source": repository,
    }
