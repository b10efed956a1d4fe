"""Secrets out of text that people will read: keys, bearer tokens, passwords, e-mail addresses.

Redaction comes before truncation: half a key is still a key.
"""

from __future__ import annotations

import re
from typing import Any

MASK = "[redacted]"

_NAMES = (
    r"(?:authorization|api[-_]?key|x-api-key|secret|password|passwd|passphrase|access[-_]?token|token"
    r"|secret[-_]?(?:access[-_]?)?key|private[-_]?key)"
)
_SECRET_NAME = re.compile(_NAMES + r"\Z", re.IGNORECASE)
_GIVEN = rf"""{_NAMES}\\*(?P<closed>["'])?\s*[:=]\s*"""
# Behind a name in no quotes of its own a quote may be the one that ends the text around it.
# A text may hold JSON, whose quotes are escaped then: a backslash of it is one more than a quote has.
_QUOTED = re.compile(
    rf"""(?isx)
    ({_GIVEN}(?P<escape>\\*)(?P<quote>["']))
    (?(closed)|(?![\s,;:)\]}}]))
    (?: (?P=escape)\\ (?: (?P=escape)[\\"] | [^\\] )
      | (?!(?P=quote))[^\\]
    )+
    """
)
_NAMED = re.compile(
    rf"""(?ix)
    ({_GIVEN}\\*["']?)
    (?:(?:bearer|basic)\s+)?
    [^\s"',;}}\\]{{3,}}
    """
)
_BARE = re.compile(
    r"""(?x)
    \b(?:
        (?i:bearer)\s+[A-Za-z0-9._~+/=-]{8,}
      | (?:sk|pk|rk)-[A-Za-z0-9_-]{8,}
      | (?:sk|pk|rk)_(?:live|test)_[A-Za-z0-9]{8,}
      | gh[pousr]_[A-Za-z0-9]{16,}
      | github_pat_[A-Za-z0-9_]{16,}
      | glpat-[A-Za-z0-9_-]{16,}
      | xox[abprs]-[A-Za-z0-9-]{8,}
      | A[KS]IA[0-9A-Z]{12,}
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
    named = rf"\g<1>{MASK}"
    return _BARE.sub(MASK, _NAMED.sub(named, _QUOTED.sub(named, text)))


def redact_value(value: Any, *, secret: bool = False) -> Any:
    """Return a JSON value with secrets masked: in texts, in keys, and whole under a telling key.

    >>> redact_value({"password": 12345, "to": ["ada@example.org"], "n": 1})
    {'password': '[redacted]', 'to': ['[redacted]'], 'n': 1}
    """
    if isinstance(value, dict):
        return {
            redact(key): redact_value(item, secret=secret or bool(_SECRET_NAME.search(key)))
            for key, item in value.items()
        }
    if isinstance(value, list | tuple):
        return [redact_value(item, secret=secret) for item in value]
    if isinstance(value, str):
        return MASK if secret and value else redact(value)
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return MASK if secret and number else value


def excerpt(data: bytes, longest: int = 200) -> str:
    """Return the first characters of a record for people: redacted, then cut."""
    head = redact(data[:4096].decode(errors="replace"))
    return head if len(head) <= longest else head[: longest - 1] + "…"
