"""A page as tests read it: sections, tables, facts."""

from __future__ import annotations

import re
from html.parser import HTMLParser

VOID = {"br", "meta", "wbr", "circle", "line", "path"}


class Page(HTMLParser):
    """A page as its sections: each a title, and tables as rows of cell texts."""

    def __init__(self, text):
        super().__init__()
        self.open, self.sections, self.title = [], {}, None
        self.links, self.names = [], []
        self.feed(text)
        self.close()
        assert self.open == []
        assert len(self.names) == len(set(self.names))
        assert {link.removeprefix("#") for link in self.links} <= set(self.names)

    def handle_starttag(self, tag, attrs):
        if tag not in VOID:
            self.open.append(tag)
        if tag == "h2":
            self.title = ""
        elif tag == "table":
            self.sections[self.title].append([])
        elif tag == "tr":
            self.sections[self.title][-1].append([])
        elif tag in ("td", "th"):
            self.sections[self.title][-1][-1].append("")
        assert not [name for name, _ in attrs if name == "src" or name.startswith("on")]
        self.links += [value for name, value in attrs if name == "href"]
        self.names += [value for name, value in attrs if name == "id"]

    def handle_endtag(self, tag):
        assert tag in VOID or self.open.pop() == tag
        if tag == "h2":
            self.sections[self.title] = []

    def handle_data(self, data):
        if self.open and self.open[-1] == "h2":
            self.title += data
        elif {"td", "th"} & set(self.open) and "small" not in self.open:
            self.sections[self.title][-1][-1][-1] += data

    def table(self, section, number=0):
        """The rows of a table as dicts, without the small print in its cells."""
        head, *rows = self.sections[section][number]
        return [dict(zip(head, row, strict=True)) for row in rows]

    def metric(self, section, name, number=0):
        (row,) = (row for row in self.table(section, number) if row["metric"] == name)
        return row


def facts(text):
    return dict(re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", text))
