"""What the documents share: how to measure, and how a page of docs/reproduce looks.

The module tables.py of each document has
    WORK                     name, title, authors and year, a sentence with links, the hardware of the document, and optionally
                             a sentence on times
    measure(context, kept)   measures on the CPU; puts results into kept["cpu"]
    measure_device(context, kept)  measures on context.device; puts results into kept["device"]
    page(kept)               a list of sentences on what is slower or weaker, and a list of Row
    write(kept, docs)        optional: renews tables and plots of other pages

Results are dictionaries, kept in results.json beside the module. Needs nothing but python3.
"""
import dataclasses
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import textwrap

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from report import run_json, table  # noqa: E402

HEAD = ["what", "document", "baseline here", "ours on 2 cores", "ours on the H200", "ratio", "command, or why not"]


@dataclasses.dataclass
class Row:
    """A figure or table, or one line of a table. Times are numbers of milliseconds; other results are text."""
    what: str
    command: str = ""  # or the reason why there is nothing
    document: object = None
    baseline: object = None
    cpu: object = None
    device: object = None
    ratio: str = ""

    def cells(self):
        return [self.what, show(self.document), show(self.baseline), show(self.cpu), show(self.device),
                self.ratio or self.ratios(), self.command]

    def ratios(self):
        """The baseline over ours on the same machine; otherwise the document's time over our best."""
        ours = self.device if is_number(self.device) else self.cpu
        if is_number(self.baseline) and is_number(self.cpu):
            return f"{times(self.baseline, self.cpu)} (baseline)"
        if is_number(self.document) and is_number(ours):
            return f"{times(self.document, ours)} (document)"
        return ""


def is_number(value):
    return isinstance(value, (int, float))


def times(theirs, ours):
    ratio = theirs / ours
    return f"{ratio:,.0f}" if ratio >= 100 else f"{ratio:.3g}"


def show(value):
    if value is None:
        return ""
    if not is_number(value):
        return str(value)
    if value >= 60000:
        return f"{int(value // 60000)} min {value % 60000 / 1000:.2f} s"
    if value >= 1000:
        return f"{value / 1000:.2f} s"
    return f"{value:.0f} ms" if value >= 100 else f"{value:.3g} ms"


def reproduced(command):
    return f"`{command}`"


class Context:
    """Runs the tool and the benchmarks of a build."""

    def __init__(self, build, device, quick, scratch, small=False):
        self.build = pathlib.Path(build).resolve()
        self.small = small
        self.device, self.quick, self.scratch = device, quick, pathlib.Path(scratch)
        self.tool, self.bench_program = self.build / "abut", self.build / "abut-bench"

    def run(self, *command, **environment):
        """Runs a program; returns its output."""
        done = subprocess.run([str(word) for word in command], check=False, stdout=subprocess.PIPE, text=True, cwd=self.scratch,
                              env={**os.environ, **{key: str(value) for key, value in environment.items()}})
        if done.returncode:
            raise SystemExit(f"{' '.join(map(str, command))} ended with {done.returncode}")
        return done.stdout

    def abut(self, *words, accept=(0,)):
        """Runs a command of abut that prints JSON."""
        return run_json([self.tool, *words, "--json"], accept, cwd=self.scratch)

    def make(self, shape, segments, rings=None):
        """Makes a mesh; returns its path."""
        path = self.scratch / f"{shape}-{segments}-{rings}.obj"
        self.run(self.tool, "make", shape, path, "--segments", segments, "--quiet", *(["--rings", rings] if rings else []))
        return path

    def bench(self, case, threads=2, repeat=5, device="cpu", **environment):
        """Results of abut-bench by case: all cases with `case` in their name, on one device."""
        out = self.scratch / "bench.json"
        command = [self.bench_program, "--filter", case, "--threads", threads, "--device", device, "--out", out]
        command += ["--quick"] if self.quick else ["--repeat", repeat]
        self.run(*command, **environment)
        return {found["case"]: found for found in json.loads(out.read_text(encoding="utf-8"))["cases"]}

    def machine(self, device=None):
        """Where and with what results were measured."""
        found = self.abut("bench", "machine/copy", "--quick", "--threads", "1")
        name = found["cpu"]
        if device:
            said = self.run(self.bench_program, "--filter", "device/copy", "--quick", "--device", device)
            name = re.search(r"(?m)^device: (.*), driver", said).group(1)
        return {"machine": name, "commit": found["commit"], "date": found["date"][:10]}


def page_lines(document, work, weaker, rows, kept):
    """A page of docs/reproduce."""
    command = f"bench/reproduce/run {document}"
    lines = [f"# {work['name']}, reproduced", "",
             *fill(f"This page lists all figures and tables of {work['authors']}, *{work['title']}* ({work['year']}). "
                   f"[Sources](../sources.md) describes the work; {work['links']}."), "",
             "## Where ours is slower or weaker", ""]
    for sentence in weaker:
        lines += fill("- " + sentence, "  ")
    lines += ["", "## Figures and tables", "",
              *fill("Every time is for the work that the row names. The column *baseline here* is the method of the document, or "
                    "the one that it compares with, as implemented in `bench/reproduce`. *Ratio* is a quotient of times, "
                    "above 1 if ours is faster: *(baseline)* compares with the baseline on as many cores here, *(document)* with "
                    "the document's hardware, which is " + work["hardware"] + ". Such ratios mostly compare machines. "
                    + work.get("times", "")), "",
              *table(HEAD, [row.cells() for row in rows]), "", "## Measurement", ""]
    for place, words in (("cpu", "Two cores"), ("baseline", "Processor times of one thread"), ("device", "Device"),
                         ("0.6", "Version 0.6")):
        if place in kept:
            lines += fill(f"- {words}: {kept[place]['machine']}, commit {kept[place]['commit']}, {kept[place]['date']}."
                          + (f" {kept[place]['note']}" if "note" in kept[place] else ""), "  ")
    lines += ["", "These commands measure the columns of the CPU and of a device, and write this page:", "", "```sh", command,
              command + " --device gpu", "```", "", f"The results are kept in `bench/reproduce/{document}/results.json`."]
    name = kept.get("device", {}).get("machine", "H200")
    return lines if "H200" in name else [re.sub(r"\b(the|an|An) H200\b", name, line) for line in lines]


def fill(text, indent=""):
    """Lines of at most 120 characters; all but the first are indented."""
    return textwrap.wrap(text, 120, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def save(path, kept):
    """Results as JSON, one line for each entry of the places."""
    texts = []
    for place, values in kept.items():
        entries = []
        for key, value in values.items():
            if isinstance(value, (dict, list)) and value:
                inside = value.items() if isinstance(value, dict) else enumerate(value)
                mark = "{}" if isinstance(value, dict) else "[]"
                rows = [(f"{json.dumps(name)}: " if isinstance(value, dict) else "") + json.dumps(entry) for name, entry in inside]
                entries.append(f"  {json.dumps(key)}: {mark[0]}\n   " + ",\n   ".join(rows) + f"\n  {mark[1]}")
            else:
                entries.append(f"  {json.dumps(key)}: {json.dumps(value)}")
        texts.append(f" {json.dumps(place)}: {{\n" + ",\n".join(entries) + "\n }")
    pathlib.Path(path).write_text("{\n" + ",\n".join(texts) + "\n}\n", encoding="utf-8")


def scratch_folder():
    return tempfile.TemporaryDirectory(prefix="abut-reproduce-")
