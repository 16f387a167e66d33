"""Pictures of text, rendered with Pillow, and the tensors that text models want of them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw, ImageFont

Floats = npt.NDArray[np.float32]
Font = ImageFont.FreeTypeFont | ImageFont.ImageFont

FONT_FOLDERS = (Path("/usr/share/fonts/truetype/dejavu"), Path("/usr/share/fonts/truetype/liberation"))
FONT_FILES = (
    "DejaVuSans.ttf",
    "DejaVuSerif.ttf",
    "DejaVuSansMono.ttf",
    "LiberationSans-Regular.ttf",
    "LiberationSerif-Regular.ttf",
)

PHRASES = (
    "The quick brown fox", "Platform 4, track 12", "Total due 128.50", "Open on Sunday", "Fresh bread daily",
    "Invoice No. 20417", "Please mind the gap", "Room 301 upstairs", "Sold out tonight", "Best before 09/31",
    "Two eggs and toast", "Keep refrigerated", "Exit only", "Speed limit 30", "Dry clean only",
    "Flight BA 2490", "Gate closes 18:45", "Made in Portugal", "Net weight 250 g", "Handle with care",
    "Museum of Glass", "Ticket 7 of 12", "Serial 88-1042-X", "Push to open", "Coffee and cake",
    "North entrance", "Call 555 0199", "Winter timetable", "Second floor", "No smoking",
    "Return by Friday", "Batch 40 of 64",
)  # fmt: skip


@cache
def fonts(size: int) -> tuple[Font, ...]:
    """Pillow's own font first, then those of the system that are there, all at `size` pixels."""
    found = [folder / name for folder in FONT_FOLDERS for name in FONT_FILES if (folder / name).exists()]
    return (ImageFont.load_default(size), *(ImageFont.truetype(str(f), size) for f in found))


def phrases(count: int, seed: int = 0) -> list[str]:
    """`count` short texts: the list above, then made-up lines of words and numbers from it."""
    rng = np.random.default_rng(seed)
    words = sorted({w for p in PHRASES for w in p.split()})
    made = [" ".join(rng.choice(words, size=rng.integers(2, 5))) for _ in range(max(0, count - len(PHRASES)))]
    return [*PHRASES, *made][:count]


def line(text: str, seed: int = 0, *, clean: bool = False) -> Image.Image:
    """One line of text as a photograph might hold it: RGB, some noise, slightly turned.

    Args:
        text: what to write.
        seed: decides font, size (24 to 47 pixels), colours, angle (at most 1.5 degrees) and noise.
        clean: no noise and no turning, for those who only want to see it read.
    """
    rng = np.random.default_rng(seed)
    choice = fonts(int(rng.integers(24, 48)))
    font = choice[int(rng.integers(len(choice)))]
    left, top, right, bottom = font.getbbox(text)
    margin = int(rng.integers(4, 12))
    paper, ink = int(rng.integers(200, 256)), int(rng.integers(0, 80))
    size = (math.ceil(right - left) + 2 * margin, math.ceil(bottom - top) + 2 * margin)
    image = Image.new("RGB", size, (paper, paper, int(rng.integers(190, 256))))
    ImageDraw.Draw(image).text((margin - left, margin - top), text, font=font, fill=(ink, ink, ink))
    if clean:
        return image
    angle = float(rng.uniform(-1.5, 1.5))
    turned = image.rotate(angle, Image.Resampling.BILINEAR, fillcolor=(paper, paper, paper))
    return _noisy(turned, rng)


def page(size: tuple[int, int], seed: int = 0) -> Image.Image:
    """A page of `size` (height, width) pixels with lines of text pasted on it, as a detector meets it."""
    rng = np.random.default_rng(seed)
    height, width = size
    sheet = Image.new("RGB", (width, height), tuple(int(v) for v in rng.integers(210, 256, 3)))
    y = int(rng.integers(8, 24))
    for number, text in enumerate(phrases(64, seed)[seed % 29 :]):
        strip = line(text, seed * 1000 + number)
        if y + strip.height > height:
            break
        sheet.paste(strip, (int(rng.integers(4, max(5, width - strip.width))), y))
        y += strip.height + int(rng.integers(6, 30))
    return _noisy(sheet, rng)


def captcha(text: str, seed: int = 0) -> Image.Image:
    """Letters that jump and lean, with lines across: 160 pixels wide, 60 high."""
    rng = np.random.default_rng(seed)
    image = Image.new("RGB", (160, 60), tuple(int(v) for v in rng.integers(215, 256, 3)))
    step = 150 // max(1, len(text))
    for number, letter in enumerate(text):
        choice = fonts(int(rng.integers(30, 42)))
        tile = Image.new("RGBA", (step + 18, 58), (0, 0, 0, 0))
        ink = tuple(int(v) for v in rng.integers(0, 120, 3))
        ImageDraw.Draw(tile).text((6, 4), letter, font=choice[int(rng.integers(len(choice)))], fill=ink)
        tile = tile.rotate(float(rng.uniform(-18, 18)), Image.Resampling.BILINEAR)
        image.paste(tile, (5 + number * step, int(rng.integers(0, 6))), tile)
    pen = ImageDraw.Draw(image)
    for _ in range(2):
        ends = [(0, int(rng.integers(60))), (159, int(rng.integers(60)))]
        pen.line(ends, fill=tuple(int(v) for v in rng.integers(60, 200, 3)))
    return _noisy(image, rng)


def codes(count: int, seed: int = 0) -> list[str]:
    """`count` captcha texts of four to six capitals and digits (none that look alike)."""
    rng = np.random.default_rng(seed)
    letters = list("ABCDEFGHJKLMNPQRSTUVWXYZ23456789")
    return ["".join(rng.choice(letters, size=rng.integers(4, 7))) for _ in range(count)]


def recognition(image: Image.Image, *, height: int = 48, least: int = 320) -> Floats:
    """What PaddleOCR's recognisers take: float32 [1, 3, 48, W] in -1 … 1, aspect kept, zeros on the right."""
    pixels = _normal(_scaled(image, height))
    padded = np.zeros((1, 3, height, max(least, pixels.shape[2])), np.float32)
    padded[0, :, :, : pixels.shape[2]] = pixels
    return padded


def detection(image: Image.Image) -> Floats:
    """What PaddleOCR's detector takes: float32 [1, 3, H, W] in -1 … 1; sides must be multiples of 32."""
    if image.width % 32 or image.height % 32:
        raise ValueError(f"a page must be a multiple of 32 pixels on each side, not {image.size}")
    return _normal(image)[None]


def classification(image: Image.Image, *, upside_down: bool = False) -> Floats:
    """What PaddleOCR's angle classifier takes: float32 [1, 3, 48, 192] in -1 … 1."""
    turned = image.rotate(180) if upside_down else image
    pixels = _normal(_scaled(turned, 48))[:, :, :192]
    padded = np.zeros((1, 3, 48, 192), np.float32)
    padded[0, :, :, : pixels.shape[2]] = pixels
    return padded


def blue_first(image: Image.Image, *, canvas: tuple[int, int] | None = None) -> Floats:
    """float32 [1, 3, H, W] in 0 … 255, blue first; on a grey canvas (height, width) where one is given."""
    if canvas is not None:
        ratio = min(canvas[0] / image.height, canvas[1] / image.width)
        image = image.resize((int(image.width * ratio), int(image.height * ratio)), Image.Resampling.BILINEAR)
        sheet = Image.new("RGB", (canvas[1], canvas[0]), (114, 114, 114))
        sheet.paste(image, (0, 0))
        image = sheet
    return np.ascontiguousarray(np.asarray(image, np.float32)[:, :, ::-1].transpose(2, 0, 1))[None]


def grey(image: Image.Image, *, height: int = 64) -> Floats:
    """What ddddocr's recognisers take: float32 [1, 1, 64, W] in 0 … 1."""
    return np.asarray(_scaled(image, height).convert("L"), np.float32)[None, None] / np.float32(255)


def lines(texts: Sequence[str], seed: int = 0) -> Iterator[Image.Image]:
    """One picture for each text; seeds count up from `seed`."""
    return (line(text, seed + number) for number, text in enumerate(texts))


def _scaled(image: Image.Image, height: int) -> Image.Image:
    width = max(1, math.ceil(image.width * height / image.height))
    return image.resize((width, height), Image.Resampling.BILINEAR)


def _normal(image: Image.Image) -> Floats:
    pixels = np.asarray(image, np.float32) / np.float32(255)
    return np.ascontiguousarray(((pixels - 0.5) / 0.5).transpose(2, 0, 1))


def _noisy(image: Image.Image, rng: np.random.Generator) -> Image.Image:
    pixels = np.asarray(image, np.float32) + rng.normal(0, rng.uniform(2, 8), (image.height, image.width, 3))
    return Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8))
