"""URLs as people may see them: without their passwords."""

import re

_CREDENTIALS = re.compile(r"^([\w+.-]+://[^:@/?]*):.*@", re.DOTALL)
_SECRET_PARAMETER = re.compile(r"(password=)[^&\s]*", re.IGNORECASE)


def mask_url(url: str) -> str:
    """Return a URL fit for messages and logs: ``***`` stands for each password.

    A password with ``@``, ``/`` or ``:`` in it, which should have been percent-encoded, is masked as a whole
    too.
    """
    return _SECRET_PARAMETER.sub(r"\1***", _CREDENTIALS.sub(r"\1:***@", url))
