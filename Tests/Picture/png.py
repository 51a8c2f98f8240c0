# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes a screenshot small: at most 256 colours, which a drawing hardly exceeds, in a palette."""

from __future__ import annotations

import struct
import zlib
from collections import Counter

#: The pixels of a picture in base64, four bytes each, as a script of a page.
PIXELS = """(async () => {
  const image = new Image();
  image.src = 'data:image/png;base64,PICTURE';
  await image.decode();
  const context = new OffscreenCanvas(image.width, image.height).getContext('2d');
  context.drawImage(image, 0, 0);
  const bytes = context.getImageData(0, 0, image.width, image.height).data;
  let text = '';
  for (let at = 0; at < bytes.length; at += 32768) text += String.fromCharCode(...bytes.subarray(at, at + 32768));
  return btoa(text);
})()"""


def small(width: int, pixels: bytes) -> bytes:
    """A PNG of these pixels with a palette of their most frequent colours; others become the nearest."""

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    colours = [pixels[at:at + 3] for at in range(0, len(pixels), 4)]
    counts = Counter(colours)
    palette = [colour for colour, _ in counts.most_common(200)]
    numbers = {colour: min(range(len(palette)), key=lambda index: sum((a - b) ** 2 for a, b in zip(palette[index], colour)))
               for colour in counts}
    lines = (b"\0" + bytes(numbers[colour] for colour in colours[at:at + width]) for at in range(0, len(colours), width))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, len(colours) // width, 8, 3, 0, 0, 0)) \
        + chunk(b"PLTE", b"".join(palette)) + chunk(b"IDAT", zlib.compress(b"".join(lines), 9)) + chunk(b"IEND", b"")
