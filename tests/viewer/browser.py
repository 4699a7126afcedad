"""A browser without a window, driven by the WebDriver protocol: Debian's chromium and chromium-driver.

    with Browser(folder) as browser:
        browser.open("page.html")
        browser.run("return document.title")
"""
import base64
import json
import os
import shutil
import socket
import struct
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
import zlib

# Pages are drawn by the processor: there need not be a GPU. Half the resolution takes three quarters of the time, and so
# does drawing without antialiasing.
ARGUMENTS = ["--headless=new", "--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader",
             "--webgl-antialiasing-mode=none", "--force-device-scale-factor=0.5", "--hide-scrollbars",
             "--disable-dev-shm-usage", "--no-first-run",
             "--disable-background-networking", "--disable-component-update", "--disable-extensions"]


def missing():
    """The programs that are not there."""
    return [name for name in ("chromium", "chromedriver") if not shutil.which(name)]


class Browser:
    def __init__(self, width=1280, height=800, arguments=()):
        self.size = (width, height)
        self.arguments = list(arguments)

    def __enter__(self):
        self.folder = tempfile.mkdtemp(prefix="abut-browser-")
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        self.base = f"http://127.0.0.1:{port}"
        environment = {**os.environ, "HOME": self.folder, "TMPDIR": self.folder}
        self.driver = subprocess.Popen(["chromedriver", f"--port={port}"], stdout=subprocess.DEVNULL,
                                       stderr=subprocess.DEVNULL, env=environment)
        try:
            self.session = self.begin()
        except BaseException:
            self.end()
            raise
        return self

    def begin(self):
        options = {"args": ARGUMENTS + self.arguments + [f"--window-size={self.size[0]},{self.size[1]}",
                                                         f"--user-data-dir={self.folder}/profile"]}
        wish = {"capabilities": {"alwaysMatch": {"browserName": "chrome", "goog:chromeOptions": options,
                                                 "goog:loggingPrefs": {"browser": "ALL"}}}}
        for _ in range(100):
            try:
                return self.request("POST", "/session", wish)["sessionId"]
            except (urllib.error.URLError, ConnectionError) as error:
                if isinstance(error, urllib.error.HTTPError):
                    raise
                time.sleep(0.1)
        raise RuntimeError("chromedriver does not answer")

    def __exit__(self, *_):
        try:
            self.request("DELETE", f"/session/{self.session}")
        except Exception:  # it ends anyway
            pass
        self.end()

    def end(self):
        self.driver.terminate()
        try:
            self.driver.wait(10)
        except subprocess.TimeoutExpired:
            self.driver.kill()
            self.driver.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def request(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.base + path, data, {"Content-Type": "application/json"}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=120) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            text = error.read().decode(errors="replace")
            if path == "/session":
                raise
            raise RuntimeError(f"{method} {path}: {text[:2000]}") from None

    def call(self, method, path, body=None):
        return self.request(method, f"/session/{self.session}{path}", body)

    def open(self, page):
        """Opens a file and waits until it has drawn something; gives what it says of itself."""
        self.call("POST", "/url", {"url": "file://" + os.path.abspath(page)})
        return self.wait("return document.documentElement.dataset.ready || null")

    def run(self, script, *values):
        return self.call("POST", "/execute/sync", {"script": script, "args": list(values)})

    def wait(self, script, seconds=60):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            value = self.run(script)
            if value is not None:
                return value
            time.sleep(0.05)
        raise RuntimeError(f"this never came: {script}")

    def drawn(self):
        """Waits for the next frame to be drawn, and shown."""
        return self.call("POST", "/execute/async", {
            "script": "const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(() => done(1)));",
            "args": []})

    def log(self):
        """The messages of the console, without remarks of the browser about its own drawing."""
        entries = self.call("POST", "/se/log", {"type": "browser"})
        return [e for e in entries if "GPU stall" not in e["message"] and "GL Driver Message" not in e["message"]]

    def press(self, key):
        self.call("POST", "/actions", {"actions": [{"type": "key", "id": "keys", "actions": [
            {"type": "keyDown", "value": key}, {"type": "keyUp", "value": key}]}]})

    def click(self, x, y):
        self.call("POST", "/actions", {"actions": [{"type": "pointer", "id": "mouse", "actions": [
            {"type": "pointerMove", "x": int(x), "y": int(y)}, {"type": "pointerDown", "button": 0},
            {"type": "pointerUp", "button": 0}]}]})

    def drag(self, x, y, dx, dy):
        self.call("POST", "/actions", {"actions": [{"type": "pointer", "id": "mouse", "actions": [
            {"type": "pointerMove", "x": int(x), "y": int(y)}, {"type": "pointerDown", "button": 0},
            {"type": "pointerMove", "duration": 50, "x": int(x + dx), "y": int(y + dy)},
            {"type": "pointerUp", "button": 0}]}]})

    def screenshot(self, path=None):
        """The window as a PNG; as (width, height, rows of RGB bytes) where no path is given."""
        png = base64.b64decode(self.call("GET", "/screenshot"))
        if path:
            with open(path, "wb") as file:
                file.write(png)
        return pixels(png)


def pixels(png):
    """Decodes the PNGs that browsers make: 8 bits, RGB or RGBA, not interlaced."""
    at, data = 8, b""
    while at < len(png):
        length, kind = struct.unpack(">I4s", png[at:at + 8])
        body = png[at + 8:at + 8 + length]
        if kind == b"IHDR":
            width, height, depth, colour, _, _, interlaced = struct.unpack(">IIBBBBB", body)
            assert depth == 8 and colour in (2, 6) and not interlaced
        elif kind == b"IDAT":
            data += body
        at += 12 + length
    each = 3 if colour == 2 else 4
    raw, stride = zlib.decompress(data), width * each
    rows, before = [], bytearray(stride)
    for y in range(height):
        kind, line = raw[y * (stride + 1)], bytearray(raw[y * (stride + 1) + 1:(y + 1) * (stride + 1)])
        if kind == 1:
            for i in range(each, stride):
                line[i] = (line[i] + line[i - each]) & 255
        elif kind == 2:
            line = bytearray((a + b) & 255 for a, b in zip(line, before))
        elif kind == 3:
            for i in range(stride):
                line[i] = (line[i] + ((line[i - each] if i >= each else 0) + before[i]) // 2) & 255
        elif kind == 4:
            for i in range(stride):
                a, b, c = (line[i - each], before[i], before[i - each]) if i >= each else (0, before[i], 0)
                p = a + b - c
                pa, pb, pc = abs(p - a), abs(p - b), abs(p - c)
                line[i] = (line[i] + (a if pa <= pb and pa <= pc else b if pb <= pc else c)) & 255
        before = line
        rows.append(bytes(line) if each == 3 else bytes(v for i, v in enumerate(line) if i % 4 < 3))
    return width, height, rows
