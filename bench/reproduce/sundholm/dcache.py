#!/usr/bin/env python3
"""Converts distance fields between .npy and .dcache, the text format of Sundholm (2010, section 6.2.6).

    python3 bench/reproduce/sundholm/dcache.py IN OUT [NUMBER]

One of both files is .npy, as `abut field` writes it: floats [z, y, x]. A .dcache file has for each field: DISTCACHE, the
number of cells, the cells along each axis, field thickness and grid thickness (0 = no limit), the distances with x
fastest, the number of sampling points, and a point and its normal for each. Sampling points are skipped and not written.
NUMBER selects a field of the file, from 0. `abut.Field.from_array(numpy.load(FILE), origin, cell)` of the Python package
makes a field of the result; the format does not contain origin and cell size. Needs nothing but python3.
"""
import argparse
import array
import math
import re
import sys


def fail(reason):
    sys.exit(f"{sys.argv[1]}: {reason}")


def read_npy(path):
    with open(path, "rb") as file:
        data = file.read()
    head = re.search(rb"'descr': '<f4', 'fortran_order': False, 'shape': \((\d+), (\d+), (\d+)\)", data[:192])
    if not head:
        fail("is not an array of floats [z, y, x]")
    start = 10 + int.from_bytes(data[8:10], "little")
    return [int(count) for count in head.groups()][::-1], array.array("f", data[start:])


def write_npy(path, count, values):
    head = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({count[2]}, {count[1]}, {count[0]}), }}"
    head += " " * (-(len(head) + 11) % 64) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head.encode() + values.tobytes())


def read_dcache(path, number):
    with open(path, encoding="ascii") as file:
        words = iter(re.sub("%.*", "", file.read()).split())
    try:
        for _ in range(number + 1):
            if next(words).upper() != "DISTCACHE":
                fail("a field must begin with DISTCACHE")
            cells, *count = (int(next(words)) for _ in range(4))
            if cells != math.prod(count):
                fail(f"{cells} of {math.prod(count)} cells have a value; only complete fields can be read")
            for _ in range(2):  # thicknesses
                float(next(words))
            values = array.array("f", [float(next(words)) for _ in range(cells)])
            for _ in range(6 * int(next(words))):  # sampling points
                float(next(words))
    except StopIteration:
        fail("the file ends within a field, or has no field of this number")
    return count, values


def write_dcache(path, count, values):
    with open(path, "w", encoding="ascii") as file:
        file.write(f"DISTCACHE\n{len(values)} {count[0]} {count[1]} {count[2]} 0 0\n")
        file.writelines(f"{value:.9g}\n" for value in values)
        file.write("0\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("source", metavar="IN", help="a .npy or .dcache file")
    parser.add_argument("target", metavar="OUT", help="a file of the other format")
    parser.add_argument("number", metavar="NUMBER", nargs="?", type=int, default=0,
                        help="the field of a .dcache file, from 0 (default: 0)")
    options = parser.parse_args()
    source, target = options.source, options.target
    if source.endswith(".npy"):
        write_dcache(target, *read_npy(source))
    else:
        write_npy(target, *read_dcache(source, options.number))


if __name__ == "__main__":
    main()
