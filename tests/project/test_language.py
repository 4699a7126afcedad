"""The language of the project: standard terms instead of metaphors, short sentences, glossary terms where readers look.

Checked are comments and string literals of C, and the prose of pages. Run with --check FILE... to check single files.
Arguments: abut command, source folder, build folder.
"""
import pathlib
import re
import sys

# Phrase (regular expression, whole words, any case): what to write instead.
PHRASES = {
    r"tells?|told|telling": "returns, reports, shows, determines",
    r"asks?|asked|asking": "queries, calls, requests",
    r"hears?|heard": "is notified",
    r"none such": "if there is none",
    r"but for": "except",
    r"of late|lately": "recently",
    r"as often as not": "usually",
    r"what is left": "the remaining ...",
    r"where there (is|are) none": "if there is none",
    r"a hair|hairs?": "a rounding error, a tolerance",
    r"at the door|doors": "on entry, entry points",
    r"verdicts?": "reliability level",
    r"advice": "reliability",
    r"meetings?": "intersection",
    r"meets?|met": "intersects, touches",
    r"way out|ways out": "contact normal, separating direction",
    r"hangs? together": "is connected",
    r"nobody": "no caller, no thread",
    r"somebody|everybody": "name the caller",
    r"in its stead": "instead",
    r"(?<!bounding volume )hierarch(y|ies)": "BVH, bounding volume hierarchy",
    r"how deep": "penetration depth",
    r"how far apart": "distance, separation",
    r"lone": "isolated",
    r"needles?": "degenerate triangle",
    r"the house": "the project",
    r"so to speak|by and by|at all events": "(remove)",
    r"is worth|are worth": "reliability",
    r"takes long|took long": "is slow",
    r"no more and no less": "exactly",
    r"it is told by": "it follows from",
    r"goes wrong|went wrong": "fails",
    r"comes? of": "results from",
    r"what for": "why",
    r"thereof|therein|whereof|wherein": "(rewrite)",
}
# Names of static functions that say nothing.
FUNCTIONS = set("find measure look take settle put tell ask bring hear give get do_it run_it work handle".split())
# Names of constants that name no quantity.
CONSTANTS = re.compile(r"#define\s+(SOME|ALL|MUCH|MANY|FEW|HAIR|NEARLY|LITTLE|PART|CLEARLY|NEAR|FAR|SMALL|LARGE|WIDE|LONG|TIE|LEAST|MOST)\b"
                       r"|\b(ABUT_\w+_MOST)\b")
# File, phrase: why it is allowed there.
EXCEPTIONS = {
    ("docs/glossary.md", "*"): "lists the old words",
    ("docs/migration-0.6.md", "*"): "lists the old names",
    ("docs/migration-0.7.md", "*"): "lists the old names",
    ("tests/geom/test_public.c", "meet"): "name of an argument",
    ("tests/geom/test_public.c", "meeting"): "name of an argument",
    ("tests/project/test_language.py", "*"): "lists the words",
}
# Page: terms that readers search for and that the page must contain.
TERMS = {
    "docs/contact.md": ["penetration depth", "contact normal", "contact patch", "contact point", "manifold"],
    "docs/sweep.md": ["time of impact", "continuous collision detection", "conservative"],
    "docs/pair.md": ["closest points", "distance", "intersection", "overlap", "witness"],
    "docs/world.md": ["broad phase", "narrow phase", "contact", "sensor", "event"],
    "docs/field.md": ["signed distance field", "narrow band", "isosurface", "SDF"],
    "docs/bvh.md": ["bounding volume hierarchy", "bounding box", "refit", "AABB"],
    "docs/nearest.md": ["closest point", "nearest neighbours"],
    "docs/sign.md": ["winding number", "inside"],
    "docs/map.md": ["surface distance map", "Hausdorff distance", "deviation"],
    "docs/self.md": ["self-collision", "continuous collision detection"],
    "docs/mesh.md": ["boundary edge", "manifold", "watertight", "winding number"],
    "docs/geom.md": ["predicate", "exact"],
    "docs/layers.md": ["interference", "depth interval"],
    "docs/radial.md": ["radial field"],
    "docs/device.md": ["OpenCL", "kernel", "work-group"],
    "docs/choosing.md": ["broad phase", "signed distance field", "continuous collision detection", "penetration depth"],
}
MEAN_WORDS, MOST_WORDS = 18, 40  # of the sentences of a page; style.md asks for 25 at most

source = pathlib.Path(sys.argv[2] if len(sys.argv) > 2 and not sys.argv[1].startswith("--") else ".")
phrase = re.compile("|".join(f"(?P<p{i}>\\b(?:{p})\\b)" for i, p in enumerate(PHRASES)), re.IGNORECASE)
any_phrase = re.compile(r"\b(?:" + "|".join(PHRASES) + r")\b")  # of lower case; finds quickly that there is none
advice_of = list(PHRASES.values())


def prose_of(text):
    """The prose of a page, with as many lines."""
    blank = lambda match: "\n" * match.group(0).count("\n")
    text = re.sub(r"(?ms)^(```|~~~).*?^\1.*?$", blank, text)
    text = re.sub(r"\]\([^)]*\)", "]", text)
    return re.sub(r"`[^`\n]*`", "`x`", text)


def comments_of(text):
    """Comments and string literals of C, with as many lines."""
    lines, number, end = [""] * (text.count("\n") + 2), 1, 0
    for match in re.finditer(r'/\*.*?\*/|//[^\n]*|"(?:[^"\\\n]|\\.)*"', text, re.DOTALL):
        number += text.count("\n", end, match.start())
        end = match.start()
        for k, part in enumerate(match.group(0).split("\n")):
            if not re.match(r'\s*"[^" ]*"$', part):  # a single word: a name, no sentence
                lines[number + k] += " " + part
    return "\n".join(lines[1:])


def sentences_of(prose):
    prose = re.sub(r"(?m)^\s*(\||#|!\[|<).*$", "", prose)
    for part in re.split(r"\n\s*\n|\n\s*[-*] |\n\s*\d+\. ", prose):
        part = " ".join(part.split())
        yield from (s for s in re.split(r"(?<=[.!?:;])\s+", part) if len(s.split()) > 2)


def check(path):
    name = path.relative_to(source).as_posix()
    text = path.read_text(encoding="utf-8", errors="replace")
    page = path.suffix == ".md"
    prose = prose_of(text) if page else text if path.suffix == ".py" else comments_of(text)
    problems = []
    for number, line in enumerate(prose.split("\n") if any_phrase.search(prose.lower()) else (), 1):
        for match in phrase.finditer(line):
            which = int(match.lastgroup[1:])
            if (name, "*") in EXCEPTIONS or (name, match.group(0).lower()) in EXCEPTIONS:
                continue
            problems.append(f"{name}:{number}: \"{match.group(0)}\": write {advice_of[which]}")
    if page:
        lengths = [len(s.split()) for s in sentences_of(prose)]
        if lengths and sum(lengths) / len(lengths) > MEAN_WORDS:
            problems.append(f"{name}: sentences have {sum(lengths) / len(lengths):.1f} words on average, more than {MEAN_WORDS}")
        problems += [f"{name}: a sentence of {len(s.split())} words: {s[:60]}..." for s in sentences_of(prose)
                     if len(s.split()) > MOST_WORDS]
        problems += [f"{name}: the term \"{term}\" is missing" for term in TERMS.get(name, [])
                     if term.lower() not in " ".join(text.lower().split())]
    else:
        for function in re.findall(r"(?m)^static [^;=({]*?\b(\w+)\(", text):
            if function in FUNCTIONS:
                problems.append(f"{name}: a function is called {function}(): say what it finds, measures or takes")
        for match in CONSTANTS.finditer(text):
            problems.append(f"{name}: {match.group(1) or match.group(2)} names no quantity")
    return problems


def all_files():
    yield from (source / "CHANGELOG.md", source / "README.md")
    for folder in ("apps", "docs", "include", "src", "python", "tools", "examples", "bench", "tests"):
        for path in sorted((source / folder).rglob("*")):
            if path.suffix in (".md", ".h", ".c", ".cl", ".py") and (
                    folder == "src" or "build" not in path.parts[len(source.parts):]):
                yield path


if sys.argv[1] == "--check":
    found = [p for file in sys.argv[2:] for p in check(pathlib.Path(file))]
    print("\n".join(found))
    sys.exit(bool(found))
problems, checked = [], 0
for path in all_files():
    checked += 1
    problems += check(path)
if problems or checked < 1000:
    sys.exit("\n".join(problems) or f"only {checked} files")
print(f"{checked} files")
