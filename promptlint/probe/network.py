"""No network for a program that is probed: requests to language models get canned answers, all else is denied.

The HTTP libraries are turned to a server inside the process, below the recorder's hooks, which see the requests as the
program makes them. Sockets are denied in Python, and where it can be asked to (Linux), by the kernel: then C code and
programs that this one starts have no network either. Standard library only.
"""

from __future__ import annotations

import json
import os
import socket
import sys
import threading
from collections.abc import Callable, Mapping
from functools import wraps
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import ModuleType
from typing import Any
from urllib.parse import urlsplit

from promptlint.probe import canned
from promptlint.recorder import lazy
from promptlint.trace import endpoints

MOST = 500
"""Requests that a run may make: a program that goes on for ever learns nothing new from the next answer."""

_DENIED = "promptlint probe lets nothing onto the network"
_REAL = "x-promptlint-address"


class Answers(BaseHTTPRequestHandler):
    """Answers requests to language models. The header ``_REAL`` has the address that the program meant."""

    protocol_version = "HTTP/1.1"
    count = 0
    lock = threading.Lock()

    def do_POST(self) -> None:
        """Answers one request, up to ``MOST`` of them."""
        raw = self.rfile.read(int(self.headers.get("content-length") or 0)).decode("utf-8", "replace")
        with Answers.lock:
            Answers.count += 1
            number = Answers.count
        address = self.headers.get(_REAL, "")
        body = json.loads(raw)
        reply = canned.answer(endpoints.recognise(address, raw) or "", body, f"probe{number:04}")
        if reply is None or number > MOST:
            what = f"no more than {MOST} requests a run" if reply else "no answer of this kind"
            self._send(400, "application/json", json.dumps({"error": {"message": f"promptlint probe: {what}"}}))
        elif body.get("stream") or "stream" in urlsplit(address).path.rpartition(":")[2].lower():
            lines = [f"event: {name}\n" * bool(name) + f"data: {json.dumps(data)}\n\n" for name, data in reply.events]
            done = "" if reply.events and reply.events[-1][0] else "data: [DONE]\n\n"
            self._send(200, "text/event-stream", "".join(lines) + ("" if "contents" in body else done))
        else:
            self._send(200, "application/json", json.dumps(reply.body))

    def _send(self, status: int, kind: str, text: str) -> None:
        data = text.encode()
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        """Says nothing: the output is the program's."""


def cut() -> None:
    """From now on, nothing leaves this process. Call it before the recorder's hooks are installed, and before threads
    are started.
    """
    leave()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    _deny(server.server_address[1])
    address = f"http://127.0.0.1:{server.server_address[1]}"
    lazy.watch(_TURNS, lambda name, module: _TURNS[name](module, address))


_NEW_USERS, _NEW_NETWORK = 0x10000000, 0x40000000
_SET_FLAGS, _UP = 0x8914, 0x1
"""Numbers of Linux: ``unshare(2)``, ``netdevice(7)``."""


def leave() -> bool:
    """Moves this process, and all that it starts, into a network of its own in which there is nobody else.

    False where the system has no such thing, or does not allow it.
    """
    if not sys.platform.startswith("linux"):
        return False
    import ctypes
    import fcntl
    import struct

    user, group = os.getuid(), os.getgid()
    unshare = getattr(ctypes.CDLL(None, use_errno=True), "unshare", None)
    if unshare is None:
        return False
    try:
        if unshare(_NEW_NETWORK):
            if unshare(_NEW_USERS | _NEW_NETWORK):
                return False
            for name, text in (
                ("setgroups", "deny"),
                ("uid_map", f"{user} {user} 1"),
                ("gid_map", f"{group} {group} 1"),
            ):
                with open(f"/proc/self/{name}", "w") as file:
                    file.write(text)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
            fcntl.ioctl(any_socket, _SET_FLAGS, struct.pack("16sh22x", b"lo", _UP))
    except OSError:
        return False
    return True


def _deny(port: int) -> None:
    """Lets sockets connect to nothing but our own server, and look up no names."""
    own = ("127.0.0.1", port)
    for name in ("connect", "connect_ex"):
        setattr(socket.socket, name, _guarded(getattr(socket.socket, name), own))
    for name in ("getaddrinfo", "gethostbyname", "gethostbyname_ex"):
        setattr(socket, name, _guarded_lookup(getattr(socket, name)))
    for name in ("sendto", "sendmsg"):
        setattr(socket.socket, name, _silenced(getattr(socket.socket, name)))


def _guarded(method: Callable[..., Any], own: tuple[str, int]) -> Callable[..., Any]:
    @wraps(method)
    def connect(self: socket.socket, address: Any) -> Any:
        local = isinstance(address, str | bytes) or tuple(address[:2]) == own
        if not local:
            raise ConnectionRefusedError(_DENIED)
        return method(self, address)

    return connect


def _silenced(method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def send(self: socket.socket, *args: Any) -> Any:
        if self.type == socket.SOCK_DGRAM and self.family != getattr(socket, "AF_UNIX", None):
            raise ConnectionRefusedError(_DENIED)
        return method(self, *args)

    return send


def _guarded_lookup(function: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)
    def look_up(host: Any, *args: Any, **kwargs: Any) -> Any:
        if host not in (None, "127.0.0.1", b"127.0.0.1", "localhost", ""):
            raise socket.gaierror(socket.EAI_NONAME, _DENIED)
        return function(host, *args, **kwargs)

    return look_up


def _turned(method: str, address: str, body: Any, own: str) -> str | None:
    """Where a request goes instead; ``None`` for one that is denied by the sockets."""
    text = body.decode("utf-8", "replace") if isinstance(body, bytes | bytearray) else body
    if method.upper() != "POST" or not isinstance(text, str) or endpoints.recognise(address, text) is None:
        return None
    parts = urlsplit(address)
    return f"{own}{parts.path}" + (f"?{parts.query}" if parts.query else "")


def _httpx(module: ModuleType, own: str) -> None:
    sync, later = module.HTTPTransport.handle_request, module.AsyncHTTPTransport.handle_async_request

    def turned(request: Any) -> Any:
        url = _turned(request.method, str(request.url), request.read(), own)
        if url is None:
            return request
        headers = [(k, v) for k, v in request.headers.items() if k.lower() != "host"]
        return module.Request(
            request.method, url, headers=[*headers, (_REAL, str(request.url))], content=request.read()
        )

    @wraps(sync)
    def handle(self: Any, request: Any) -> Any:
        return sync(self, turned(request))

    @wraps(later)
    async def handle_later(self: Any, request: Any) -> Any:
        await request.aread()
        return await later(self, turned(request))

    module.HTTPTransport.handle_request = handle
    module.AsyncHTTPTransport.handle_async_request = handle_later


def _urllib3(module: ModuleType, own: str) -> None:
    urlopen = module.HTTPConnectionPool.urlopen
    where = urlsplit(own)

    @wraps(urlopen)
    def opening(self: Any, method: str, url: str, body: Any = None, headers: Any = None, **kwargs: Any) -> Any:
        address = url if "://" in url else f"{self.scheme}://{self.host}{url}"
        turned = _turned(method, address, body, own)
        if turned is None:
            return urlopen(self, method, url, body, headers, **kwargs)
        pool = module.HTTPConnectionPool(where.hostname, where.port)
        path = turned.removeprefix(own)
        kwargs.pop("assert_same_host", None)
        return urlopen(pool, method, path, body, {**(headers or self.headers), _REAL: address}, **kwargs)

    module.HTTPConnectionPool.urlopen = opening


def _urllib(module: ModuleType, own: str) -> None:
    original = module.OpenerDirector.open

    @wraps(original)
    def opening(self: Any, fullurl: Any, data: Any = None, *args: Any, **kwargs: Any) -> Any:
        request = module.Request(fullurl) if isinstance(fullurl, str) else fullurl
        body = request.data if data is None else data
        address = request.full_url
        turned = _turned("POST", address, body, own) if body else None
        if turned is not None:
            request.full_url = turned
            request.add_header(_REAL, address)
        return original(self, request, data, *args, **kwargs)

    module.OpenerDirector.open = opening


def _aiohttp(module: ModuleType, own: str) -> None:
    original = module.ClientSession._request

    @wraps(original)
    async def requesting(self: Any, method: str, str_or_url: Any, **kwargs: Any) -> Any:
        body = self.json_serialize(kwargs["json"]) if kwargs.get("json") is not None else kwargs.get("data")
        build = getattr(self, "_build_url", None)
        address = str(build(str_or_url)) if build is not None else str(str_or_url)
        turned = _turned(method, address, body, own)
        if turned is None:
            return await original(self, method, str_or_url, **kwargs)
        headers = {**(kwargs.pop("headers", None) or {}), _REAL: address}
        return await original(self, method, turned, headers=headers, **kwargs)

    module.ClientSession._request = requesting


_TURNS: Mapping[str, Callable[[ModuleType, str], None]] = {
    "httpx": _httpx,
    "httpx2": _httpx,
    "urllib3.connectionpool": _urllib3,
    "urllib.request": _urllib,
    "aiohttp.client": _aiohttp,
}
