# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes a screenshot small: at most 256 colours, which a drawing hardly exceeds, in a palette."""

from __future__ import annotations

import struct
import zlib
from collections import Counter


def _chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def _read(png: bytes) -> tuple[int, int, list[bytes]]:
    """Width, height, and the lines as RGB."""
    place, content = 8, b""
    width = height = size = 0
    while place < len(png):
        length, name = struct.unpack(">I4s", png[place:place + 8])
        data = png[place + 8:place + 8 + length]
        if name == b"IHDR":
            width, height, depth, kind = struct.unpack(">IIBB", data[:10])
            size = {2: 3, 6: 4}[kind]
            assert depth == 8
        elif name == b"IDAT":
            content += data
        place += length + 12
    raw = zlib.decompress(content)
    step = width * size
    before = bytearray(step)
    lines = []
    for number in range(height):
        start = number * (step + 1)
        kind, line = raw[start], bytearray(raw[start + 1:start + 1 + step])
        for at in range(step) if kind else ():
            left = line[at - size] if at >= size else 0
            above, corner = before[at], before[at - size] if at >= size else 0
            if kind == 1:
                line[at] = line[at] + left & 255
            elif kind == 2:
                line[at] = line[at] + above & 255
            elif kind == 3:
                line[at] = line[at] + (left + above) // 2 & 255
            else:
                estimate = left + above - corner
                nearest = min((left, above, corner), key=lambda one: abs(estimate - one))
                line[at] = line[at] + nearest & 255
        before = line
        lines.append(bytes(line) if size == 3 else b"".join(line[at:at + 3] for at in range(0, step, 4)))
    return width, height, lines


def small(png: bytes) -> bytes:
    """The same picture with a palette of its most frequent colours; others become the nearest."""
    width, height, lines = _read(png)
    counts: Counter[bytes] = Counter()
    for line in lines:
        counts.update(line[at:at + 3] for at in range(0, len(line), 3))
    palette = [colour for colour, _ in counts.most_common(200)]
    numbers = {colour: index for index, colour in enumerate(palette)}
    for colour in counts:
        if colour not in numbers:
            numbers[colour] = min(range(len(palette)), key=lambda index: sum((a - b) ** 2 for a, b in zip(palette[index], colour)))
    content = b"".join(b"\0" + bytes(numbers[line[at:at + 3]] for at in range(0, len(line), 3)) for line in lines)
    return b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)) \
        + _chunk(b"PLTE", b"".join(palette)) + _chunk(b"IDAT", zlib.compress(content, 9)) + _chunk(b"IEND", b"")
