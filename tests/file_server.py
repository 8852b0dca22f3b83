"""A server of files on this machine, for tests of downloads: with and without ranges, and with broken answers."""

import functools
import http.server
import re
import threading
from pathlib import Path


class Handler(http.server.SimpleHTTPRequestHandler):
    """Serves a folder, keeps the paths asked for, and breaks off in the middle where told to."""

    asked: list[str]
    ranges: list[str]
    broken: set[str]
    knows_ranges: bool

    def do_GET(self) -> None:
        self.asked.append(self.path)
        wanted = self.headers.get("Range", "")
        if wanted:
            self.ranges.append(wanted)
        place = Path(self.translate_path(self.path))
        whole = not (wanted and self.knows_ranges)
        if not place.is_file() or (whole and self.path not in self.broken):
            return super().do_GET()
        content = place.read_bytes()
        start = 0 if whole else int(re.fullmatch(r"bytes=(\d+)-", wanted)[1])
        if start >= len(content) > 0:
            return self.send_error(416)
        self.send_response(200 if whole else 206)
        if not whole:
            self.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
        self.send_header("Content-Length", str(len(content) - start))
        self.end_headers()
        stop = (start + len(content)) // 2 if self.path in self.broken else len(content)
        self.wfile.write(content[start:stop])
        self.close_connection = True
        return None

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """The test run stays quiet."""


class Mirror:
    """A server of the files in a new folder, until it is closed."""

    def __init__(self, folder: Path, knows_ranges: bool = False) -> None:
        self.folder, self.broken = folder, set()
        self.asked, self.ranges = [], []
        folder.mkdir()
        own = {
            "asked": self.asked,
            "ranges": self.ranges,
            "broken": self.broken,
            "knows_ranges": knows_ranges,
        }
        kind = type("Own", (Handler,), own)
        self.server = http.server.ThreadingHTTPServer(
            ("127.0.0.1", 0), functools.partial(kind, directory=str(folder))
        )
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_port}/"

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()
