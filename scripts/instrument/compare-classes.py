#!/usr/bin/env python3
"""Compares the class files that the agent gave to a JVM with those of `anrscope instrument`, byte by byte.

    compare-classes.py ORIGINAL INSTRUMENTED SHOWN.jar AGENT-MAP PLAIN-MAP ALL-MAP

INSTRUMENTED was written with the agent's map as its base map: so both have the same ids, and the methods that the agent traces are traced. PLAIN-MAP
is the map without a base map, ALL-MAP that with `--short 0`. The agent decides on a class when it comes, and traces what other classes might show to be
short; so its methods are those of PLAIN-MAP and some of ALL-MAP.

Prints the number of methods that the agent traces, of classes that it rewrote, of classes that are equal in both, and of classes that cannot be compared,
whose reasons go to stderr. Fails if any other class differs, or a method is traced on one side without that reason.
"""

import collections
import io
import sys
import zipfile

# Names of which the agent takes none (trace-runtime/jvm-agent/src/loaders.rs): the JDK's tools and what the JDK generates.
OF_JDK = ("java/", "jdk/", "sun/", "com/sun/proxy/", "com/sun/tools/")
FOCUS = b"(Landroid/app/Activity;Z)V"


def classes(path):
    """The class files of an archive by the names that LinkAll gives them; the first of several entries with a name counts."""
    found = {}
    with zipfile.ZipFile(path) as archive:
        jars = [("", archive)]
        if ".aar" in path or any(name == "classes.jar" for name in archive.namelist()):
            inner = [name for name in archive.namelist() if name.endswith(".jar")]
            jars += [(name + "!", zipfile.ZipFile(io.BytesIO(archive.read(name)))) for name in inner]
        for prefix, jar in jars:
            for entry in jar.infolist():
                if entry.filename.endswith((".class", ".class#again")):
                    found.setdefault(prefix + entry.filename, jar.read(entry))
    return found


def name_of(entry):
    """The internal name of the class, by the entry's place."""
    name = entry.split("!")[-1].removesuffix("#again")
    if name.startswith("META-INF/versions/"):
        name = name.split("/", 3)[3]
    return name.removesuffix(".class")


def methods(path):
    """The methods of a map: the class's internal name with the rest of the line."""
    with open(path, encoding="utf-8") as lines:
        rows = (line.rstrip("\n").split(",", 2)[2].split(" ", 1) for line in lines if line[:1].isdigit())
        return {(row[0].replace(".", "/"), row[1]) for row in rows if len(row) == 2}


def main():
    original, instrumented, shown = (classes(path) for path in sys.argv[1:4])
    agent, plain, every = (methods(path) for path in sys.argv[4:7])
    reasons, differing, compared, equal, rewritten = collections.Counter(), [], set(), 0, 0
    copies = collections.Counter(name_of(entry) for entry in original)
    for entry, bytes in original.items():
        name = name_of(entry)
        if name in ("module-info", "package-info") and entry not in shown:
            reasons["no class that a program loads"] += 1
        elif entry not in shown:
            reasons["the JVM refuses it before any agent sees it"] += 1
        elif name.startswith(OF_JDK) and shown[entry] == bytes:
            reasons["a name of the JDK's tools, of which the agent takes none"] += 1
        elif FOCUS in instrumented[entry] and FOCUS not in bytes:
            reasons["an activity, whose focus only Android reports"] += 1
        elif copies[name] > 1 and shown[entry] != instrumented[entry]:
            reasons["one of several with its name in a multi-release jar: instrument does not know which is loaded, and takes none of its methods as short"] += 1
        else:
            rewritten += shown[entry] != bytes
            compared.add(name)
            if shown[entry] == instrumented[entry] and entry + "#again" not in shown:
                equal += 1
            else:
                differing.append(entry)
    for reason, count in sorted(reasons.items()):
        print(f"    {count} {'class' if count == 1 else 'classes'}: {reason}", file=sys.stderr)
    for entry in differing[:20]:
        print(f"    DIFFERS: {entry}", file=sys.stderr)
    agent, plain, every = ({row for row in rows if row[0] in compared} for rows in (agent, plain, every))
    missing, unexplained = plain - agent, agent - every
    for what, rows in ("traced by instrument alone", missing), ("traced by the agent alone, and not for being short", unexplained):
        if rows:
            print(f"    {len(rows)} methods are {what}, such as {' '.join(sorted(rows)[0])}", file=sys.stderr)
    if agent - plain:
        print(f"    {len(agent - plain)} methods that other classes show to be short are traced by the agent alone", file=sys.stderr)
    print(len(agent), rewritten, equal, sum(reasons.values()))
    return 1 if differing or missing or unexplained else 0


if __name__ == "__main__":
    sys.exit(main())
