#!/usr/bin/env python3
"""Compares two result files of abut-bench case by case.

    python3 bench/compare.py OLD.json NEW.json [--allow-hash]

Prints the medians of both, their ratio (below 1: NEW is faster), and whether the hashes agree. Exit codes: 0 success,
1 hashes differ, 2 wrong usage or a file that cannot be read. With --allow-hash other hashes are no failure.
Needs nothing but python3.
"""
import argparse
import sys

from report import read_results


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("--allow-hash", action="store_true", help="other hashes are no failure")
    arguments = parser.parse_args()
    before, after = read_results(arguments.old), read_results(arguments.new)
    if before.get("quick") != after.get("quick"):
        print(f"only one of '{arguments.old}' and '{arguments.new}' was made with --quick, so that their inputs differ",
              file=sys.stderr)
        return 2
    for key in ("commit", "compiler", "flags", "cpu", "system", "date"):
        old, new = before.get(key, ""), after.get(key, "")
        print(f"{key:10}{old}" + (f" -> {new}" if new != old else ""))
    print(f"\n{'case':32} {'threads':>7} {'old ms':>12} {'new ms':>12} {'ratio':>7}  hash")
    olds, news = ({(case["case"], case["threads"]): case for case in run["cases"]} for run in (before, after))
    different = 0
    for name, threads in [key for key in olds if key in news]:
        old, new = olds[name, threads], news[name, threads]
        same = old["hash"] == new["hash"]
        different += not same
        ratio = f"{new['median_ms'] / old['median_ms']:7.3f}" if old["median_ms"] > 0 else "      -"
        print(f"{name:32} {threads:7} {old['median_ms']:12.4g} {new['median_ms']:12.4g} {ratio}  {'same' if same else 'different'}")
    for ours, others, where in ((olds, news, "old"), (news, olds, "new")):
        for name, threads in [key for key in ours if key not in others]:
            print(f"{name:32} {threads:7}  only in the {where} file")
    print(f"\n{len(olds.keys() & news.keys())} compared, {different} with a different hash")
    return 1 if different and not arguments.allow_hash else 0


if __name__ == "__main__":
    sys.exit(main())
