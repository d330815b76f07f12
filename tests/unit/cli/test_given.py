"""Lines that a conversation was already given."""

from pathlib import Path

from commonplace.hosts.hooks.seen_lines import SeenLines


def test_a_heading_without_fresh_lines_is_left_out(tmp_path: Path) -> None:
    """Whether another section follows or not; the title of the block stays."""
    given = SeenLines(tmp_path, "session")
    given.add("- pinned\n- rule")
    block = "# Context\n\n## Pinned\n- pinned\n\n## Facts\n- fact\n\n## Rules\n- rule\n"

    assert given.fresh(block) == "# Context\n\n## Facts\n- fact"
    assert given.fresh("# Context\n\n## Pinned\n- new\n\n## Rules\n- rule\n\n## More\n- more") == (
        "# Context\n\n## Pinned\n- new\n\n## More\n- more"
    )
