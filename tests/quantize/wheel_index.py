"""Small data-only wheels, and a local server for them that honours ranges and can break off."""

from __future__ import annotations

import hashlib
import io
import random
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import PurePosixPath

from quantize.wheels import Wheel

# Would leave its mark if anything of a wheel were installed or imported.
TRAP = "raise SystemExit('a data-only wheel was imported')\n"


def part(number: int, size: int = 5000) -> bytes:
    """The payload of a part: incompressible, another one for each number."""
    return random.Random(number).randbytes(size)


def wheel_bytes(package: str, member: str, payload: bytes) -> bytes:
    """A wheel file that holds `payload` as `member` and code that must never run."""
    buffer = io.BytesIO()
    folder = package.replace("-", "_")
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(f"{folder}/__init__.py", TRAP)
        archive.writestr(f"{folder}.pth", "import os; os._exit(3)\n")
        archive.writestr(member, payload)
        archive.writestr(f"{folder}-0.9.0.dist-info/METADATA", f"Metadata-Version: 2.1\nName: {package}\n")
    return buffer.getvalue()


@dataclass
class Index:
    """Files by name. `cut` ends a reply after so many bytes, once; `ranges` has every request's Range header."""

    files: dict[str, bytes] = field(default_factory=dict)
    cut: dict[str, int] = field(default_factory=dict)
    status: dict[str, int] = field(default_factory=dict)
    honours_ranges: bool = True
    ranges: list[tuple[str, str | None]] = field(default_factory=list)
    encodings: set[str | None] = field(default_factory=set)
    url: str = ""

    def add(self, number: int, package: str | None = None) -> Wheel:
        """Put the wheel of part `number` there, and pin it."""
        package = package or f"tiny-part{number}"
        member = f"tiny_part{number}/data/part{number:02}.bin"
        data = wheel_bytes(package, member, part(number))
        self.files[package] = data
        return Wheel(package, "0.9.0", hashlib.sha256(data).hexdigest(), member)

    def resolve(self, wheels: list[Wheel]) -> dict[str, str]:
        """What pip would report."""
        return {wheel.package: f"{self.url}/{wheel.package}" for wheel in wheels}

    @contextmanager
    def serving(self) -> Iterator[Index]:
        """The files over HTTP on loopback."""
        index = self

        class Page(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                index.answer(self)

            def log_message(self, format: str, *args: object) -> None:
                return

        server = ThreadingHTTPServer(("127.0.0.1", 0), Page)
        self.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield self
        finally:
            server.shutdown()
            thread.join()
            server.server_close()

    def answer(self, page: BaseHTTPRequestHandler) -> None:
        """One reply: the whole, a range of it, or less than was promised."""
        name = PurePosixPath(page.path).name
        asked = page.headers.get("Range")
        self.ranges.append((name, asked))
        self.encodings.add(page.headers.get("Accept-Encoding"))
        data, status, first = self.files[name], self.status.get(name, 200), 0
        if asked and self.honours_ranges and status == 200:
            first = int(asked.removeprefix("bytes=").removesuffix("-"))
            status = 206 if first < len(data) else 416
        body = data[first:] if status < 400 else b""
        page.send_response(status)
        page.send_header("Content-Length", str(len(body)))
        page.end_headers()
        page.wfile.write(body[: self.cut.pop(name, len(body))])
