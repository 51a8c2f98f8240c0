# SPDX-License-Identifier: GPL-3.0-or-later
"""Manual pages (man(7)): formatting, and conversion from Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable

BOLD, ITALIC, ROMAN = "\x01", "\x02", "\x03"  # characters that occur in no text


def escape(text: str) -> str:
    """Literal text on its own line."""
    text = text.replace("\\", "\\(rs").replace("-", "\\-").replace("…", "...")
    text = text.replace(BOLD, "\\fB").replace(ITALIC, "\\fI").replace(ROMAN, "\\fR")
    return "\\&" + text if text.startswith((".", "'")) else text


def bold(text: str) -> str:
    return escape(f"{BOLD}{text}{ROMAN}")


def inline(text: str) -> str:
    """A paragraph of Markdown."""
    text = re.sub(r"`([^`]+)`", rf"{BOLD}\1{ROMAN}", text)
    text = re.sub(r"\*\*([^*]+)\*\*", rf"{BOLD}\1{ROMAN}", text)
    text = re.sub(r"\*([^*\s][^*]*)\*", rf"{ITALIC}\1{ROMAN}", text)
    text = re.sub(r"\[([^]]+)\]\((?!https?:)[^)]*\)", r"\1", text)
    text = re.sub(r"\[([^]]+)\]\((https?:[^)]*)\)", r"\1 (\2)", text)
    return escape(text.replace("\\|", "|"))


def head(name: str, section: int, version: str, date: str) -> list[str]:
    return [f'.TH {escape(name.upper())} {section} "{date}" "ancsd {version}" "ancsd"', ".nh"]


def cells(row: str) -> list[str]:
    """The cells of a row of a Markdown table."""
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", row.strip().strip("|"))]


def table(rows: list[str]) -> Iterable[str]:
    """A table as a list of terms: the first column, explained by the others."""
    titles, body = cells(rows[0]), [cells(row) for row in rows[2:]]
    for row in body:
        yield from (".TP", inline(f"**{re.sub('[`*]', '', row[0])}**"))
        named = [(title, cell) for title, cell in zip(titles[1:], row[1:]) if cell]
        texts = [cell if len(titles) == 2 else f"*{title}*: {cell}" for title, cell in named]
        for number, text in enumerate(texts or ["\\&"]):
            yield from ([".br"] if number else [])
            yield inline(text)


def markdown(text: str) -> Iterable[str]:
    """Converts Markdown to the lines of a manual page. Headings become sections."""
    lines = text.strip().split("\n")
    at = 0
    while at < len(lines):
        start = at
        line = lines[at]
        if line.startswith("```") or line.startswith("    "):
            fence = line.startswith("```")
            at += fence
            first = at
            while at < len(lines) and (not lines[at].startswith("```") if fence else lines[at].startswith("    ")):
                at += 1
            code = [part if fence else part[4:] for part in lines[first:at]]
            yield from (".PP", ".RS 4", ".nf", *(escape(part) for part in code), ".fi", ".RE")
            at += fence
        elif match := re.match(r"(#+) (.*)", line):
            yield f".{'SH' if len(match[1]) <= 2 else 'SS'} {escape(match[2].upper() if len(match[1]) <= 2 else match[2])}"
            at += 1
        elif line.startswith("|"):
            while at < len(lines) and lines[at].startswith("|"):
                at += 1
            yield from table(lines[start:at])
        elif re.match(r"(- |\d+\. )", line):
            at += 1
            while at < len(lines) and lines[at].startswith("  "):
                at += 1
            item = " ".join(part.strip() for part in lines[start:at])
            yield from (".IP \\(bu 2", inline(re.sub(r"^(- |\d+\. )", "", item)))
        elif line.strip():
            while at < len(lines) and lines[at].strip() and not re.match(r"(- |\||#|```|\d+\. )", lines[at]):
                at += 1
            yield from (".PP", inline(" ".join(part.strip() for part in lines[start:at])))
        else:
            at += 1


def section(document: str, heading: str) -> str:
    """A section of a Markdown document, with its heading."""
    code = re.compile(r"^```.*?^```$", re.M | re.S)
    # A comment in an example is not a heading.
    blank = code.sub(lambda match: re.sub(r"^#", "x", match[0], flags=re.M), document)
    match = re.search(rf"^(#+) {re.escape(heading)}$.*?(?=^#{{1,2}} |\Z)", blank, re.M | re.S)
    if match is None:
        raise ValueError(f"there is no heading {heading!r}")
    return document[match.start():match.end()]
