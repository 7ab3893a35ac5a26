"""A headless Chromium, driven through its DevTools protocol over a pipe: no package is needed, only Debian's ``chromium``."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import select
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

PATIENCE_S = 60


class BrowserMissing(Exception):
    """This machine has no Chromium."""


class Browser:
    """One page of a browser.

    Attributes:
        complaints: what the browser has complained of: refused scripts and addresses, and errors of scripts.
    """

    def __init__(self, write: int, read: int) -> None:
        self._write, self._read, self._rest, self._number, self._session = write, read, b"", 0, ""
        self.complaints: list[str] = []
        target = self._ask("Target.createTarget", url="about:blank")["targetId"]
        self._session = self._ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for each in ("Page", "Runtime", "Log"):
            self._ask(f"{each}.enable")

    def open(self, url: str, width: int, scheme: str) -> None:
        """Open a page in a window of this width, in the colour scheme ``light`` or ``dark``; complaints are forgotten."""
        self.resize(width)
        self._ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.complaints.clear()
        self._ask("Page.navigate", url=url)

    def resize(self, width: int) -> None:
        """Give the window another width."""
        self._ask(
            "Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=width < 500
        )

    def ask(self, expression: str) -> Any:
        """Return the value of an expression, or of its promise, in the page's script."""
        found = self._ask("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def until(self, condition: str) -> None:
        """Wait until a condition of the page's script holds."""
        drawn = f"new Promise((go) => {{ const look = () => {condition} ? go(true) : setTimeout(look, 20); look(); }})"
        assert self.ask(drawn)

    def screenshot(self, path: Path) -> None:
        """Write the whole page as a PNG."""
        clip = {**self._ask("Page.getLayoutMetrics")["cssContentSize"], "scale": 1}
        shot = self._ask("Page.captureScreenshot", captureBeyondViewport=True, clip=clip)
        path.write_bytes(base64.b64decode(shot["data"]))

    def _ask(self, method: str, **given: Any) -> dict[str, Any]:
        self._number += 1
        asked = {"id": self._number, "method": method, "params": given}
        if self._session:
            asked["sessionId"] = self._session
        os.write(self._write, json.dumps(asked).encode() + b"\0")
        while True:
            said = self._said()
            if said.get("method") in ("Log.entryAdded", "Runtime.exceptionThrown"):
                self.complaints.append(json.dumps(said["params"]))
            if said.get("id") == self._number:
                assert "error" not in said, said
                result: dict[str, Any] = said["result"]
                return result

    def _said(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            assert select.select([self._read], [], [], PATIENCE_S)[0], "the browser says nothing"
            some = os.read(self._read, 1 << 16)
            assert some, "the browser has ended"
            self._rest += some
        line, _, self._rest = self._rest.partition(b"\0")
        said: dict[str, Any] = json.loads(line)
        return said


@contextlib.contextmanager
def chromium(profile: Path) -> Iterator[Browser]:
    """Start a browser with an empty profile. Raises BrowserMissing."""
    program = shutil.which("chromium") or shutil.which("google-chrome")
    if program is None:
        raise BrowserMissing("there is no browser: apt-get install chromium")
    to_read, write = os.pipe()
    read, to_write = os.pipe()
    # The protocol wants descriptors 3 and 4. A sandbox is not to be had as root, and only pages of this project are shown.
    command = 'exec 3<&"$1" 4>&"$2"; shift 2; exec "$@"'
    options = [
        "--headless",
        "--no-sandbox",
        "--hide-scrollbars",
        "--disable-gpu",  # it would be imitated by the processor
        "--remote-debugging-pipe",
        f"--user-data-dir={profile}",
    ]
    process = subprocess.Popen(
        ["bash", "-c", command, "bash", str(to_read), str(to_write), program, *options],
        pass_fds=(to_read, to_write),
        stderr=subprocess.DEVNULL,
    )
    os.close(to_read)
    os.close(to_write)
    try:
        yield Browser(write, read)
    finally:
        process.kill()
        process.wait(PATIENCE_S)
        os.close(write)
        os.close(read)
