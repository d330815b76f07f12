"""The text of a memory from a model's answer.

A sentence that looks like a secret is left out of the memory. Source: APP-02, R-APP-4, R-APP-5.
"""

import re
from collections.abc import Sequence
from typing import Final

from commonplace.apps.model.bounds import MAX_CONTENT_CHARS
from commonplace.apps.model.digests import DigestText
from commonplace.core.secrets import find_secret
from commonplace.core.text import clean_text, collapse_whitespace, is_blank, trim_to
from commonplace.language.sentences import split_sentences

MAX_SENTENCES: Final = 4
_MARKDOWN: Final = re.compile(r"\*{1,3}|__|`+|^\s*(?:#{1,6}|>|[-*•])\s+", re.MULTILINE)
_LABEL: Final = re.compile(
    r"^(?:here(?: is|'s) (?:the|a|your) )?(?:(?:concise|new|updated) )*"
    r"(?:memory(?: record)?|summary|digest|answer)\s*(?:[:\-\u2013\u2014]|\n|$)\s*",
    re.IGNORECASE,
)
_QUOTES: Final = "\"'` "
_NOTHING: Final = re.compile(
    r"(?:none|null|n/?a|no memory(?: needed| record| created| to create)?)\W*$"
    r"|none\s*[.:;,!\u2013\u2014(-]|no memory (?:needed|is needed|was created|record)\b"
    r"|nothing\W*$|\(none\)"
    r"|(?:es gibt |hier (?:ist|gibt es) )?nichts (?:\w+ ){0,2}(?:erinner|merken|behalten|festhalten|notier)\w*"
    r"|(?:no hay )?nada (?:\w+ ){0,2}(?:recordar|guardar|anotar|memorable|relevante|destacable)\b"
    r"|(?:il n'y a )?rien (?:\w+ ){0,2}(?:retenir|memoriser|mémoriser|noter|signaler)\b"
    r"|(?:there (?:is|was)|(?:the|this) conversation (?:contain|ha|hold|include)\w*|i (?:see|found|find))?\s*"
    r"(?:nothing|no(?:thing)? \w+(?: \w+)?)"
    r"(?: (?:is|was|here|in|of|the|this|that|conversation|seems|appears|to|be|really|particularly))* "
    r"(?:worth|notable|noteworthy|memorable|to remember|needs? to be remembered)\b",
    re.IGNORECASE,
)
_REFUSAL: Final = re.compile(
    r"(?:(?:i'm|i am) (?:very |so )?sorry|sorry|i apologi[sz]e|unfortunately|as an ai\b[^,.]*)?[,.]?\s*(?:but )?"
    r"i(?:'m| am)? ?(?:can(?:no|')?t|cannot|won't|will not|do not|don't|unable|not able|must decline|decline)\b",
    re.IGNORECASE,
)


def read_digest(text: str) -> DigestText:
    """Return the memory in a model's answer; without content if the model found nothing or refused.

    The text is one paragraph of at most four sentences and 200 characters. It is cut after a sentence if the sentences
    before fill at least half, else at a word. Sentences that look like secrets are left out.
    """
    said = _MARKDOWN.sub("", clean_text(text)).strip().strip(_QUOTES)
    unlabelled = _LABEL.sub("", said).strip()
    plain = collapse_whitespace(unlabelled).strip(_QUOTES)
    first_line = unlabelled.partition("\n")[0].strip(_QUOTES)
    if not plain or _NOTHING.match(plain) or _NOTHING.match(first_line):
        return DigestText(content=None)
    if _REFUSAL.match(plain.replace("\u2019", "'")):
        return DigestText(content=None, refused=True)
    return _kept(plain)


def tidy_content(text: str) -> DigestText:
    """Return a memory's text in the form of :func:`read_digest`, without looking for the words of a refusal."""
    return _kept(collapse_whitespace(clean_text(text)))


def _kept(plain: str) -> DigestText:
    if is_blank(plain):
        return DigestText(content=None)
    kept: list[str] = []
    secrets: list[str] = []
    for sentence in split_sentences(plain):
        spoken, found = _without_secrets(sentence)
        secrets += found
        if spoken:
            kept.append(spoken)
    # A secret may contain a mark that looks like the end of a sentence. Each sentence alone was looked through.
    whole = find_secret(" ".join(kept)) if len(kept) > 1 else None
    if whole is not None:
        return DigestText(content=None, secrets=(*secrets, whole.kind))
    return DigestText(content=_shortened(kept[:MAX_SENTENCES]) or None, secrets=tuple(secrets))


def _without_secrets(sentence: str) -> tuple[str, list[str]]:
    """Return a sentence without the clauses that look like secrets, and the kinds of these secrets."""
    if find_secret(sentence) is None:
        return sentence, []
    clauses = [(clause, find_secret(clause)) for clause in sentence.split("; ")]
    found = [finding.kind for _, finding in clauses if finding is not None]
    kept = "; ".join(clause for clause, finding in clauses if finding is None)
    whole = find_secret(kept)
    return (kept, found) if whole is None and found else ("", found or [whole.kind if whole else ""])


def _shortened(sentences: Sequence[str]) -> str:
    text = " ".join(sentences)
    if len(text) <= MAX_CONTENT_CHARS:
        return text
    whole = ""
    for sentence in sentences:
        longer = f"{whole} {sentence}".strip()
        if len(longer) > MAX_CONTENT_CHARS:
            break
        whole = longer
    return whole if len(whole) >= MAX_CONTENT_CHARS // 2 else trim_to(text, MAX_CONTENT_CHARS)
