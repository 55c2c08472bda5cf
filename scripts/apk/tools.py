#!/usr/bin/env python3
"""Traces the dex files of apps and archives, and asks each tool about the files before and after.

tools.py --runtime ZIP --d8 D8.jar --android ANDROID.jar --classes DIR --method-beat DIR --cache DIR --control FILE [--library JAR]... [--without TOOL,...]
    NAME=FILE...

Prints a row of a Markdown table for each input, and each complaint that a tool has about the output and not about the input. Status 1 if there
is one. The environment names the programs: ANRSCOPE_PROGRAM and ANRSCOPE_DEX_VERIFY. DIR of --classes holds LinkAll (instrumenter/proof).

The tools: dex-verify (written apart from the rewriter), dexdump, baksmali and smali, D8 (reads dex files and merges them; R8 refuses dex files),
and enjarify, whose classes a JVM links with -Xverify:all. dexdump's listing must also show each call of `o` (listing.py).

The first two are asked again about the output with --waits, where each other inserted call must lose what it throws, and dex-verify about that
with --exits normal, where no method without waits may have gained a try block.

As a control, the file of --control is damaged after tracing (damage.py), and the tools must complain.
"""
import argparse, collections, json, os, re, shutil, struct, subprocess, sys, tempfile, time, zipfile

import damage
from listing import Listing

HERE = os.path.dirname(os.path.abspath(__file__))
JAVA = ["java", "-XX:+UseSerialGC", "-Xmx6g", "-Xss8m"]
# The API level that D8 needs to read a dex version.
API = {35: 21, 37: 24, 38: 26, 39: 28, 40: 30, 41: 35}
COLUMNS = ["input", "dex MB", "classes", "methods", "traced", "left", "waits", "dex-verify", "dexdump", "smali", "D8", "enjarify", "JVM", "linked", "s"]


def run(command, **options):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", **options)


class Dexes:
    """The app's dex files of an archive, as files in a directory."""

    def __init__(self, archive, directory, has_runtime):
        os.makedirs(directory)
        self.directory, self.files, self.bytes, self.classes, self.api = directory, [], 0, 0, 21
        with zipfile.ZipFile(archive) as zip_file:
            names = [name for name in zip_file.namelist() if re.fullmatch(r"classes\d*\.dex", name)]
            names.sort(key=lambda name: int(re.sub(r"\D", "", name) or 1))
            # The runtime's file is the last one.
            for name in names[:-1] if has_runtime else names:
                dex = zip_file.read(name)
                path = os.path.join(directory, name)
                with open(path, "wb") as file:
                    file.write(dex)
                self.files.append(path)
                self.bytes += len(dex)
                self.classes += struct.unpack_from("<I", dex, 0x60)[0]
                self.api = max(self.api, API[int(dex[4:7])])


class Checks:
    def __init__(self, options, work):
        self.options, self.work = options, work

    # Each check returns the complaints about the dex files, as a multiset of lines without paths.

    def normal(self, text, dexes):
        return text.replace(dexes.directory, "DIR").strip()

    def dexdump(self, dexes):
        complaints = collections.Counter()
        listing = Listing()
        for path in dexes.files:
            with subprocess.Popen(["dexdump", "-d", path], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
                # Its errors are few: they fit the pipe.
                for line in process.stdout:
                    listing.line(line)
                listing.end()
                errors = process.stderr.read().decode(errors="replace")
            if process.returncode:
                complaints["status %d" % process.returncode] += 1
            complaints.update(self.normal(re.sub(r"^dexdump\S* \w \S+ \S+ +\d+ +\d+ ", "", line), dexes) for line in errors.splitlines())
        complaints.update(listing.wrong)
        dexes.calls = listing.calls
        return +complaints

    def smali(self, dexes):
        """Disassembles, assembles and disassembles again: the text stays the same."""
        complaints = collections.Counter()
        first, second = os.path.join(self.work, "first"), os.path.join(self.work, "second")
        for path in dexes.files:
            for directory in first, second:
                shutil.rmtree(directory, ignore_errors=True)
            again = os.path.join(self.work, "again.dex")
            api = str(min(dexes.api, 28))
            steps = [["baksmali", "disassemble", "--api", api, "--output", first, path], ["smali", "assemble", "--api", api, "--output", again, first],
                     ["baksmali", "disassemble", "--api", api, "--output", second, again], ["diff", "-rq", first, second]]
            for step in steps:
                done = run(step)
                if done.returncode or done.stdout.strip():
                    lines = done.stdout.replace(self.work, "WORK").splitlines() or ["status %d" % done.returncode]
                    # A place in a file moves with each inserted line.
                    complaints.update("%s: %s" % (step[0], re.sub(r"\[\d+,\d+\]", "[]", self.normal(line, dexes))) for line in lines)
                    break
        return complaints

    def d8(self, dexes):
        complaints = collections.Counter()
        out = os.path.join(self.work, "merged")
        shutil.rmtree(out, ignore_errors=True)
        os.makedirs(out)
        options = ["--release", "--min-api", str(dexes.api), "--lib", self.options.android, "--classpath", self.options.method_beat]
        done = run(JAVA + ["-XX:TieredStopAtLevel=1", "-cp", self.options.d8, "com.android.tools.r8.D8"] + options + ["--output", out] + dexes.files)
        lines = [self.normal(line, dexes) for line in done.stdout.splitlines()]
        complaints.update(line for line in lines if line and not line.startswith("at "))
        if done.returncode:
            complaints["status %d" % done.returncode] += 1
        else:
            merged = 0
            for name in os.listdir(out):
                with open(os.path.join(out, name), "rb") as file:
                    merged += struct.unpack_from("<I", file.read(0x70), 0x60)[0]
            if merged != dexes.classes:
                complaints["%d classes of %d" % (merged, dexes.classes)] += 1
        return complaints

    def enjarify(self, dexes, jar):
        """Translates to class files. Returns the failures."""
        if not os.path.exists(jar):
            done = run([sys.executable, os.path.join(HERE, "translate.py"), jar + ".new"] + dexes.files)
            with open(jar + ".failed", "w") as failed:
                failed.write(done.stdout if done.returncode == 0 else "failed all " + done.stdout)
            if done.returncode == 0:
                os.rename(jar + ".new", jar)
        with open(jar + ".failed") as failed:
            # Only the class: messages have indices.
            return collections.Counter(line.split()[1] for line in failed if line.startswith("failed "))

    def link(self, before, after):
        """Links all classes in a JVM. Returns how many link in both forms, how many in none, and the complaints."""
        done = subprocess.run(JAVA + ["-Xverify:all", "-Dmissing=interface", "-Xbootclasspath/a:" + self.options.method_beat, "-cp", self.options.classes,
                                      "LinkAll", before, after, self.options.android] + self.options.library, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace")
        numbers = done.stdout.split()
        if len(numbers) != 4:
            return 0, 0, collections.Counter(["status %d: %s" % (done.returncode, done.stderr[-500:])])
        errors = re.findall(r"(?m)^(\S+\.class)\n  original: +(.*)\n  instrumented: (.*)$", done.stderr)
        # A class that fails in both forms can name another of its faults first: the text has numbers of registers and orders of classes.
        worse = [(name, after) for name, before, after in errors if before == "linked"]
        return int(numbers[1]), int(numbers[2]) + len(errors) - len(worse), collections.Counter("%s: %s" % error for error in worse)

    def verifier(self, before, after):
        """Returns the complaints, how many inserted calls lose what they throw and how many are of i and o, and how many methods gained a try block."""
        done = run([os.environ["ANRSCOPE_DEX_VERIFY"], "--compare", before, after])
        lines = done.stdout.splitlines()
        summary = re.search(r"(?m)^after: .*, (\d+) inserted calls covered, \d+ not, (\d+) of i and o", done.stdout)
        gained = re.search(r"(?m)^(\d+) methods without waits gained a try block", done.stdout)
        numbers = [int(number) for number in (summary.groups() if summary else (0, 0)) + ((gained[1],) if gained else (0,))]
        if done.returncode == 0:
            return collections.Counter(), numbers
        found = [line for line in lines if not re.match(r"before: |after: |\d+ (new findings|methods without)", line)]
        return collections.Counter(found or ["status %d" % done.returncode]), numbers


def trace(path, options, traced, *more):
    return subprocess.run([os.environ["ANRSCOPE_PROGRAM"], "apk", "--out", traced, "--unsigned", "--runtime", options.runtime, "--short", "0", "--level", "1",
                           "--json", *more, "--", path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def ask(name, path, traced, summary, options, work):
    """Asks all tools. Returns the dex files before, the complaints of each tool, and how many classes link in both forms and in neither."""
    checks = Checks(options, work)
    before, after = Dexes(path, os.path.join(work, "before"), False), Dexes(traced, os.path.join(work, "after"), True)
    new = {"dex-verify": checks.verifier(path, traced)[0]}
    for tool in "dexdump", "smali", "D8":
        if tool in options.without:
            continue
        complaints_of = getattr(checks, tool.lower())
        complaints = complaints_of(after)
        # The input is asked only if there is something to compare.
        new[tool] = complaints - complaints_of(before) if complaints else complaints
    if after.calls != summary["traced"]:
        new["dexdump"]["%d calls of i, and %d traced methods" % (after.calls, summary["traced"])] += 1
    if after.classes != before.classes:
        new["dexdump"]["%d classes before, %d after" % (before.classes, after.classes)] += 1
    linked, alike = 0, 0
    if "enjarify" not in options.without:
        linked, alike = translate_and_link(name, path, before, after, new, checks, options, work)
    return before, new, linked, alike


def with_waits(path, before, options, work):
    """Returns the complaints of dex-verify and of dexdump about the output with --waits, how many inserted calls lose what they throw, and how many are of i and o."""
    checks = Checks(options, work)
    waits, normal = os.path.join(work, "waits.apk"), os.path.join(work, "normal.apk")
    for traced, more in (waits, []), (normal, ["--exits", "normal"]):
        done = trace(path, options, traced, "--waits", *more)
        if done.returncode:
            return collections.Counter([done.stderr.strip()]), collections.Counter(), 0, 0
    complaints, (covered, ends, _) = checks.verifier(path, waits)
    more, (_, _, gained) = checks.verifier(path, normal)
    if gained:
        more["%d methods without waits have handlers with --exits normal" % gained] += 1
    dumped = checks.dexdump(Dexes(waits, os.path.join(work, "waits"), True))
    return complaints + more, dumped - checks.dexdump(before) if dumped else dumped, covered, ends


def check(name, path, options, work):
    began = time.time()
    traced = os.path.join(work, "traced.apk")
    done = trace(path, options, traced)
    if done.returncode:
        print("%s: not traced: %s" % (name, done.stderr.strip()))
        return None, 1
    summary = json.loads(done.stdout)
    before, new, linked, alike = ask(name, path, traced, summary, options, work)
    verifier, dexdump, covered, ends = with_waits(path, before, options, work)
    new["dex-verify"] += verifier
    new["dexdump"] += dexdump
    for tool, complaints in new.items():
        for line, count in list(complaints.items())[:options.shown]:
            print("    %s: %s: %s%s" % (name, tool, line, " (%d times)" % count if count > 1 else ""))
    complaints = sum(sum(found.values()) for found in new.values())
    row = {"input": name, "dex MB": "%.1f" % (before.bytes / 1e6), "classes": before.classes, "methods": summary["methods"], "traced": summary["traced"],
           "left": len(summary["skipped"]), "waits": "%d, %d" % (covered, ends), "linked": "%d, %d alike not" % (linked, alike), "s": int(time.time() - began)}
    row.update({tool: "not asked" for tool in ("smali", "D8", "enjarify", "JVM")})
    row.update({tool: sum(found.values()) for tool, found in new.items()})
    return row, complaints


def translate_and_link(name, path, before, after, new, checks, options, work):
    """Adds the complaints of enjarify and the JVM to `new`. Returns how many classes link in both forms, and how many in neither."""
    kept = os.path.join(options.cache, "%s-%d-3.jar" % (name, os.path.getsize(path)))
    jar = os.path.join(work, "after.jar")
    failed = checks.enjarify(before, kept)
    new["enjarify"] = checks.enjarify(after, jar) - failed
    linked, alike, new["JVM"] = 0, 0, collections.Counter(["not translated"])
    if os.path.exists(kept) and os.path.exists(jar):
        linked, alike, new["JVM"] = checks.link(kept, jar)
    return linked, alike


def control(name, path, options, work):
    """Damages the traced form of an input. Returns how many tools do not complain that must."""
    traced = os.path.join(work, "traced.apk")
    done = trace(path, options, traced)
    if done.returncode:
        return 1
    missed = 0
    for kind, (_, wanted) in damage.KINDS.items():
        here = os.path.join(work, kind.replace(" ", "-"))
        os.makedirs(here)
        copy = os.path.join(here, "traced.apk")
        found = False
        with zipfile.ZipFile(traced) as archive, zipfile.ZipFile(copy, "w") as out:
            for entry in archive.namelist():
                contents = archive.read(entry)
                if not found and entry.endswith(".dex"):
                    dex = damage.damaged(contents, kind)
                    contents, found = dex or contents, dex is not None
                out.writestr(entry, contents)
        wanted = [tool for tool in wanted if tool not in options.without and not (tool == "JVM" and "enjarify" in options.without)]
        _, new, _, _ = ask(name, path, copy, json.loads(done.stdout), options, here)
        complains = [tool for tool, complaints in new.items() if complaints]
        silent = [tool for tool in wanted if tool not in complains]
        missed += len(silent) + (not found)
        print("control: %s: complaints of %s%s"
              % (kind, ", ".join(complains) or "none", "; NONE OF " + ", ".join(silent) if silent else ""), flush=True)
    return missed


def main():
    parser = argparse.ArgumentParser()
    for option in "runtime", "d8", "android", "classes", "method-beat", "cache", "control":
        parser.add_argument("--" + option, required=True)
    parser.add_argument("--library", action="append", default=[], help="a jar behind the classes of each input")
    parser.add_argument("--shown", type=int, default=5)
    parser.add_argument("--without", default="", help="tools that are not asked: smali, D8, enjarify")
    parser.add_argument("inputs", nargs="+")
    options = parser.parse_args()
    os.makedirs(options.cache, exist_ok=True)
    with tempfile.TemporaryDirectory() as work:
        missed = control("control", options.control, options, work)
    print("| " + " | ".join(COLUMNS) + " |\n|" + " --- |" * len(COLUMNS), flush=True)
    totals, complaints = collections.Counter(), 0
    for pair in options.inputs:
        name, path = pair.split("=", 1)
        with tempfile.TemporaryDirectory() as work:
            row, found = check(name, path, options, work)
        complaints += found
        if row:
            print("| " + " | ".join(str(row[column]) for column in COLUMNS) + " |", flush=True)
            totals.update({key: row[key] for key in ("classes", "methods", "traced", "left")})
            totals["MB"] += float(row["dex MB"])
            totals["covered"] += int(row["waits"].split(",")[0])
            totals["ends"] += int(row["waits"].split(",")[1])
            totals["linked"] += int(row["linked"].split(",")[0])
    asked = "dex-verify, dexdump%s%s%s" % tuple("" if tool in options.without else text for tool, text in
                                                (("smali", ", baksmali and smali"), ("D8", ", D8"), ("enjarify", ", enjarify and the JVM")))
    if missed:
        print("%d times a tool had no complaint about a damaged file" % missed)
    print("%d dex classes (%.0f MB) of %d inputs, %d of %d methods traced, %d left as they were: %d complaints of %s "
          "that the input does not get; with --waits, %d inserted calls lose what they throw, all but %d of i and o; %d classes link with -Xverify:all in both forms; %d kinds of damage, %s"
          % (totals["classes"], totals["MB"], len(options.inputs), totals["traced"], totals["methods"], totals["left"], complaints, asked, totals["covered"], totals["ends"], totals["linked"], len(damage.KINDS),
             "each seen" if not missed else "NOT ALL SEEN"))
    print("classes %d" % totals["classes"], file=sys.stderr)
    sys.exit(1 if complaints or missed else 0)


if __name__ == "__main__":
    main()
