"""Tokens of a text, cut as by sentence-transformers, in time independent of the length of the cut-off text."""

# The stubs of tokenizers do not type keyword arguments.
# pyright: reportUnknownMemberType=false

from pathlib import Path
from typing import Final

from tokenizers import Encoding, Tokenizer

from commonplace.core.errors import ModelDamagedError

WINDOWS: Final = (8_192, 65_536, 1_048_576)
"""Numbers of characters read of a long text: the first window that contains all relevant tokens is used.

256 tokens are about 1,200 characters of English, so the first window nearly always suffices. The others are for text
with few tokens: long runs of spaces, or words of more than 100 characters (one token each). Text past the last window
is ignored, which matters only if the first million characters hold fewer than 254 tokens.
Source: reading 10 million characters took 2 s (spaces) to 38 s (Chinese).
"""

_PAD: Final = "[PAD]"

_WORDS_AFTER: Final = 2
"""Words that must follow the last relevant token. The end of a window may cut one word, and a cut special token in the
text, such as ``[MASK]``, leaves two words."""


class TokenCutter:
    """A tokenizer for at most ``max_tokens`` tokens, including special tokens, padded to the longest text.

    Raises:
        ModelDamagedError: ``tokenizer.json`` is not a tokenizer, or it has no padding token.
    """

    def __init__(self, path: Path, *, max_tokens: int) -> None:
        try:
            self._tokenizer = Tokenizer.from_file(str(path))
        except Exception as error:  # tokenizers raises no more specific error.
            raise ModelDamagedError(f"{path} is not a tokenizer: {error}; reinstall the model") from error
        pad_id = self._tokenizer.token_to_id(_PAD)
        if pad_id is None:
            raise ModelDamagedError(f"{path} is not the tokenizer of a BERT model: it has no token {_PAD}")
        self._tokenizer.enable_truncation(max_length=max_tokens)
        self._tokenizer.enable_padding(pad_id=pad_id, pad_token=_PAD)

    def encode(self, texts: list[str]) -> list[Encoding]:
        """Return the tokens of each text, all padded to the length of the longest."""
        return self._tokenizer.encode_batch_fast([self.head(text) for text in texts])

    def head(self, text: str) -> str:
        """Return the shortest window of a text that has the same tokens as the whole text."""
        for window in WINDOWS:
            if len(text) <= window:
                return text
            head = text[:window]
            if self._is_full(head):
                return head
        return text[: WINDOWS[-1]]

    def _is_full(self, head: str) -> bool:
        encoding = self._tokenizer.encode(head)
        if not encoding.overflowing:
            return False
        kept = [word for word in encoding.word_ids if word is not None]
        dropped = [word for word in encoding.overflowing[-1].word_ids if word is not None]
        return dropped[-1] >= kept[-1] + _WORDS_AFTER
