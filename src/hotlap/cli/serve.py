"""``hotlap serve``: models over HTTP, by the Open Inference Protocol."""

from __future__ import annotations

import logging
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hotlap.cli.console import check_ended, common_options, print_json
from hotlap.cli.types import DURATION, SIZE
from hotlap.errors import UsageError

if TYPE_CHECKING:
    from hotlap.serve.http.limits import Limits
    from hotlap.serve.serving import Server

_PORT = 8000
_BODIES = 4
"""So many of the largest bodies may arrive at the same time, at least."""
_log = logging.getLogger("hotlap.serve")


@click.command()
@click.argument("targets", metavar="[NAME=]TARGET...", nargs=-1, required=True)
@click.option(
    "--http",
    "port",
    metavar="PORT",
    type=click.IntRange(0, 65535),
    help="The port; 0: a free one. [default: 8000]",
)
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    help="The address; 0.0.0.0 or ::, all of this machine's.",
)
@click.option(
    "--uds",
    metavar="PATH",
    type=click.Path(path_type=Path),
    help="Listen on a Unix socket; without --http, there alone.",
)
@click.option(
    "--uds-mode",
    metavar="OCTAL",
    default="600",
    show_default=True,
    help="Who may connect to the Unix socket.",
)
@click.option(
    "--tls-cert",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Speak TLS with this certificate (PEM).",
)
@click.option(
    "--tls-key",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Its key, where it is not in the same file.",
)
@click.option(
    "--token-file",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Ask every request but those for health for the bearer token in it.",
)
@click.option("--lanes", type=click.IntRange(1), help="Calls of a model at the same time.")
@click.option(
    "--queue", metavar="REQUESTS", type=click.IntRange(1), help="Requests that may wait for a model."
)
@click.option("--queue-bytes", metavar="SIZE", type=SIZE, help="Bytes that may wait for a model.")
@click.option("--max-body", metavar="SIZE", type=SIZE, help="Of a request.  [default: 64MiB]")
@click.option("--max-connections", type=click.IntRange(1), help="Open at the same time.  [default: 4096]")
@click.option(
    "--drain",
    metavar="TIME",
    type=DURATION,
    default="30s",
    show_default=True,
    help="For what was accepted, after SIGTERM.",
)
@click.option(
    "--busy-poll",
    metavar="TIME",
    type=DURATION,
    help="After an answer, look so long for the next request before sleeping, while that pays; 0: never."
    "  [default: 100us; 0 under a quota of less than 2 CPUs]",
)
@click.option("--uvloop/--no-uvloop", default=None, help="Run on uvloop.  [default: where it is installed]")
@click.option(
    "--shared-memory/--no-shared-memory",
    default=None,
    help="Let clients register shared memory.  [default: where only this machine can connect]",
)
@click.option("--allow-custom-ops", multiple=True, metavar="FILE", help="A library that a plan may load.")
@common_options
def command(
    targets: tuple[str, ...],
    port: int | None,
    host: str,
    uds: Path | None,
    uds_mode: str,
    tls_cert: Path | None,
    tls_key: Path | None,
    token_file: Path | None,
    lanes: int | None,
    queue: int | None,
    queue_bytes: int | None,
    max_body: int | None,
    max_connections: int | None,
    drain: float,
    busy_poll: float | None,
    uvloop: bool | None,
    shared_memory: bool | None,
    allow_custom_ops: tuple[str, ...],
    as_json: bool,
) -> None:
    """Serve models over HTTP until SIGTERM or Ctrl-C.

    TARGET is a model (.onnx), a plan (.toml) or a .lap folder. It is served under its file's name, or as
    NAME.

    Once every model is warm, a line on stdout says where. The first SIGTERM or Ctrl-C lets what was
    accepted be answered; the second ends the process at once.
    """
    from hotlap.serve.http.head import load_parser
    from hotlap.serve.http.tls import context
    from hotlap.serve.listening import Listener
    from hotlap.serve.loading import load
    from hotlap.serve.serving import loop_maker, serve
    from hotlap.serve.shared import SharedMemory

    load_parser()  # before a model is loaded in vain
    loop_maker(uvloop)
    if tls_key is not None and tls_cert is None:
        raise click.UsageError("--tls-key goes with --tls-cert")
    tls = None if tls_cert is None else context(tls_cert, tls_key)
    token = None if token_file is None else _token(token_file)
    listener = Listener()
    on_port = port is not None or uds is None
    try:
        if on_port:
            listener.add_port(host, _PORT if port is None else port, tls=tls is not None)
            if not listener.near and token is None:
                _log.warning("whoever can reach %s may use this server: --token-file asks for a token", host)
        if uds is not None:
            listener.add_path(uds, _mode(uds_mode))
        instead = {"lanes": lanes, "queue_requests": queue, "queue_bytes": queue_bytes}
        models = load(
            [_named(t) for t in targets],
            allow_custom_ops=allow_custom_ops,
            instead={name: value for name, value in instead.items() if value is not None},
        )
        check_ended()
        serve(
            models,
            listener,
            ready=lambda server: _say(server, as_json),
            tls=tls,
            token=token,
            limits=_limits(max_body, max_connections),
            shared=None if shared_memory is None else SharedMemory(allowed=shared_memory),
            drain=drain,
            busy_poll=busy_poll,
            uvloop=uvloop,
        )
    finally:
        listener.close()


def _named(target: str) -> str | tuple[str, str]:
    """``NAME=PATH`` in two; a path that holds an equals sign and exists is a path."""
    name, equals, path = target.partition("=")
    if not equals or not name or Path(target).exists():
        return target
    return name, path


def _mode(text: str) -> int:
    try:
        mode = int(text, 8)
    except ValueError:
        mode = -1
    if not 0 <= mode <= 0o777:
        raise click.UsageError(f"--uds-mode {text}: expected three octal digits, such as 660")
    return mode


def _token(path: Path) -> str:
    try:
        token = path.read_text("ascii").strip()
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: a token has only ASCII letters, digits and signs") from error
    if not token or not token.isprintable() or " " in token:
        raise UsageError(f"{path}: expected one line with the token, without blanks in it")
    return token


def _limits(body: int | None, connections: int | None) -> Limits:
    from hotlap.serve.http.limits import Limits

    given: dict[str, Any] = {"body": body, "connections": connections}
    if body is not None:
        given["bodies"] = max(Limits().bodies, _BODIES * body)
    return Limits(**{name: value for name, value in given.items() if value is not None})


def _say(server: Server, as_json: bool) -> None:
    names = list(server.engine.models)
    if as_json:
        print_json({"urls": server.urls, "models": names, "pid": os.getpid()})
    else:
        click.echo(f"ready: {', '.join(names)} on {', '.join(server.urls)}")
    sys.stdout.flush()
