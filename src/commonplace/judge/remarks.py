"""Sentences for the receipt of a new text that repeats or contradicts an older one."""

from collections.abc import Sequence


def remark(own: str, *, same: Sequence[str] = (), opposed: Sequence[str] = (), item: str = "") -> str:
    """Return the sentences about the relatives of a new text; empty if it has none.

    Args:
        own: The id of the new text.
        same: The ids of older texts that say the same in other words.
        opposed: The ids of older texts that it may contradict.
        item: The id of the review, if it opposes one text.
    """
    sentences: list[str] = []
    if same:
        says = "says" if len(same) == 1 else "say"
        sentences.append(f"{' and '.join(same)} {says} the same in other words; prompts show one of them.")
    if opposed:
        kept, decide = "Both", f" {item} same|refines|corrects|distinct"
        if len(opposed) > 1:
            kept, decide = "All", ""
        sentences.append(
            f"{own} may contradict {' and '.join(opposed)}. {kept} are kept until you decide: "
            f"commonplace review{decide}"
        )
    return " ".join(sentences)
