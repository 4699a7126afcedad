"""Pages refer only to what exists: functions, types and variables of C in the source, options of commands in their help,
and links to pages and their headings.

Pages are README.md and docs/, except for those about the past. This checks fragments of C and commands that are too slow
to be run; whole programs, the tutorial and the cookbook are run by test_docs.sh and test_pages.py.
Arguments: abut command, source folder, build folder.
"""
import pathlib
import re
import subprocess
import sys

tool, source = sys.argv[1], pathlib.Path(sys.argv[2])
PAST = ("CHANGELOG.md", "docs/decisions.md", "docs/roadmap.md", "docs/open-points.md")  # contain names of older versions
MIGRATION = ("docs/migration-0.6.md", "docs/migration-0.7.md")
CODE = ("include", "src", "apps", "examples", "tools", "bench", "cmake", "tests", "CMakeLists.txt", "packaging", "python", "test", "demo")

code = []
for place in CODE:
    path = source / place
    for file in [path] if path.is_file() else sorted(path.rglob("*")):
        if file.is_file() and file.suffix not in (".png", ".json", ".jsonl", ".whl", ".so", ".pyc"):
            code.append(file.read_text(encoding="utf-8", errors="ignore"))
names = set(re.findall(r"\b(?:abut|ABUT)_\w+", "\n".join(code)))
names |= {f"{name}_default" for name in re.findall(r"\bABUT_DEFAULT\((\w+)\)", "\n".join(code))}
problems, helps = [], {}


def options_of(command):
    if command not in helps:
        done = subprocess.run([tool, command, "--help"], capture_output=True, text=True)
        helps[command] = set(re.findall(r"--[a-z][a-z0-9-]*", done.stdout)) if not done.returncode else None
    return helps[command]


always = set(re.findall(r"--[a-z][a-z0-9-]*", subprocess.run([tool, "help"], capture_output=True, text=True).stdout))
commands = 0
for page in [source / "README.md", *sorted((source / "docs").rglob("*.md"))]:
    name = page.relative_to(source).as_posix()
    text = page.read_text(encoding="utf-8")
    if name in PAST:
        continue
    if name in MIGRATION:
        text = re.sub(r"(?m)^\|[^|]*\|", "|", text)  # the first column has the old names
    for word in sorted(set(re.findall(r"\b(?:abut|ABUT)_\w+", text)) - names):
        # abut_x stands for any name, and the start of names for all of them
        if not word.startswith("abut_x") and not any(known.startswith(word) for known in names):
            problems.append(f"{name}: {word} is nowhere in the source")
    fences = re.findall(r"(?ms)^```(?:sh)?\n(.*?)^```$", text)
    for line in re.findall(r"(?m)^(?:\$ )?abut ([a-z]+)( [^|;&#\n]*)?", "\n".join(fences)) if "commands/" not in name else []:
        command, rest = line
        found = options_of(command)
        commands += 1
        if found is None:
            problems.append(f"{name}: there is no command abut {command}")
            continue
        for option in re.findall(r"(?<=\s)--[a-z][a-z0-9-]*", rest):
            if option not in found | always:
                problems.append(f"{name}: abut {command} has no option {option}")


def without_code(text):
    return re.sub(r"(?ms)^(```|~~~).*?^\1.*?$", "", text)


def anchors_of(page, known={}):
    """Names of headings as GitHub makes them, and those that a page gives itself."""
    if page not in known:
        text, found, seen = without_code(page.read_text(encoding="utf-8")), set(), {}
        for heading in re.findall(r"(?m)^#{1,6}\s+(.*?)\s*#*\s*$", text):
            heading = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", heading)  # links are their text
            slug = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
            count = seen.get(slug, 0)
            seen[slug] = count + 1
            found.add(f"{slug}-{count}" if count else slug)
        known[page] = found | set(re.findall(r"<a (?:id|name)=\"([^\"]+)\"", text))
    return known[page]


links = 0
for page in sorted({*source.glob("*.md"), *(source / "docs").rglob("*.md"), *(source / "examples").rglob("*.md"),
                    *(source / "python").glob("*.md")}):
    text = re.sub(r"`[^`\n]*`", "", without_code(page.read_text(encoding="utf-8")))
    for link in re.findall(r"\]\(([^)\s]+)", text):
        path, _, anchor = link.partition("#")
        if re.match(r"[a-z]+:", link):
            continue
        links += 1
        target = (page.parent / path).resolve() if path else page.resolve()
        if not target.exists():
            problems.append(f"{page.relative_to(source)}: the link to {link} leads nowhere")
        elif anchor and (target.suffix != ".md" or anchor not in anchors_of(target)):
            problems.append(f"{page.relative_to(source)}: {path or 'the page itself'} has no heading #{anchor}")
if problems or len(names) < 500 or commands < 15 or links < 300:
    sys.exit("\n".join(problems) or "the pages were not understood")
print(f"{commands} commands, {len(names)} names of C and {links} links")
