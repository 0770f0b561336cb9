"""The server of a viewer: its address, and the requests that it answers.

viser serves a page and a websocket that controls its content, both by one function of `websockets`. This module adds to
it a check of requests: one with a foreign host name (DNS rebinding) or from a foreign page is refused before viser
handles it. A header keeps foreign pages from framing the viewer and catching clicks (clickjacking).
"""

from __future__ import annotations

import inspect
import ipaddress
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

from armwright.errors import InputError
from armwright.interrupts import deferred

LOCAL_HOST = "127.0.0.1"
LOOPBACK_HOSTS = frozenset({"127.0.0.1", "localhost", "::1"})
ALL_INTERFACES = frozenset({"0.0.0.0", "::"})
_LOCAL_PAGES = (f"{scheme}://{host}:*" for scheme in ("http", "https") for host in ("localhost", "127.0.0.1"))
FRAME_ANCESTORS = " ".join(("'self'", *_LOCAL_PAGES, "vscode-webview:", "vscode-file:"))
"""Pages that may embed the viewer: its own, and notebooks on this machine."""

FIRST_PORT = 8080
"""The first port that is tried if none is given."""

_starting = threading.Lock()


@deferred()
def viser_package() -> Any:
    """Return viser; without it an InputError says how to install it."""
    try:
        import viser  # noqa: PLC0415  (takes half a second, and only viewers need it)
    except ImportError:
        raise InputError("the viewer needs viser: pip install 'armwright[view]'") from None
    return viser


def is_allowed(host: str | None, origin: str | None, listening: str) -> bool:
    """Return True if a server that listens there may answer a request with this host and origin.

    The host must be an address or the name of this machine, since a foreign page can point its own name here. The
    origin must be the page that is served here.
    """
    try:
        named = urlsplit(f"//{host}").hostname
        if named is None or not _is_here(named, listening):
            return False
        return origin is None or (urlsplit(origin).netloc == host and urlsplit(origin).scheme in ("http", "https"))
    except ValueError:
        return False


def _is_here(name: str, listening: str) -> bool:
    if name in LOOPBACK_HOSTS or name == listening:
        return True
    if listening in LOOPBACK_HOSTS:
        return False
    return name == socket.gethostname().lower() or _is_address(name)


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def start_server(host: str, port: int | None, label: str) -> Any:
    """Start a viser server that checks every request; it prints nothing."""
    viser = viser_package()
    if not isinstance(host, str) or not host:
        raise InputError(f"host = {host!r}; expected an address of this machine, such as {LOCAL_HOST}")
    if port is not None and (isinstance(port, bool) or not isinstance(port, int) or not 0 < port < 1 << 16):
        raise InputError(f"port = {port!r}; expected a number from 1 to 65535")
    _check_address(host, port)
    with deferred(), _starting, _checked_requests(host) as checked, silenced():
        server = viser.ViserServer(host=host, port=port or FIRST_PORT, label=label, verbose=False)
    if not checked:
        server.stop()
        raise InputError(f"requests to viser {viser.__version__} cannot be checked; install another version")
    if port is not None and server.get_port() != port:
        server.stop()
        raise InputError(f"port {port} is taken; choose another, or none for one that is free")
    _disable_sharing(server)
    return server


def _check_address(host: str, port: int | None) -> None:
    """Raise an InputError unless the address is of this machine and the port is free; viser tries other ports."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as trial:
        trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            trial.bind((host, port or 0))
        except (OSError, UnicodeError) as error:
            where = host if port is None else f"{host}, port {port}"
            raise InputError(f"cannot listen at {where}: {error}; choose another --port or --host") from None


@contextmanager
def _checked_requests(listening: str) -> Iterator[list[bool]]:
    """Make `websockets` check all requests of servers started within; the list is not empty if one did."""
    from websockets.asyncio import server as module  # noqa: PLC0415  (comes with viser)

    original, used = module.serve, list[bool]()

    def serve(*arguments: Any, process_request: Any = None, **settings: Any) -> Any:
        async def check(connection: Any, request: Any) -> Any:
            headers = request.headers
            hosts, origins = headers.get_all("Host"), headers.get_all("Origin")
            unambiguous = len(hosts) == 1 and len(origins) <= 1
            if not (unambiguous and is_allowed(hosts[0], origins[0] if origins else None, listening)):
                return connection.respond(HTTPStatus.FORBIDDEN, "This viewer only answers its own page.\n")
            answer = None if process_request is None else process_request(connection, request)
            answer = await answer if inspect.isawaitable(answer) else answer
            if answer is not None:
                answer.headers["Content-Security-Policy"] = f"frame-ancestors {FRAME_ANCESTORS}"
            return answer

        used.append(True)
        return original(*arguments, process_request=check, **settings)

    module.serve = serve
    try:
        yield used
    finally:
        module.serve = original


def _disable_sharing(server: Any) -> None:
    """Disable the tunnel to the internet that viser opens on request of a websocket."""
    from viser import _messages  # noqa: PLC0415

    for message in (_messages.ShareUrlRequest, _messages.ShareUrlDisconnect):
        server._websock_server.unregister_handler(message)
    server.gui.configure_theme(show_share_button=False, show_logo=False)


@contextmanager
def silenced() -> Iterator[None]:
    """Silence viser, which prints when it starts and stops."""
    import rich  # noqa: PLC0415

    screen = rich.get_console()
    before, screen.quiet = screen.quiet, True
    try:
        yield
    finally:
        screen.quiet = before
