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
INTERFACE, ABSTRACT = 0x200, 0x400
# Static or private.
NOT_INHERITED = 0x8 | 0x2
PUBLIC_STATIC_FINAL, SYNTHETIC = 0x1 | 0x8 | 0x10, 0x1000
# invoke-polymorphic, invoke-custom, const-method-handle, const-method-type (dalvik-bytecode.html).
FIRST_NEWER = 0xFA
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


class NewerInstruction(Exception):
    """Enjarify reads an instruction of dex 038 and later as another of another length, and makes something else of the code."""


def as_class_file(found):
    """Changes what a dex file allows and a class file does not, in the traced class as in the original."""
    found.parseData()
    for method in found.data.methods:
        if method.code is not None and any(instruction.opcode >= FIRST_NEWER for instruction in method.code.bytecode):
            raise NewerInstruction("%s has an instruction of dex 038 or later" % decode(method.id.name))
    if found.access & INTERFACE:
        # Code of an interface's methods (API 24 and newer): class files as old as enjarify's have none, and newer ones need stack maps.
        methods = [method for method in found.data.methods if method.code is None or method.id.name == b"<clinit>" or not method.access & NOT_INHERITED]
        for method in methods:
            if method.code is not None and method.id.name != b"<clinit>":
                method.code, method.access = None, method.access | ABSTRACT
        found.data.methods = methods
        # JVMS 4.5: an interface's fields are public, static and final. D8 gives it others.
        for field in found.data.fields:
            field.access = field.access & SYNTHETIC | PUBLIC_STATIC_FINAL
    return found


def translate(first):
    done = []
    for found in classes[first:first + CLASSES_EACH]:
        name = decode(found.name)
        try:
            done.append((name, writeclass.toClassFile(as_class_file(found), options.NONE), None))
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
