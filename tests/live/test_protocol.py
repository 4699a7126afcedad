"""The server of live pages against clients that misbehave: wrong tokens, hosts, origins, methods and sizes, slow and many
connections; and what happens at the end. No browser is needed.
Arguments: abut command, source folder, build folder.
"""
import http.client
import json
import os
import re
import signal
import socket
import struct
import subprocess
import sys
import tempfile

tool = os.path.abspath(sys.argv[1])
scratch = tempfile.TemporaryDirectory(prefix="abut-live-")
os.chdir(scratch.name)
with open("viewer.js", "w") as file:
    file.write("// not the viewer")
environment = {**os.environ, "ABUT_VIEWER": os.path.abspath("viewer.js")}


def run(*words, code=0):
    done = subprocess.run([tool, *words], capture_output=True, text=True, env=environment, stdin=subprocess.DEVNULL)
    assert done.returncode == code, (words, done.returncode, done.stderr)
    return done.stderr


def start(*words):
    """The process, and port and token of its page."""
    process = subprocess.Popen([tool, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               env=environment)
    found = re.search(r"http://127\.0\.0\.1:(\d+)/([0-9a-f]{32})/", process.stderr.readline())
    assert found, process.communicate()
    return process, int(found[1]), found[2]


run("make", "box", "a.ply", "--quiet")
run("make", "torus", "b.ply", "--quiet")
process, port, token = start("view", "a.ply", "b.ply", "--live")


def request(method, path, body=None, **headers):
    """Status, headers and body of an answer."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request(method, path, body, {name.replace("_", "-"): value for name, value in headers.items()})
    answer = connection.getresponse()
    data = answer.read()
    connection.close()
    return answer.status, answer.headers, data


def raw(data, end=True):
    """What comes back for bytes until the server closes the connection."""
    with socket.create_connection(("127.0.0.1", port), timeout=60) as client:
        client.sendall(data)
        if end:
            client.shutdown(socket.SHUT_WR)
        got = b""
        try:
            while part := client.recv(65536):
                got += part
        except ConnectionResetError:
            pass
        return got


def status_of(data, end=True):
    got = raw(data, end)
    return int(got.split()[1]) if got else None


def message(data):
    """The header of a message of the page."""
    length = struct.unpack_from("<I", data)[0]
    return json.loads(data[4:4 + length])


# ---- the page ----
home = f"/{token}/"
status, headers, body = request("GET", home)
assert status == 200 and b'data-live="1"' in body and headers["Content-Type"].startswith("text/html")
policy = headers["Content-Security-Policy"]
assert "default-src 'none'" in policy and "script-src 'self'" in policy and "frame-ancestors 'none'" in policy
assert headers["X-Content-Type-Options"] == "nosniff" and headers["Cache-Control"] == "no-store"
assert headers["Cross-Origin-Resource-Policy"] == "same-origin"
assert "Access-Control-Allow-Origin" not in headers and "Server" not in headers
assert request("GET", home + "viewer.js")[2] == b"// not the viewer"
status, headers, body = request("GET", home + "next?after=0")
first = message(body)
assert status == 200 and first["live"] == 1 and "penetration depth" in first["text"], first
assert [layer["name"] for layer in first["layers"]][:2] == ["a.ply", "b.ply"]

# ---- other paths and tokens ----
wrong = ("0" if token[0] != "0" else "1") + token[1:]
for path in ("/", "/viewer.js", f"/{wrong}/", f"/{token[:-1]}/", f"/{token}", f"/{token}x/", home + "x", home + "..",
             home + "../../etc/passwd", home + "%2e%2e/", home + "next", home + "viewer.js/", f"//{token}/",
             home + "input?x"):
    assert request("GET", path)[0] == 404, path
for query in ("", "x", "-1", "1x", "1&after=2"):
    expected = 200 if query == "" else 400
    assert request("GET", home + "next?after=" + query)[0] == expected, query
assert request("GET", home + "next?after=" + "9" * 19)[0] == 200  # no such version: everything
assert request("GET", home + "next?after=" + "9" * 20)[0] == 400

# ---- other hosts and origins ----
for host in ("evil.com", "127.0.0.1", f"127.0.0.1:{port + 1}", f"127.0.0.1:{port}.evil.com", "", f"[::1]:{port}"):
    assert request("GET", home, Host=host)[0] == 403, host
assert request("GET", home, Host=f"localhost:{port}")[0] == 200
for origin in ("http://evil.com", "null", "", f"https://127.0.0.1:{port}", f"http://127.0.0.1:{port}/"):
    assert request("GET", home, Origin=origin)[0] == 403, origin
    assert request("POST", home + "input", b"", Origin=origin)[0] == 403, origin
assert request("POST", home + "input", b"", Origin=f"http://127.0.0.1:{port}")[0] == 200
assert request("GET", home, Sec_Fetch_Site="cross-site")[0] == 403
assert request("GET", home, Sec_Fetch_Site="same-site")[0] == 403
assert request("GET", home, Sec_Fetch_Site="none")[0] == 200

# ---- other methods, sizes and syntax ----
for method in ("PUT", "DELETE", "OPTIONS", "TRACE", "CONNECT", "PATCH"):
    status, headers, _ = request(method, home)
    assert status == 405 and headers["Allow"] == "GET, POST", method
assert request("POST", home, b"")[0] == 405 and request("GET", home + "input")[0] == 405
assert request("POST", home + "input", b"x" * 79)[0] == 400
assert request("POST", home + "input", b"\xff" * 80)[0] == 400
host = f"Host: 127.0.0.1:{port}\r\n".encode()
line = f"GET {home} HTTP/1.1\r\n".encode()
assert status_of(line + host + b"X: " + b"x" * 9000) == 431
assert status_of(b"x" * 9000) == 431
assert status_of(line + host + b"a: b\r\n" * 100 + b"\r\n") == 431
assert status_of(f"POST {home}input HTTP/1.1\r\n".encode() + host + b"Content-Length: 99999999\r\n\r\n") == 413
assert status_of(line + b"\r\n") == 400
assert status_of(line + host + host + b"\r\n") == 400
assert status_of(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\n") == 400  # TLS
assert status_of(line + host + b"Transfer-Encoding: chunked\r\n\r\n") == 501
assert status_of(line.replace(b"1.1", b"3.0") + host + b"\r\n") == 505
two = raw(line + host + b"\r\n" + line + host + b"Connection: close\r\n\r\n")
assert two.count(b"HTTP/1.1 200 OK") == 2, "requests behind each other"

# ---- input: the torus moves away, and the page says how far ----
pose = struct.pack("<10d", 0, 1, 1, 0, 0, 0, 1, 0, 0, 3)
assert request("POST", home + "input", pose, Origin=f"http://localhost:{port}")[2].isdigit()
answer = message(request("GET", home + f"next?after={first['live']}")[2])
assert answer["since"] == 1 and "distance" in answer["text"] and answer["handled"] >= 1, answer
assert not any("positions" in layer for layer in answer["layers"] if layer["kind"] == "bodies"), "all is sent again"

# ---- slow and many connections ----
assert status_of(line + host, end=False) == 408  # never ends; within the timeout of 5 s
held = []
for _ in range(40):  # idle ones are closed for newer ones
    client = socket.create_connection(("127.0.0.1", port), timeout=60)
    held.append(client)
assert request("GET", home)[0] == 200, "idle connections block others"
for client in held:
    client.close()
partial = []
for _ in range(40):  # requests that have begun keep their connections, but only 16
    client = socket.create_connection(("127.0.0.1", port), timeout=60)
    client.sendall(b"GET")
    partial.append(client)
closed = 0
for client in partial:
    try:
        closed += client.recv(4096) == b""
    except ConnectionResetError:
        closed += 1
    client.close()
assert closed >= 24, closed
assert request("GET", home)[0] == 200
# A client that does not read: others are served.
deaf = socket.create_connection(("127.0.0.1", port), timeout=60)
deaf.sendall((line + host + b"\r\n") * 200)
assert request("GET", home)[0] == 200
deaf.close()
with open(f"/proc/{process.pid}/status") if os.path.exists("/proc/self/status") else open(os.devnull) as file:
    size = re.search(r"VmRSS:\s+(\d+) kB", file.read() or "VmRSS: 0 kB")
assert int(size[1]) < 200_000, size[0]

# ---- the address ----
addresses = {info[4][0] for info in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)} - {"127.0.0.1"}
for address in addresses:
    with socket.socket() as client:
        client.settimeout(5)
        assert client.connect_ex((address, port)) != 0 or address.startswith("127."), f"{address} is served"
refused = run("view", "a.ply", "b.ply", "--live", "--port", str(port), code=1)
assert str(port) in refused and "port" in refused, refused
assert "--live" in run("view", "a.ply", "--port", "81", code=2)
assert "two bodies" in run("view", "a.ply", "--live", code=2)
assert "--out" in run("view", "a.ply", "b.ply", "--live", "-o", "x.html", code=2)

# ---- the end: a page that waits gets the last state ----
connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
connection.request("GET", home + f"next?after={answer['live']}")
process.send_signal(signal.SIGINT)
last = message(connection.getresponse().read())
assert last["ended"] is True and last["text"] == answer["text"], last
process.communicate(timeout=60)
assert process.returncode == -signal.SIGINT, process.returncode
process, port, token = start("view", "a.ply", "b.ply", "--live")
stop = struct.pack("<10d", 5, 0, 0, 0, 0, 0, 0, 0, 0, 0)
assert request("POST", f"/{token}/input", stop)[0] == 200
output = process.communicate(timeout=60)
assert process.returncode == 0, output
try:
    request("GET", f"/{token}/")
    raise AssertionError("the server still runs")
except ConnectionError:
    pass

# ---- several bodies: all have their own names, and the deepest or closest pair is shown ----
with open("scene.json", "w") as file:
    json.dump({"bodies": [{"name": name, "mesh": {"shape": "box"}, "position": [x, 0, 0]}
                          for name, x in (("left", -9), ("right", 9))]}, file)
process, port, token = start("view", "scene.json", "a.ply", "b.ply", "--live", "--unit", "mm")
first = message(request("GET", f"/{token}/next?after=0")[2])
names = [layer["name"] for layer in first["layers"] if layer["kind"] == "bodies"]
assert names == ["left", "right", "a.ply", "b.ply"], names
assert first["text"].startswith("1 pair touches: a.ply – b.ply: ") and first["text"].endswith(" mm"), first
away = struct.pack("<10d", 0, 3, 1, 0, 0, 0, 1, 0.4, 0, 0)
assert request("POST", f"/{token}/input", away)[0] == 200
second = message(request("GET", f"/{token}/next?after=1")[2])
assert second["text"].startswith("No pair touches. Closest: right – b.ply: distance "), second["text"]
assert request("POST", f"/{token}/input", stop)[0] == 200
output = process.communicate(timeout=60)
assert process.returncode == 0, output
print("fine")
