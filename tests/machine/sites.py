"""Folders that stand before the real packages on the import path, and hold stand-ins for onnxruntime."""

from __future__ import annotations

from pathlib import Path

ABI_ERROR = """
import sys
sys.stderr.write("A module that was compiled using NumPy 1.x cannot be run in NumPy 2.4.6\\n")
raise ImportError
"""
"""onnxruntime 1.17 beside numpy 2: the exception says nothing, stderr does."""


def stub(folder: Path, code: str) -> Path:
    """A package onnxruntime whose ``__init__.py`` is the code."""
    package = folder / "onnxruntime"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(code, encoding="utf-8")
    return folder


def hide(folder: Path, module: str = "onnxruntime") -> Path:
    """Makes Python behave as if the module were not installed."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "sitecustomize.py").write_text(
        "import sys\n"
        "class Hide:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        f"        if name == {module!r}:\n"
        "            raise ModuleNotFoundError(f'No module named {name!r}', name=name)\n"
        "sys.meta_path.insert(0, Hide())\n",
        encoding="utf-8",
    )
    return folder


def wheel_record(folder: Path, name: str, version: str, file: str = "onnxruntime/__init__.py") -> Path:
    """The record that pip leaves of an installed wheel."""
    info = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    (info / "RECORD").write_text(f"{file},,\n{info.name}/METADATA,,\n{info.name}/RECORD,,\n")
    return folder
