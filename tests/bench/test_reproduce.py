"""bench/reproduce/run: every figure and table of the five works has a row, the numbers of the documents are theirs, and
what --quick measures is plausible. The pages in docs are those of the kept results.
Arguments: abut command, source folder, build folder.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import zlib

source, build = pathlib.Path(sys.argv[2]).resolve(), pathlib.Path(sys.argv[3]).resolve()
sys.dont_write_bytecode = True
sys.path.append(str(source / "bench/reproduce"))
import importlib  # noqa: E402

from common import HEAD, page_lines  # noqa: E402
from report import load  # noqa: E402


def span(chapter, last):
    return [f"{chapter}.{n}" for n in range(1, last + 1)]


# Figures and tables of the documents, and the checksum of what they report, in the order of the rows.
DOCUMENTS = {
    "sundholm": (span(3, 6) + span(4, 2) + span(5, 1) + span(6, 4) + span(7, 10), ["5.1", "6.1", "7.1"], 1583854622),
    "malmsten": ([str(n) for n in range(1, 18)], [], 2369574175),
    "friston": (list("1234"), ["1"], 3522289209),
    "sud": (list("12345678"), [], 657449567),
    "cheng": (span(1, 1) + span(3, 14) + span(4, 4) + span(5, 8) + span(6, 13) + span(7, 1), ["5.1"] + span(6, 18), 1076372662),
}
# Claims that the pages must state.
CLAIMS = {"cheng": ["ICCD is reconstructed"], "friston": ["27 times", "4.5 times", "2.9 times", "processor time of one thread"],
          "sud": ["8 times", "5 to 10 times"],
          "malmsten": ["some lost"]}
failures = 0


def demand(what, found, expected):
    global failures
    if found != expected:
        failures += 1
        print(f"FAIL: {what}: {found!r} instead of {expected!r}")


def rows_of(lines):
    begin = lines.index("| " + " | ".join(HEAD) + " |") + 2
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[begin:lines.index("", begin)]]
    return [dict(zip(HEAD, row)) for row in rows]


def covered(rows, kind):
    """The numbers of figures or tables before the colon of the first cells: "figures 3.1 to 3.6, 4.1: ..."."""
    found = set()
    for row in rows:
        for text in re.findall(rf"{kind}s? ([\d.]+(?: to [\d.]+)?(?:, [\d.]+(?: to [\d.]+)?(?=[,:]))*)", row["what"].split(":")[0] + ":"):
            for part in text.split(", "):
                first, last = (part.split(" to ") * 2)[:2]
                chapter = first.rpartition(".")[0]
                found |= {f"{chapter}.{n}" if chapter else str(n)
                          for n in range(int(first.split(".")[-1]), int(last.split(".")[-1]) + 1)}
    return found


def check_rows(document, rows):
    figures, tables, checksum = DOCUMENTS[document]
    demand(f"{document}: figures", covered(rows, "figure") ^ set(figures), set())
    demand(f"{document}: tables", covered(rows, "table") ^ set(tables), set())
    reported = "\n".join(row["document"] for row in rows if row["document"])
    demand(f"{document}: checksum of what the document reports", zlib.crc32(reported.encode()), checksum)
    for row in rows:
        demand(f"{document}: {row['what']} has a command or a reason", bool(row[HEAD[-1]]), True)
        for column in HEAD[1:5]:
            for number in re.findall(r"([\d.,]+) m?s\b", row[column]):
                demand(f"{document}: {row['what']}: {column} is positive", float(number.replace(",", "")) > 0, True)
        if "not reproduced" not in row[HEAD[-1]] and row["baseline here"]:
            demand(f"{document}: {row['what']} has our result", bool(row["ours on 2 cores"] or row["ours on the H200"]), True)


def check_answers(document, rows):
    """Results of tiny scenes that are known."""
    for row in rows:
        if row["what"].startswith("table 5.1, samples"):
            demand(row["what"], row["ours on 2 cores"], row["document"])
        if "with `is_exact`" in row["what"]:
            demand(row["what"] + ": misses", re.findall(r"(\d+) (?:missed|false)", row["ours on 2 cores"]), ["0", "0"])
        if row["what"].startswith("figure 7.7"):
            mine, his = (float(row[column].split()[0]) for column in ("ours on 2 cores", "baseline here"))
            demand("the error of a line is less than by cells", 0 < mine < his / 5, True)
        if document == "sud" and "difference from exact distances" in row["what"]:
            demand(row["what"], float(row["baseline here"].split()[0]) < 1e-5, True)
            demand(row["what"], "; 0 wrong signs and 0 missing texels" in row["baseline here"], True)
        if row["what"].startswith("section 4.3.1.3: the mesh"):
            demand(row["what"] + ": prevented", row["baseline here"], "0")
        if row["what"].startswith("figure 14"):
            wrong, edges = (int(word.replace(",", "")) for word in re.findall(r"[\d,]+", row["baseline here"]))
            demand("many pixels of a dense mesh are inside it", edges / 10 < wrong < edges, True)
        if row["what"].startswith("section 5.2"):
            demand(row["what"] + ": sweeps miss", re.search(r"sweeps: [\d,]+ found, (\d+) missed", row["ours on 2 cores"])[1], "0")
        if row["what"].startswith("table 6.14"):
            clusters, vertices = (int(n.replace(",", "")) for n in row["baseline here"].split(" of "))
            demand(row["what"] + ": a third to two thirds of the vertices", vertices / 3 < clusters < 2 * vertices / 3, True)
        if row["what"].startswith("table 6.5"):
            demand(row["what"] + ": nodes", int(re.search(r"([\d,]+) nodes", row["ours on 2 cores"])[1].replace(",", "")) > 1000, True)
        if document == "friston" and row["what"].startswith("section 10.1"):
            demand(row["what"] + " is positive", float(row["ours on 2 cores"].split()[0]) > 0, True)


def run_quick(document):
    files = sorted((source / "docs/reproduce").glob("*.md")) + sorted((source / "bench/reproduce").glob("*/results.json"))
    before = {path: path.read_bytes() for path in files}
    done = subprocess.run([sys.executable, source / "bench/reproduce/run", document, "--quick", "--build", build],
                          stdout=subprocess.PIPE, text=True, check=False, env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"})
    demand(f"{document}: exit code of --quick", done.returncode, 0)
    demand(f"{document}: --quick writes nothing", {path: path.read_bytes() for path in files} == before, True)
    if done.returncode:
        return
    rows = rows_of(done.stdout.splitlines())
    check_rows(document, rows)
    check_answers(document, rows)
    for claim in CLAIMS.get(document, []):
        demand(f"{document}: the page states '{claim}'", claim in done.stdout, True)


def check_kept(document):
    """The pages in docs have the kept results."""
    module, kept = importlib.import_module(f"{document}.tables"), load(source / f"bench/reproduce/{document}/results.json")
    text = "\n".join(page_lines(document, module.WORK, *module.page(kept), kept)) + "\n"
    page = source / f"docs/reproduce/{document}.md"
    demand(f"{page} has the kept results; bench/reproduce/run {document} --kept writes it", page.read_text(encoding="utf-8") == text, True)
    check_rows(document, rows_of(text.splitlines()))
    for place in ("cpu", "device"):
        demand(f"{document}: {place} has a machine, a commit and a date", all(kept[place].get(key) for key in ("machine", "commit", "date")),
               True)
    if not hasattr(module, "write"):
        return
    with tempfile.TemporaryDirectory() as folder:
        docs = pathlib.Path(folder)
        (docs / "pictures").mkdir()
        for path in (source / "docs").glob("*.md"):
            shutil.copy(path, docs)
        module.write(kept, docs)
        for path in [*docs.glob("*.md"), *(docs / "pictures").glob("*.svg")]:
            original = source / "docs" / path.relative_to(docs)
            demand(f"{original} has the kept results of {document}", path.read_bytes() == original.read_bytes(), True)


def check_particles():
    """All methods of table 1 get the same particles of ten seconds of gymnastics; radial fields leave fewer deep inside than
    discrete tests."""
    lines = {(line["condition"], line["rival"]): line
             for line in load(source / "bench/reproduce/friston/results.json")["cpu"]["lines"]}
    for condition in range(1, 11):
        found = {rival: lines[condition, rival] for rival in ("radial", "band", "hash", "tree")}
        for key in ("particles", "triangles", "frames", "inside_before", "deep_before", "of"):
            demand(f"condition {condition}: different values of {key}", len({line[key] for line in found.values()}), 1)
        demand(f"condition {condition}: 30 frames", found["radial"]["frames"], 30)
        demand(f"condition {condition}: predicted particles are inside", found["radial"]["deep_before"] > 0, True)
        demand(f"condition {condition}: radial fields leave fewer deep inside", found["radial"]["deep"] < found["tree"]["deep"], True)


def check_searches():
    """Tables 6.2 to 6.4 of Cheng compare searches of one run, which alternate."""
    kept = load(source / "bench/reproduce/cheng/results.json")
    searched = [found["milliseconds"] for found in kept["cpu"]["baselines"].values()]
    rows = rows_of((source / "docs/reproduce/cheng.md").read_text(encoding="utf-8").splitlines())
    for table, which in (("6.2", "point"), ("6.3", "line")):
        demand(f"table {table} of Cheng has the ratios of one run",
               [row["ratio"] for row in rows if row["what"].startswith(f"table {table}, ")],
               [f"{ms['sweep'] / ms[which]:.3g} (baseline)" for ms in searched])


for name in DOCUMENTS:
    run_quick(name)
    check_kept(name)
check_particles()
check_searches()
print(f"{failures} failures")
sys.exit(failures > 0)
