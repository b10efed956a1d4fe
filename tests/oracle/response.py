"""Response metrics of one answer, character by character and count by count."""

from __future__ import annotations

import unicodedata
from collections import Counter
from fractions import Fraction
from typing import TYPE_CHECKING

from nltk.stem.porter import PorterStemmer

if TYPE_CHECKING:
    from collections.abc import Sequence

PORTER = PorterStemmer()
ONE_EACH = [range(0x3040, 0x3100), range(0x4E00, 0xA000), range(0xAC00, 0xD7B0)]
NO_SPACES = [range(0x0E00, 0x0F00), range(0x1000, 0x10A0), range(0x1780, 0x1800)]


def words(text: str) -> list[str]:
    """Walk over the characters, and close a word wherever one ends."""
    found, word = [], ""
    for char in unicodedata.normalize("NFKC", text).lower():
        code, mark = ord(char), unicodedata.category(char) in ("Mn", "Mc", "Me")
        if any(code in block for block in ONE_EACH):
            found += [word, char]
            word = ""
        elif any(code in block for block in NO_SPACES) and not mark:
            found.append(word)
            word = char
        elif char.isalnum() or mark:
            word += char
        else:
            found.append(word)
            word = ""
    found.append(word)
    return [stem(word) for word in found if word]


def stem(word: str) -> str:
    is_english = all("a" <= char <= "z" or "0" <= char <= "9" for char in word)
    return PORTER.stem(word) if is_english and len(word) > 3 else word


def share(part: int, whole: int, empty: int) -> Fraction:
    return Fraction(part, whole) if whole else Fraction(empty)


def against_one(answer: str, reference: str) -> dict[str, Fraction]:
    said, wanted = words(answer), words(reference)
    common = sum((Counter(said) & Counter(wanted)).values())
    precision, recall = share(common, len(said), 0), share(common, len(wanted), 0)
    both = precision + recall
    return {
        "rouge1_recall": share(sum(word in said for word in wanted), len(wanted), 1),
        "rouge1_f1": 2 * precision * recall / both if both else Fraction(0),
        "response_exact": Fraction(answer.encode() == reference.encode()),
    }


def response_metrics(
    answer: str | None, references: Sequence[str] | None
) -> dict[str, float | None]:
    """Return each metric against the reference answer it is best for."""
    names = ("rouge1_recall", "rouge1_f1", "response_exact")
    if answer is None or not references:
        return dict.fromkeys(names)
    each = [against_one(answer, reference) for reference in references]
    return {name: float(max(scores[name] for scores in each)) for name in names}
