"""Makes the ctypes mirror of the public headers, src/abut/_c.py, which is never edited by hand.

Usage: bindings.py INCLUDE-FOLDER OUTPUT [--layout PROGRAM.c]

Reads what the headers of abut consist of: macros that are numbers, enums, structures (also with
unions inside), and ABUT_API functions. Pointers become c_void_p, except texts. What it does not
understand ends it with a message, so that nothing is left out in silence. With --layout it also
writes a C program that prints size and offsets of every structure, for the test that compares them
with those of ctypes.
"""

import pathlib
import re
import sys

SCALARS = {
    "bool": "c_bool",
    "char": "c_char",
    "int": "c_int",
    "float": "c_float",
    "double": "c_double",
    "size_t": "c_size_t",
    "uint16_t": "c_uint16",
    "uint32_t": "c_uint32",
    "uint64_t": "c_uint64",
    "int64_t": "c_int64",
    "void": "None",
}

# Functions that are not in libabut, by the start of their names; the other libraries are beside it.
LIBRARIES = {
    "picture": ("abut_picture_", "abut_live_"),
    "figures": ("abut_garment_", "abut_character_figure_", "abut_character_create_figure", "abut_character_create_named"),
}

# What the macro ABUT_LIST of base.h defines.
LIST = r"typedef struct \1_list { \1 *list; uint64_t capacity; uint64_t count; } \1_list;"


def ordered(folder):
    """The headers, each after those that it includes."""
    done, order = set(), []

    def visit(name):
        if name in done:
            return
        done.add(name)
        text = (folder / "abut" / f"{name}.h").read_text()
        for other in re.findall(r"#include <abut/(\w+)\.h>", text):
            visit(other)
        order.append((name, text))

    visit("abut")
    return order


class Mirror:
    """What has been read so far."""

    def __init__(self):
        self.constants = {}
        self.enums, self.structures, self.functions, self.parameters = [], {}, {}, {}
        self.opaque, self.callbacks = set(), set()

    def fail(self, what):
        sys.exit(f"bindings.py: not understood: {' '.join(what.split())}")

    def number(self, text):
        text = re.sub(r"\bUINT32_MAX\b", "0xffffffff", text)
        text = re.sub(r"\b(0x[0-9a-fA-F]+|\d+)[uUlL]+\b", r"\1", text)
        try:
            return eval(text, {"__builtins__": {}}, self.constants)  # of our own headers
        except Exception:
            return None

    def type(self, text):
        """The ctypes name of a type, without declarator."""
        text = re.sub(r"\b(const|struct|enum)\b", " ", text).strip()
        stars, base = text.count("*"), text.replace("*", " ").strip()
        if stars:
            return "c_char_p" if base == "char" and stars == 1 else "c_void_p"
        if base in SCALARS:
            return SCALARS[base]
        if base in self.enums:
            return "c_int"
        if base in self.structures:
            return base
        if base in self.callbacks:
            return "c_void_p"
        return self.fail(f"type '{text}'")

    def fields(self, body):
        """[(name, ctypes expression)] of a structure's members; a nested union becomes a list."""
        members, rest = [], body
        while rest.strip():
            nested = re.match(r"\s*(union|struct)\s*\{", rest)
            if nested:
                end = closing(rest, nested.end() - 1)
                name = re.match(r"\s*(\w+)\s*;", rest[end + 1 :])
                members.append((name[1], (nested[1], self.fields(rest[nested.end() : end]))))
                rest = rest[end + 1 + name.end() :]
                continue
            declaration, rest = rest.split(";", 1)
            members += self.declaration(declaration)
        return members

    def declaration(self, text):
        pointer = re.match(r"\s*[\w\s*]+\(\*\s*(\w+)\)\s*\(", text)
        if pointer:
            return [(pointer[1], "c_void_p")]
        first = re.match(r"\s*((?:const\s+|struct\s+)*\w+)\b(.*)$", text, re.DOTALL)
        if not first:
            self.fail(text)
        members = []
        for declarator in first[2].split(","):
            shape = re.match(r"\s*((?:\*|const|\s)*)(\w+)\s*((?:\[[^\]]+\]\s*)*)$", declarator)
            if not shape:
                self.fail(text)
            made = self.type(first[1] + shape[1])
            for count in reversed(re.findall(r"\[([^\]]+)\]", shape[3])):
                value = self.number(count)
                if value is None:
                    self.fail(text)
                made = f"{made} * {value}" if " " not in made else f"({made}) * {value}"
            members.append((shape[2], made))
        return members

    def enum(self, name, body):
        value = -1
        for entry in filter(None, (part.strip() for part in body.split(","))):
            entry, _, given = entry.partition("=")
            value = self.number(given) if given else value + 1
            if value is None:
                self.fail(f"{name}: {entry} = {given}")
            self.constants[entry.strip()] = value
        if name:
            self.enums.append(name)

    def function(self, result, name, arguments):
        types, names = [], []
        arguments = re.sub(r"\w+ \(\*(\w+)\)\([^)]*\)", r"void *\1", arguments)  # callbacks
        for argument in arguments.split(","):
            argument = argument.strip()
            if argument == "void":
                continue
            array = "[" in argument
            argument = re.sub(r"\[[^\]]*\]", "", argument)
            kind = re.match(r"(.*?)(\w+)$", argument, re.DOTALL)
            types.append("c_void_p" if array else self.type(kind[1]))
            names.append(kind[2])
        self.functions[name] = (self.type(result), types)
        self.parameters[name] = names

    def read(self, text):
        text = re.sub(r"/\*.*?\*/", " ", text, flags=re.DOTALL)
        for name, value in re.findall(r"^#define (ABUT_\w+) +(.+)$", text, re.MULTILINE):
            number = self.number(value)
            if number is not None:
                self.constants[name] = number
        text = re.sub(r"^#.*?(?<!\\)$", "", text, flags=re.DOTALL | re.MULTILINE)
        text = re.sub(r"^ABUT_LIST\((\w+)\)", LIST, text, flags=re.MULTILINE)
        place = 0
        while True:
            found = re.compile(
                r"typedef enum (\w+) *\{|\benum *\{|typedef struct (\w+) *\{|"
                r"typedef struct (\w+) \w+;|typedef \w+ (\w+)\(|ABUT_API\s"
            ).search(text, place)
            if not found:
                return
            place = self.piece(text, found)

    def piece(self, text, found):
        """Reads what was found; returns where it ends."""
        if found[0].startswith("ABUT_API"):
            end = text.index(";", found.end())
            whole = text[found.end() : end]
            parts = re.match(r"\s*(.*?)(\babut_\w+)\s*\((.*)\)$", whole, re.DOTALL)
            if not parts:
                self.fail(whole)
            self.function(*parts.groups())
            return end
        if found[3]:
            self.opaque.add(found[3])
        elif found[4]:
            self.callbacks.add(found[4])
        else:
            end = closing(text, found.end() - 1)
            body = text[found.end() : end]
            if found[2]:
                self.structures[found[2]] = self.fields(body)
            else:
                self.enum(found[1], body)
            return end
        return found.end()


def closing(text, place):
    """Where the brace that opens at `place` closes."""
    depth = 0
    for i in range(place, len(text)):
        depth += (text[i] == "{") - (text[i] == "}")
        if depth == 0:
            return i
    sys.exit("bindings.py: a brace is not closed")


def class_text(kind, name, members):
    """The ctypes class of a structure, and before it those that are nested in it."""
    base = "Union" if kind == "union" else "Structure"
    before, lines = [], []
    for member, made in members:
        if isinstance(made, tuple):
            inner = f"{name}_{member}"
            before.append(class_text(made[0], inner, made[1]))
            made = inner
        lines.append(f'        ("{member}", {made}),\n')
    return "".join(before) + f"\n\nclass {name}({base}):\n    _fields_ = [\n{''.join(lines)}    ]\n"


def library_of(function):
    """The library that has a function: "" for libabut, "figures" for libabut_figures."""
    return next((name for name, starts in LIBRARIES.items() if function.startswith(starts)), "")


def python_text(mirror):
    out = [
        '"""Made by bindings.py from the headers of abut: not to be edited."""\n'
        "# mypy: ignore-errors\n"
        "from ctypes import (Structure, Union, c_bool, c_char, c_char_p, c_double, c_float, c_int, c_int64,\n"
        "                    c_size_t, c_uint16, c_uint32, c_uint64, c_void_p)\n\n"
    ]
    out += [f"{name} = {value!r}\n" for name, value in mirror.constants.items()]
    out += [class_text("struct", name, members) for name, members in mirror.structures.items()]
    out.append("\n\nSTRUCTURES = (\n" + "".join(f"    {name},\n" for name in mirror.structures) + ")\n")
    out.append(f"\nENUMS = {tuple(mirror.enums)!r}\n")
    for library in ("", *LIBRARIES):
        out.append(f"\n{library.upper()}{'_' if library else ''}FUNCTIONS = {{\n")
        for name, (result, arguments) in mirror.functions.items():
            if library_of(name) == library:
                out.append(f'    "{name}": ({result}, [{", ".join(arguments)}]),\n')
        out.append("}\n")
    out.append("\nPARAMETERS = {\n")
    out += [f'    "{name}": {tuple(names)!r},\n' for name, names in mirror.parameters.items()]
    out.append("}\n")
    return "".join(out)


def layout_text(mirror):
    """A program that prints "STRUCTURE SIZE" and "STRUCTURE.MEMBER OFFSET" line by line."""
    out = ["#include <abut/abut.h>\n#include <stdio.h>\n\nint main(void) {\n"]
    for name, members in mirror.structures.items():
        out.append(f'    printf("{name} %zu\\n", sizeof({name}));\n')
        out += [f'    printf("{name}.{member} %zu\\n", offsetof({name}, {member}));\n' for member, _ in members]
    for name in mirror.enums:
        out.append(f'    printf("{name} %zu\\n", sizeof({name}));\n')
    return "".join(out) + "    return 0;\n}\n"


def main(arguments):
    if len(arguments) not in (2, 4) or (len(arguments) == 4 and arguments[2] != "--layout"):
        sys.exit(__doc__)
    mirror = Mirror()
    for _, text in ordered(pathlib.Path(arguments[0])):
        mirror.read(text)
    if len(mirror.functions) < 200 or len(mirror.structures) < 50:
        sys.exit(f"bindings.py: only {len(mirror.functions)} functions were found in {arguments[0]}")
    pathlib.Path(arguments[1]).write_text(python_text(mirror))
    if len(arguments) == 4:
        pathlib.Path(arguments[3]).write_text(layout_text(mirror))


if __name__ == "__main__":
    main(sys.argv[1:])
