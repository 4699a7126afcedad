#!/usr/bin/env python3
"""Converts distance fields between .npy and .dcache, the text format of Sundholm (2010, section 6.2.6).

    python3 bench/reproduce/sundholm/dcache.py IN OUT [NUMBER] [--samples CSV]

One of both files is .npy, as `abut field` writes it: floats [z, y, x]. A .dcache file has for each field: DISTCACHE, the
number of cells, the cells along each axis, field thickness and grid thickness (0 = no limit), the distances with x
fastest, the number of sampling points, and a point and its normal for each. NUMBER selects a field of the file, from 0.

CSV has the sampling points of the field with their normals: x,y,z,nx,ny,nz, the first columns of `abut samples`. It is
read if OUT is .dcache, otherwise written. Numbers keep their digits.

`abut.Field.from_array(numpy.load(FILE), origin, cell)` of the Python package makes a field of the .npy file; the format
does not contain origin and cell size. Needs nothing but python3.
"""
import argparse
import array
import math
import re
import sys


COLUMNS = ["x", "y", "z", "nx", "ny", "nz"]


def fail(path, reason):
    sys.exit(f"{path}: {reason}")


def number_of(path, word, kind=float):
    try:
        value = kind(word)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        fail(path, f"'{word}' is not a finite number")
    return value


def check_samples(path, rows):
    for row in rows:
        if len(row) != len(COLUMNS):
            fail(path, f"a row does not have {','.join(COLUMNS)}")
        for word in row:
            number_of(path, word)
    return rows


def read_csv(path):
    with open(path, encoding="utf-8") as file:
        head, *rows = [line.strip().split(",")[:6] for line in file] or [[]]
    if head != COLUMNS:
        fail(path, f"the columns are not {','.join(COLUMNS)}")
    return check_samples(path, rows)


def write_csv(path, rows):
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(",".join(row) + "\n" for row in [COLUMNS, *rows])


def read_npy(path):
    with open(path, "rb") as file:
        data = file.read()
    head = re.search(rb"'descr': '<f4', 'fortran_order': False, 'shape': \((\d+), (\d+), (\d+)\)", data[:192])
    if not head:
        fail(path, "is not an array of floats [z, y, x]")
    values = array.array("f", data[10 + int.from_bytes(data[8:10], "little"):])
    if not all(map(math.isfinite, values)):
        fail(path, "a distance is not finite")
    return [int(count) for count in head.groups()][::-1], values


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
                fail(path, "a field must begin with DISTCACHE")
            cells, *count = (number_of(path, next(words), int) for _ in range(4))
            if cells != math.prod(count):
                fail(path, f"{cells} of {math.prod(count)} cells have a value; only complete fields can be read")
            for _ in range(2):  # thicknesses
                number_of(path, next(words))
            values = array.array("f", [number_of(path, next(words)) for _ in range(cells)])
            samples = [[next(words) for _ in COLUMNS] for _ in range(number_of(path, next(words), int))]
            check_samples(path, samples)
    except StopIteration:
        fail(path, "the file ends within a field, or has no field of this number")
    return count, values, samples


def write_dcache(path, count, values, samples):
    with open(path, "w", encoding="ascii") as file:
        file.write(f"DISTCACHE\n{len(values)} {count[0]} {count[1]} {count[2]} 0 0\n")
        file.writelines(f"{value:.9g}\n" for value in values)
        file.write(f"{len(samples)}\n")
        file.writelines(" ".join(row) + "\n" for row in samples)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("source", metavar="IN", help="a .npy or .dcache file")
    parser.add_argument("target", metavar="OUT", help="a file of the other format")
    parser.add_argument("number", metavar="NUMBER", nargs="?", type=int, default=0,
                        help="the field of a .dcache file, from 0 (default: 0)")
    parser.add_argument("--samples", metavar="CSV", help="sampling points with normals: read for a .dcache file, "
                        "otherwise written")
    options = parser.parse_args()
    source, target = options.source, options.target
    if source.endswith(".npy"):
        write_dcache(target, *read_npy(source), read_csv(options.samples) if options.samples else [])
    else:
        count, values, samples = read_dcache(source, options.number)
        write_npy(target, count, values)
        if options.samples:
            write_csv(options.samples, samples)


if __name__ == "__main__":
    main()
