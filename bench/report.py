"""What the scripts that write tables and plots of pages share: running programs, tables in Markdown, plots as SVG.

Needs nothing but python3. Scripts of bench/reproduce add this folder to sys.path.
"""
import json
import math
import pathlib
import re
import subprocess
import sys
from html import escape


def run_json(command, accept=(0,), **how):
    """Runs a program and parses its standard output; exit codes other than those accepted are errors."""
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, check=False, **how)
    if done.returncode not in accept:
        raise SystemExit(f"{' '.join(map(str, command))} ended with {done.returncode}")
    return json.loads(done.stdout)


def load(path, default=None):
    """Reads a file of JSON; a missing file gives the default, if there is one."""
    path = pathlib.Path(path)
    return default if default is not None and not path.exists() else json.loads(path.read_text(encoding="utf-8"))


def read_results(path):
    """Reads a result file of abut-bench; exits with code 2 if it is not one."""
    try:
        data = load(path)
        if data["format"] != "abut-bench 1" or not isinstance(data.get("quick", False), bool):
            raise ValueError('the format is not "abut-bench 1"')
        for case in data["cases"]:
            if not all(0 <= case[key] < 1e15 for key in ("threads", "median_ms", "minimum_ms")) or not isinstance(case["case"], str):
                raise ValueError("a case has no name, or a number out of range")
            if not re.fullmatch("[0-9a-f]{16}", case["hash"]):
                raise ValueError("a hash is not 16 hexadecimal digits")
        return data
    except KeyError as error:
        reason = f"{error} is missing"
    except (OSError, ValueError, TypeError, RecursionError) as error:
        reason = error
    print(f"{path}: {reason}; is it a file of --out?", file=sys.stderr)
    raise SystemExit(2)


def read_lines(paths):
    """Reads files of one JSON object in each line."""
    return [json.loads(line) for path in paths for line in pathlib.Path(path).read_text(encoding="utf-8").splitlines() if line]


def median(values):
    return sorted(values)[len(values) // 2]


def table(head, rows, right=False):
    """Returns the lines of a table; `right` aligns all columns but the first to the right."""
    rule = "|---|" + ("---:|" if right else "---|") * (len(head) - 1)
    return ["| " + " | ".join(head) + " |", rule] + ["| " + " | ".join(row) + " |" for row in rows]


def put_between(page, mark, lines):
    """Replaces what is between the two comments of a page that contain `mark`."""
    page, begin, end = pathlib.Path(page), f"<!-- {mark}: begin -->", f"<!-- {mark}: end -->"
    text = page.read_text(encoding="utf-8")
    if text.count(begin) != 1 or text.count(end) != 1:
        raise SystemExit(f"{page}: there must be one '{begin}' and one '{end}'")
    page.write_text(text.split(begin)[0] + "\n".join([begin, *lines, end]) + text.split(end)[1], encoding="utf-8")


# ---- plots ----

class Svg:
    """A drawing of a given size, in sans-serif type on white."""

    def __init__(self, width, height):
        self.parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
                      'font-family="sans-serif" fill="#222831">',
                      f'<rect width="{width}" height="{height}" fill="#ffffff"/>']

    def text(self, x, y, words, anchor="middle", size=13, more=""):
        self.parts.append(f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}"{more}>'
                          f'{escape(words)}</text>')

    def line(self, a, b):
        self.parts.append(f'<line x1="{a[0]:.1f}" y1="{a[1]:.1f}" x2="{b[0]:.1f}" y2="{b[1]:.1f}" stroke="#d5d9e0"/>')

    def save(self, path):
        pathlib.Path(path).write_text("\n".join(self.parts + ["</svg>", ""]), encoding="utf-8")


def tick_label(value):
    return f"{value:,.0f}" if value >= 1000 else f"{value:g}"


def powers_of_ten(low, high):
    return [10.0 ** power for power in range(-6, 7) if low <= 10.0 ** power <= high]


def plot(path, title, unit, y_range, curves, x_unit="triangles", x_range=(10, 200000), x_ticks=None, y_ticks=None,
         x_marks=None):
    """Points and lines; curves are (name, colour, points). An axis is logarithmic, or linear where it has ticks; marks
    are numbers of a logarithmic axis other than powers of ten."""
    width, height, left, right, top, bottom = 760, 460, 80, 190, 50, 60

    def share(value, low, high, ticks):
        return (value - low) / (high - low) if ticks else math.log(value / low) / math.log(high / low)

    def place(x, y):
        return (left + share(x, *x_range, x_ticks) * (width - left - right),
                height - bottom - share(y, *y_range, y_ticks) * (height - top - bottom))

    svg = Svg(width, height)
    svg.text(left, top - 22, title, "start", 16)
    for value in x_ticks or x_marks or powers_of_ten(*x_range):
        svg.line(place(value, y_range[0]), place(value, y_range[1]))
        svg.text(place(value, y_range[0])[0], height - bottom + 20, tick_label(value))
    for value in y_ticks or powers_of_ten(*y_range):
        svg.line(place(x_range[0], value), place(x_range[1], value))
        svg.text(left - 8, place(x_range[0], value)[1] + 4, tick_label(value), "end")
    middle = (top + height - bottom) / 2
    svg.text((left + width - right) / 2, height - 16, x_unit)
    svg.text(22, middle, unit, more=f' transform="rotate(-90 22 {middle:.1f})"')
    for number, (name, colour, points) in enumerate(curves):
        where = [place(*p) for p in sorted(points)]
        way = " ".join(f"{x:.1f},{y:.1f}" for x, y in where)
        svg.parts.append(f'<polyline points="{way}" fill="none" stroke="{colour}" stroke-width="2"/>')
        y = top + 14 + 26 * number
        for x, at in (where if len(where) < 50 else []) + [(width - right + 22, y)]:
            svg.parts.append(f'<circle cx="{x:.1f}" cy="{at:.1f}" r="4" fill="{colour}"/>')
        svg.text(width - right + 34, y + 5, name, "start")
    svg.save(path)
