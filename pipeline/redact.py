"""Secrets out of text that people will read: keys, bearer tokens, passwords, e-mail addresses.

Redaction comes before truncation: half a key is still a key.
"""

from __future__ import annotations

import re

MASK = "[redacted]"

_NAMED = re.compile(
    r"""(?ix)
    ((?:authorization|api[-_]?key|x-api-key|secret|password|passwd|access[-_]?token|token)
     \\*["']?\s*[:=]\s*\\*["']?)
    (?:(?:bearer|basic)\s+)?
    [^\s"',;}\\]{3,}
    """
)
_BARE = re.compile(
    r"""(?x)
    \b(?:
        (?i:bearer)\s+[A-Za-z0-9._~+/=-]{8,}
      | (?:sk|pk|rk)-[A-Za-z0-9_-]{8,}
      | gh[pousr]_[A-Za-z0-9]{16,}
      | xox[abprs]-[A-Za-z0-9-]{8,}
      | AKIA[0-9A-Z]{12,}
      | AIza[0-9A-Za-z_-]{20,}
      | eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*
      | [A-Za-z0-9._%+-]{1,64}+@[A-Za-z0-9-]{1,63}+(?:\.[A-Za-z0-9-]{1,63}+){1,8}
    )
    """
)


def redact(text: str) -> str:
    """Return `text` with secrets masked.

    >>> redact('{"Authorization": "Bearer abcdef123456", "code": 401}')
    '{"Authorization": "[redacted]", "code": 401}'
    >>> redact("write to ada@example.org with sk-0123456789abcdef")
    'write to [redacted] with [redacted]'
    """
    return _BARE.sub(MASK, _NAMED.sub(rf"\g<1>{MASK}", text))


def excerpt(data: bytes, longest: int = 200) -> str:
    """Return the first characters of a record for people: redacted, then cut."""
    head = redact(data[:4096].decode(errors="replace"))
    return head if len(head) <= longest else head[: longest - 1] + "…"
