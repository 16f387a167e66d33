"""`probed`: the facts of a model that has no plan, looked up, or learned and kept."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath, PureWindowsPath

from hotlap.errors import ModelError
from hotlap.plan import Facts
from hotlap.providers import provider_named
from hotlap.runtime import ort
from hotlap.runtime.digest import file_digest
from hotlap.runtime.modelfile import check_model_file, external_names
from hotlap.runtime.opening import open as open_model
from hotlap.runtime.probe.cache import Key, read, write
from hotlap.runtime.probe.probing import SECONDS, probe
from hotlap.runtime.probe.tries import TIME_UP

__all__ = ["probed"]


def probed(
    model: str | os.PathLike[str],
    *,
    providers: str | Sequence[str] = ("cpu",),
    limits: Mapping[str, int] | None = None,
    seconds: float = SECONDS,
) -> Facts:
    """The facts of a model file, from the cache where the same model was probed with the same runtime before.

    The cache's key holds the digests of the model and its external weights, so the file is read once in any
    case. Where no cache can be kept, the model is probed each time.

    Args:
        model: the model file.
        providers: execution providers, first choice first.
        limits, seconds: as for `probe`.

    Raises:
        ModelError: the model is missing, broken, or refused by ONNX Runtime.
        InputError: no feed that could be made from its signature runs.
        DeadlineExceeded: the model's first run did not end within a minute.
        ProviderUnavailable, PlanError: as `hotlap.open` raises them.
    """
    path = Path(model)
    check_model_file(path)
    chain = (providers,) if isinstance(providers, str) else tuple(providers)
    key = Key(
        model=_digest(path),
        external={name: _external_digest(path, name) for name in sorted(external_names(path))},
        onnxruntime=str(ort.load().__version__),
        providers=tuple(provider_named(name).name for name in chain),
        limits=dict(limits or {}),
        seconds=float(seconds),
    )
    known = read(key)
    if known is not None:
        return known
    with open_model(path, providers=chain, warm=False) as runner:
        facts = probe(runner, limits=limits, seconds=seconds)
    if not facts.why.startswith(TIME_UP):  # the machine was busy: the next one may learn more
        write(key, facts)
    return facts


def _digest(path: Path) -> str:
    try:
        return file_digest(path)
    except OSError as error:
        raise ModelError(f"{path}: cannot be read: {error.strerror}") from error


def _external_digest(model: Path, name: str) -> str:
    """ "" for what is missing or leads out of the model's folder: ONNX Runtime has its own word on that."""
    if PurePosixPath(name).is_absolute() or PureWindowsPath(name).anchor or ".." in Path(name).parts:
        return ""
    path = model.parent / name
    try:
        return file_digest(path) if stat.S_ISREG(path.stat().st_mode) else ""
    except (OSError, ValueError):
        return ""
