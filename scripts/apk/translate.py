#!/usr/bin/env python3
"""Translates dex files to class files with Debian's enjarify, in as many processes as there are CPUs.

translate.py OUT.jar IN...: dex files, and archives with classes*.dex. The runtime's dex file, which has dev.anrscope.MapId, is left out. Prints
the number of classes, and a line `failed CLASS reason` for each that enjarify cannot translate. Status 1 if a file cannot be read.
"""
import multiprocessing, os, sys, traceback, zipfile

sys.path.append("/usr/lib/python3/dist-packages")
from enjarify import parsedex
from enjarify.jvm import writeclass
from enjarify.jvm.optimization import options
from enjarify.mutf8 import decode

MAP_ID = b"dev/anrscope/MapId"
CLASSES_EACH = 40
INTERFACE = 0x200
# For the workers, which are forked: classes hold references into their file.
classes = []


def dexes(path):
    with open(path, "rb") as file:
        start = file.read(4)
        if start != b"PK\3\4":
            yield start + file.read()
            return
    with zipfile.ZipFile(path) as archive:
        for name in archive.namelist():
            if name.startswith("classes") and name.endswith(".dex"):
                yield archive.read(name)


def with_version(found, contents):
    """Interfaces with code (API 24 and newer) get the class file version of Java 8, without which they cannot be loaded. As enjarify writes no stack map,
    their own methods are verified only as far as the first branch."""
    has_code = any(method.code is not None and method.id.name != b"<clinit>" for method in found.data.methods) if found.data else False
    if found.access & INTERFACE and has_code:
        return contents[:6] + bytes([0, 52]) + contents[8:]
    return contents


def translate(first):
    done = []
    for found in classes[first:first + CLASSES_EACH]:
        name = decode(found.name)
        try:
            done.append((name, with_version(found, writeclass.toClassFile(found, options.NONE)), None))
        except Exception:
            done.append((name, None, traceback.format_exc().strip().splitlines()[-1]))
    return done


def main():
    out, inputs = sys.argv[1], sys.argv[2:]
    sys.setrecursionlimit(20000)
    seen = set()
    for path in inputs:
        for dex in dexes(path):
            in_file = parsedex.DexFile(dex).classes
            if any(found.name == MAP_ID for found in in_file):
                continue
            for found in in_file:
                if found.name not in seen:
                    seen.add(found.name)
                    classes.append(found)
    written, part = 0, out + ".part"
    with multiprocessing.get_context("fork").Pool() as pool, zipfile.ZipFile(part, "w", zipfile.ZIP_STORED) as jar:
        for done in pool.imap(translate, range(0, len(classes), CLASSES_EACH)):
            for name, contents, reason in done:
                if contents is None:
                    print("failed %s %s" % (name, reason))
                    continue
                jar.writestr(name + ".class", contents)
                written += 1
    os.replace(part, out)
    print("classes %d" % written)


if __name__ == "__main__":
    main()
