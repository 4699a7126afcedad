#!/usr/bin/env python3
"""Runs the comparisons with other libraries that bench/peers/setup has built, and collects their results.

    python3 bench/peers/run.py [--out FILE] [--quick] [--build FOLDER] [MODEL...]

They are separate programs, since the library is never linked to the others. The machine is described as by abut-bench
of the same build. Exit codes: 0 success, 2 a program failed. Needs nothing but python3.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from report import read_results  # noqa: E402

PEERS = {"embree": "libembree-dev", "fcl": "libfcl-dev", "cgal": "libcgal-dev", "bullet": "libbullet-dev",
         "ode": "libode-dev", "openvdb": "libopenvdb-dev"}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--out", help="write the results as JSON")
    parser.add_argument("--quick", action="store_true", help="small inputs")
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build/release"))
    parser.add_argument("models", nargs="*", help="files of meshes; without any they are generated")
    arguments = parser.parse_args()
    build, cases, failed = arguments.build.resolve(), [], False
    with tempfile.TemporaryDirectory() as folder:
        for name, package in PEERS.items():
            program, out = build / "peers" / f"peer-{name}", pathlib.Path(folder) / f"{name}.json"
            if not program.exists():
                print(f"\n{name}: not built; bench/peers/setup installs {package} and builds it", flush=True)
                continue
            print(flush=True)
            words = [program, "--out", out] + ["--quick"] * arguments.quick + arguments.models
            if subprocess.run(words, check=False).returncode:
                print(f"{program}: failed", file=sys.stderr)
                failed = True
            else:
                try:
                    cases += read_results(out)["cases"]
                except SystemExit:
                    failed = True
        head = pathlib.Path(folder) / "head.json"
        subprocess.run([build / "abut-bench", "--quick", "--filter", "machine/copy", "--out", head],
                       stdout=subprocess.DEVNULL, check=True)
        results = {**read_results(head), "quick": arguments.quick, "cases": cases}
    faster = sum(case["minimum_ms"] < case["peer_minimum_ms"] for case in cases)
    print(f"\n{len(cases)} comparisons; abut is faster in {faster}. Ratio: their time over ours, of the best rounds.")
    if arguments.out:
        lines = ",\n".join(json.dumps(case) for case in results.pop("cases"))
        text = json.dumps(results, indent=0)[:-2] + f',\n"cases": [\n{lines}\n]\n}}\n'
        pathlib.Path(arguments.out).write_text(text, encoding="utf-8")
    return 2 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
