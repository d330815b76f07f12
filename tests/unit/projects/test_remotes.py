"""Remotes in one form: the same repository, however its URL is written, and no secret for other devices."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.projects import Clues
from commonplace.projects.remotes import are_two_of_one_host, canonical_url, shared_url

pytestmark = pytest.mark.requirement("SYN-10.1")

SECRET = "hunter2"


@pytest.mark.parametrize(
    "url",
    [
        "https://github.com/a/b.git",
        "https://GitHub.com/a/b/",
        "https://github.com:443/a/b",
        "https://ann:secret@github.com/a/b.git",
        "https://token@github.com/a/b",
        "git@github.com:a/b",
        "git@github.com:a/b.git",
        "github.com:a/b",
        "ssh://git@github.com/a/b",
        "ssh://git@GITHUB.com:22/a/b.git",
        "git://github.com/a/b.git",
        "//github.com/a/b",
    ],
)
def test_a_repository_has_one_url(url: str) -> None:
    """Also after its URL was brought into this form before."""
    assert canonical_url(url) == shared_url(url) == "//github.com/a/b"


@pytest.mark.parametrize(
    ("url", "other"),
    [
        ("https://github.com/a/b", "https://github.com/a/B"),
        ("https://github.com/a/b", "https://gitlab.com/a/b"),
        ("https://git.example.org/a/b", "https://git.example.org:8443/a/b"),
        ("/srv/git/b.git", "/srv/git/c.git"),
        ("https://git.example.org/git?p=b", "https://git.example.org/git?p=c"),
    ],
)
def test_two_repositories_have_two_urls(url: str, other: str) -> None:
    """The path keeps its case, and a port counts."""
    assert canonical_url(url) != canonical_url(other)


@pytest.mark.parametrize(
    "url",
    [
        "/srv/git/b.git",
        "../b",
        "file:///srv/git/b.git",
        "C:/git/b",
        r"C:\git\b",
        "http://localhost:3000/a/b",
        "ssh://git@127.0.0.1/a/b",
        "http://[::1]:3000/a/b",
        "https://git.example.org/git?p=b",
        "https://git.example.org/",
        "",
    ],
)
def test_what_only_this_device_reaches_stays_here(url: str) -> None:
    """A path of one device is another repository on another one."""
    assert shared_url(url) is None


@given(st.text(st.characters(codec="ascii", categories=("L", "N", "P", "S")), max_size=12))
def test_no_secret_leaves_the_device(end: str) -> None:
    """Neither a password nor a token alone, however badly it is encoded."""
    secret = f"{SECRET}{end}"
    for url in (
        f"https://ann:{secret}@github.com/a/b",
        f"https://{secret}@github.com/a/b",
        f"https://{secret}:x-oauth-basic@github.com/a/b",
        f"oauth2:{secret}@github.com:a/b",
        f"https://github.com/a/b?access_token={secret}",
    ):
        assert SECRET not in (shared_url(url) or "")


def test_a_fork_is_another_repository_of_the_same_host() -> None:
    """Another spelling, another host or a local path are no sign of a fork."""
    origin = "https://github.com/a/b"
    assert are_two_of_one_host(origin, "git@github.com:fork/b")
    assert not are_two_of_one_host(origin, "git@github.com:a/b.git")
    assert not are_two_of_one_host(origin, "git@github-work:a/b")
    assert not are_two_of_one_host(origin, "/srv/git/b")


def test_clues_agree_by_the_remote_or_the_first_commit() -> None:
    """A clue that is missing agrees with nothing."""
    clues = Clues(remote="https://github.com/a/b.git", root_commit="1")
    assert clues.agree(Clues(remote="git@github.com:a/b", root_commit="2"))
    assert clues.agree(Clues(root_commit="1"))
    assert not clues.agree(Clues(remote="git@github.com:c/b", root_commit="2"))
    assert not Clues().agree(Clues())
    assert clues.shared() == Clues(remote="//github.com/a/b", root_commit="1")
