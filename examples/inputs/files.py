"""Files of many types, made in memory, and the features that magika reads of them."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import json
import lzma
import pickle
import sqlite3
import struct
import tarfile
import wave
import zipfile
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image

PADDING, BLOCK, SIDE = 256, 4096, 1024
"""Magika reads a block of 4096 bytes at each end, strips blanks, keeps 1024, and pads with 256."""

# fmt: off
_NOUNS = [
    "order", "price", "colour", "window", "river", "engine", "garden", "letter", "bridge", "signal", "folder",
]
_VERBS = ["load", "move", "count", "open", "send", "parse", "build", "check", "store", "split"]
# fmt: on


def features(content: bytes) -> npt.NDArray[np.int32]:
    """What magika takes of a file: int32 [1, 2048], its first bytes, then its last ones.

    Source: `Magika._extract_features_from_seekable` of the package magika 1.0 (Apache-2.0).
    """
    head = content[:BLOCK].lstrip()[:SIDE]
    tail = content[-BLOCK:].rstrip()[-SIDE:]
    row = np.full((1, 2 * SIDE), PADDING, np.int32)
    row[0, : len(head)] = np.frombuffer(head, np.uint8)
    row[0, 2 * SIDE - len(tail) :] = np.frombuffer(tail, np.uint8)
    return row


def files(count: int, seed: int = 0) -> list[tuple[str, bytes]]:
    """`count` files as (type, content): every maker below in turn, each time with other words."""
    rng = np.random.default_rng(seed)
    kinds = list(MAKERS)
    return [(kind, MAKERS[kind](rng)) for kind in (kinds[n % len(kinds)] for n in range(count))]


def _words(rng: np.random.Generator, count: int) -> list[str]:
    return [str(w) for w in rng.choice(_NOUNS + _VERBS, count)]


def _pair(rng: np.random.Generator) -> tuple[str, str]:
    return str(rng.choice(_VERBS)), str(rng.choice(_NOUNS))


def _sentences(rng: np.random.Generator, count: int) -> list[str]:
    return [" ".join(_words(rng, 9)).capitalize() + "." for _ in range(count)]


def _python(rng: np.random.Generator) -> str:
    parts = ["from __future__ import annotations", "import json", "import sys", ""]
    for _ in range(6):
        verb, noun = _pair(rng)
        parts += [
            f"def {verb}_{noun}({noun}: dict, limit: int = {rng.integers(99)}) -> list:",
            f'    """{" ".join(_words(rng, 5))}."""',
            f"    return [key for key in {noun} if len(key) > limit]",
            "",
        ]
    return "\n".join([*parts, 'if __name__ == "__main__":', "    print(json.load(sys.stdin))"])


def _c(rng: np.random.Generator) -> str:
    parts = ["#include <stdio.h>", "#include <stdlib.h>", ""]
    for _ in range(5):
        verb, noun = _pair(rng)
        body = f"    for (size_t i = 0; i < n; ++i) {{\n        {noun}[i] *= {rng.integers(9)};\n    }}"
        parts += [f"static int {verb}_{noun}(int *{noun}, size_t n) {{", body, "    return 0;", "}", ""]
    return "\n".join([*parts, "int main(int argc, char **argv) {", '    printf("%d\\n", argc);', "}"])


def _rust(rng: np.random.Generator) -> str:
    parts = ["use std::collections::HashMap;", ""]
    for _ in range(5):
        verb, noun = _pair(rng)
        parts += [
            f"pub fn {verb}_{noun}({noun}: &HashMap<String, u32>) -> Option<u32> {{",
            f'    let mut best = {noun}.get("{noun}")?;',
            "    Some(*best + 1)\n}\n",
        ]
    return "\n".join(parts)


def _javascript(rng: np.random.Generator) -> str:
    parts = ['"use strict";', "const fs = require('fs');", ""]
    for _ in range(6):
        verb, noun = _pair(rng)
        parts += [
            f"async function {verb}{noun.title()}({noun}) {{",
            f"  const out = await fetch(`/api/${{{noun}.id}}`);",
            "  return out.json();\n}\n",
        ]
    return "\n".join([*parts, "module.exports = { version: 3 };"])


def _html(rng: np.random.Generator) -> str:
    body = "\n".join(f"<p class='{rng.choice(_NOUNS)}'>{s}</p>" for s in _sentences(rng, 8))
    head = f"<head><title>{rng.choice(_NOUNS)}</title></head>"
    return f"<!DOCTYPE html>\n<html>{head}\n<body>\n{body}\n</body></html>"


def _markdown(rng: np.random.Generator) -> str:
    return "\n\n".join(
        f"## {s}\n\n- **{s}**\n- [{s}](https://example.org)\n\n```sh\nls -l\n```" for s in _sentences(rng, 6)
    )


def _json(rng: np.random.Generator) -> str:
    rows = [
        {w: int(rng.integers(999)), "name": s}
        for w, s in zip(_words(rng, 9), _sentences(rng, 9), strict=True)
    ]
    return json.dumps({"items": rows, "ok": True}, indent=2)


def _csv(rng: np.random.Generator) -> str:
    sheet = io.StringIO()
    writer = csv.writer(sheet)
    writer.writerow(["id", "name", "price", "day"])
    writer.writerows(
        [n, rng.choice(_NOUNS), round(float(rng.uniform(1, 99)), 2), f"2031-0{rng.integers(1, 9)}-11"]
        for n in range(40)
    )
    return sheet.getvalue()


def _xml(rng: np.random.Generator) -> str:
    rows = "\n".join(f'  <item id="{n}"><{w}>{n * 7}</{w}></item>' for n, w in enumerate(_words(rng, 20)))
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<list>\n{rows}\n</list>\n'


def _ini(rng: np.random.Generator) -> str:
    return "\n".join(
        f"[{w}]\n{w}_path = /srv/{w}\nretries = {n}\nenabled = true\n" for n, w in enumerate(_words(rng, 9))
    )


def _sql(rng: np.random.Generator) -> str:
    return "\n".join(
        f"CREATE TABLE {w} (id INTEGER PRIMARY KEY, name TEXT NOT NULL);\n"
        f"INSERT INTO {w} VALUES ({n}, '{w}');\n"
        f"SELECT name FROM {w} WHERE id > {n} ORDER BY name;"
        for n, w in enumerate(_words(rng, 8))
    )


def _shell(rng: np.random.Generator) -> str:
    return "#!/bin/bash\nset -euo pipefail\n" + "\n".join(
        f'for {w} in "$@"; do\n  if [ -f "${w}" ]; then\n    cp "${w}" /tmp/{w}.bak\n  fi\ndone'
        for w in _words(rng, 7)
    )


def _css(rng: np.random.Generator) -> str:
    return "\n".join(
        f".{w} > a:hover {{\n  color: #{rng.integers(16**6):06x};\n  margin: {rng.integers(20)}px auto;\n}}"
        for w in _words(rng, 14)
    )


def _yaml(rng: np.random.Generator) -> str:
    return "---\n" + "\n".join(
        f"{w}:\n  - name: {w}\n    port: {rng.integers(9999)}\n    tags: [a, b]" for w in _words(rng, 12)
    )


def _plain(rng: np.random.Generator) -> str:
    return "\n".join(_sentences(rng, 25))


def _picture(rng: np.random.Generator) -> Image.Image:
    return Image.fromarray(rng.integers(0, 256, (40, 40, 3), dtype=np.uint8)).resize((160, 120))


def _image(name: str) -> Callable[[np.random.Generator], bytes]:
    def make(rng: np.random.Generator) -> bytes:
        buffer = io.BytesIO()
        _picture(rng).save(buffer, name)
        return buffer.getvalue()

    return make


def _zip(rng: np.random.Generator) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for word in _words(rng, 6):
            archive.writestr(zipfile.ZipInfo(f"{word}{rng.integers(99)}.txt"), _plain(rng))
    return buffer.getvalue()


def _tar(rng: np.random.Generator) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for word in _words(rng, 4):
            content = _plain(rng).encode()
            entry = tarfile.TarInfo(f"{word}.txt")
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return buffer.getvalue()


def _wav(rng: np.random.Generator) -> bytes:
    buffer = io.BytesIO()
    with wave.open(buffer, "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(2)
        sound.setframerate(16_000)
        sound.writeframes(rng.normal(0, 3000, 6000).astype("<i2").tobytes())
    return buffer.getvalue()


def _sqlite(rng: np.random.Generator) -> bytes:
    with sqlite3.connect(":memory:") as database:
        database.execute("CREATE TABLE stock (id INTEGER PRIMARY KEY, name TEXT)")
        database.executemany("INSERT INTO stock (name) VALUES (?)", [(w,) for w in _words(rng, 200)])
        database.commit()
        content = database.serialize()
    database.close()
    return content


def _npy(rng: np.random.Generator) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, rng.normal(size=(30, 30)))
    return buffer.getvalue()


def _elf(rng: np.random.Generator) -> bytes:
    head = struct.pack(
        "<4sBBBBB7xHHIQQQIHHHHHH",
        b"\x7fELF",
        2,
        1,
        1,
        0,
        0,
        2,
        62,
        1,
        0x401000,
        64,
        0,
        0,
        64,
        56,
        2,
        64,
        0,
        0,
    )
    return head + rng.integers(0, 256, 3000, dtype=np.uint8).tobytes()


def _text(make: Callable[[np.random.Generator], str]) -> Callable[[np.random.Generator], bytes]:
    return lambda rng: make(rng).encode()


MAKERS: dict[str, Callable[[np.random.Generator], bytes]] = {
    "python": _text(_python),
    "c": _text(_c),
    "rust": _text(_rust),
    "javascript": _text(_javascript),
    "html": _text(_html),
    "markdown": _text(_markdown),
    "json": _text(_json),
    "csv": _text(_csv),
    "xml": _text(_xml),
    "ini": _text(_ini),
    "sql": _text(_sql),
    "shell": _text(_shell),
    "css": _text(_css),
    "yaml": _text(_yaml),
    "txt": _text(_plain),
    "png": _image("PNG"),
    "jpeg": _image("JPEG"),
    "gif": _image("GIF"),
    "bmp": _image("BMP"),
    "tiff": _image("TIFF"),
    "zip": _zip,
    "tar": _tar,
    "gzip": lambda rng: gzip.compress(_plain(rng).encode(), mtime=0),
    "bzip": lambda rng: bz2.compress(_plain(rng).encode()),
    "xz": lambda rng: lzma.compress(_plain(rng).encode()),
    "zlibstream": lambda rng: zlib.compress(_plain(rng).encode()),
    "wav": _wav,
    "sqlite": _sqlite,
    "npy": _npy,
    "pickle": lambda rng: pickle.dumps({w: _words(rng, 30) for w in _words(rng, 9)}),
    "elf": _elf,
    "randombytes": lambda rng: rng.integers(0, 256, 3000, dtype=np.uint8).tobytes(),
}


def feeds(count: int, seed: int = 0) -> list[dict[str, Any]]:
    """`count` feeds for magika, one file each."""
    return [{"bytes": features(content)} for _, content in files(count, seed)]
