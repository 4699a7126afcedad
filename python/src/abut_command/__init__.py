"""The command `abut`: executes the program that is installed in the package abut.

A package of its own, because importing abut loads numpy and the library, which takes longer than most commands.
"""

from __future__ import annotations

import importlib.util
import os
import sys


def main() -> None:
    spec = importlib.util.find_spec("abut")  # does not import it
    for folder in (spec and spec.submodule_search_locations) or ():
        program = os.path.join(folder, "abut")
        if os.access(program, os.X_OK) and os.path.isfile(program):
            os.execv(program, [program, *sys.argv[1:]])
    sys.exit("abut: the program is not in the package abut; install the package again")
