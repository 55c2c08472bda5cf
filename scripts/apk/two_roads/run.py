#!/usr/bin/env python3
"""Traces programs on two roads, and compares what they do and which calls they record.

run.py --runtime ZIP --d8 D8.jar --android ANDROID.jar --work DIR [--only PART]

    javac -> anrscope instrument                            -> JVM
    javac -> D8 -> anrscope apk --base-map -> enjarify      -> JVM
    javac -> D8 -> enjarify                                 -> JVM, for the output alone

Both with --short 0, and half of the groups with --waits. MethodBeat is a class that lists the calls of each thread. Programs of one group, which have a Java version and an API level in
common, are compiled and traced together and run one by one. Prints a row of a Markdown table for each group, then the result.

As a control, one program runs once more with the traced methods' handlers cut off, which must give other calls.
"""
import argparse, collections, json, os, re, shutil, subprocess, sys, zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
sys.path[:0] = [HERE, os.path.dirname(HERE)]
import damage
from compare import compare
from generate import generate

# Its methods end by exceptions, too.
CONTROL = "fixture.RunExits"
JAVA = ["java", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]


class Group:
    def __init__(self, name, java, api, mode, defaults, waits):
        self.name, self.java, self.api, self.mode, self.defaults = name, java, api, mode, defaults
        self.options = ["--short", "0"] + (["--waits"] if waits else [])
        # Source files by name, and main classes.
        self.sources, self.mains = {}, []


def read(*path):
    with open(os.path.join(ROOT, *path), encoding="utf-8") as file:
        return file.read()


def busy_loop(group, file):
    """A program of tests/suites/src/busy_hangs, in a package of its own."""
    text = read("tests/suites/src/busy_hangs/loops", file)
    package = "busy." + file[:-len(".java")] + "_"
    chain = re.search(r"(?m)^// chain: ([\w.]+)", text) or re.search(r"(?m)^// loop: ([\w.]+)", text)
    group.sources[package.replace(".", "/") + "/Loop.java"] = "package %s;\n\nimport dev.anrscope.BusyTime;\n%s" % (package, text)
    # Its threads are daemons, which must end before the program does.
    group.sources[package.replace(".", "/") + "/Main.java"] = """package %s;

public final class Main {
    public static void main(String[] arguments) throws InterruptedException {
        System.out.println(%s(1));
        Thread[] threads = new Thread[64];
        int count = Thread.currentThread().getThreadGroup().enumerate(threads);
        for (int n = 0; n < count; n++) {
            if (threads[n] != Thread.currentThread()) {
                threads[n].join();
            }
        }
    }
}
""" % (package, chain.group(1))
    group.mains.append(package + ".Main")


def fixture(group, files, main, call=None):
    """A program of the instrumenter's tests; `call` is its entry if it has no main."""
    for file in files:
        group.sources["fixture/%s.java" % file] = read("instrumenter/tests/java/fixture", file + ".java")
    if call:
        group.sources["fixture/Run%s.java" % main] = """package fixture;

public final class Run%s {
    public static void main(String[] arguments) throws Exception {
        System.out.println(%s);
    }
}
""" % (main, call)
    group.mains.append("fixture." + ("Run" if call else "") + main)


def made(group, seed):
    package = "made.p%d" % seed
    # Dex files of API 24 and newer keep an interface's methods, which enjarify cannot express.
    text = generate(seed, package, lambdas=group.java >= 8, defaults=group.defaults)
    group.sources[package.replace(".", "/") + "/Main.java"] = text
    group.mains.append(package + ".Main")


def groups(seeds):
    old = Group("Java 8, API 21", 8, 21, "--release", True, False)
    middle = Group("Java 11, API 24", 11, 24, "--debug", False, False)
    new = Group("Java 17, API 33, waits", 17, 33, "--release", False, True)
    records = Group("Java 17, API 21, waits", 17, 21, "--debug", True, True)
    waits = [Group("Java 8, API 21, waits", 8, 21, "--debug", True, True), Group("Java 11, API 26, waits", 11, 26, "--release", False, True)]
    all_groups = [old, middle, new, records] + waits
    # Not Kinds and streams: they call static methods of the platform's interfaces, which class files as old as enjarify's cannot.
    loops = [file for file in sorted(os.listdir(os.path.join(ROOT, "tests/suites/src/busy_hangs/loops"))) if file != "streams.java"]
    for n, file in enumerate(loops):
        busy_loop(all_groups[n % 3], file)
    for file in "Exits", "Switches", "Constructors", "Big":
        fixture(middle if file in ("Exits", "Big") else old, [file], file, file + ".run()")
    fixture(records, ["Modern"], "Modern")
    for file in "Busy", "Greeter", "Program":
        old.sources[file + ".java"] = read("cli/tests/programs", file + ".java")
    old.mains += ["Busy", "Program"]
    for group in waits:
        for file in "Waits", "ShortTasks":
            fixture(group, [file], file)
        for directory in "kotlin", "kotlinx":
            for path, _, files in os.walk(os.path.join(ROOT, "instrumenter/tests/java", directory)):
                for file in files:
                    whole = os.path.join(path, file)
                    group.sources[os.path.relpath(whole, os.path.join(ROOT, "instrumenter/tests/java"))] = read(whole)
        fixture(group, ["Coroutine"], "Coroutine")
    for seed in range(seeds):
        made(all_groups[seed % len(all_groups)], seed)
    return [group for group in all_groups if group.mains]


class Failure(Exception):
    pass


def run(command, **options):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", **options)
    if done.returncode:
        raise Failure("%s: %s" % (" ".join(command[:3]), done.stdout[-3000:]))
    return done.stdout


def traced(group, command):
    return json.loads(run([os.environ["ANRSCOPE_PROGRAM"]] + command + group.options + ["--json"]))


def build(group, options, fakes, work):
    """Makes classes.jar, traced.jar, plain-dex.jar, dex.jar and the two method maps."""
    for path, text in group.sources.items():
        path = os.path.join(work, "src", path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    files = [os.path.join(work, "src", path) for path in sorted(group.sources)]
    run(["javac", "-nowarn", "-Xlint:-options", "-g", "--release", str(group.java), "-encoding", "UTF-8", "-cp", fakes, "-d", os.path.join(work, "classes")] + files)
    jar = os.path.join(work, "classes.jar")
    run(["jar", "-cf", jar, "-C", os.path.join(work, "classes"), "."])
    by_class = traced(group, ["instrument", jar, "--out", os.path.join(work, "traced.jar"), "--method-map", os.path.join(work, "class.map")])
    dexed = os.path.join(work, "dexed.zip")
    run(JAVA + ["-cp", options.d8, "com.android.tools.r8.D8", group.mode, "--min-api", str(group.api), "--lib", options.android, "--classpath", fakes,
                "--output", dexed, jar])
    by_dex = traced(group, ["apk", dexed, "--out", os.path.join(work, "traced.apk"), "--method-map", os.path.join(work, "dex.map"),
                     "--base-map", os.path.join(work, "class.map"), "--unsigned", "--runtime", options.runtime])
    translate(work, "traced.apk", "dex.jar")
    translate(work, "dexed.zip", "plain-dex.jar")
    return by_class, by_dex


def translate(work, archive, jar):
    failed = run([sys.executable, os.path.join(os.path.dirname(HERE), "translate.py"), os.path.join(work, jar), os.path.join(work, archive)])
    if "failed" in failed:
        raise Failure("enjarify: " + failed)


def output(main, jar, fakes, work, form):
    """Runs a program; returns what it printed, and the file of its calls."""
    events = os.path.join(work, "%s.%s.events" % (main, form))
    # enjarify's frames are larger, and it names no variables, which a NullPointerException's message would.
    flags = ["-Xverify:all", "-Xss64m", "-XX:-ShowCodeDetailsInExceptionMessages", "-Danrscope.events=" + events]
    done = subprocess.run(JAVA + flags + ["-cp", fakes + ":" + jar, main], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, errors="replace", timeout=600)
    # Only lines: a stack trace of an uncaught exception has line numbers, which both roads keep.
    return "exit %d\n%s\n%s" % (done.returncode, done.stdout, done.stderr), events


def control(fakes, work):
    """Returns whether the calls of CONTROL differ when no handler of a traced method covers anything."""
    with zipfile.ZipFile(os.path.join(work, "traced.apk")) as archive, zipfile.ZipFile(os.path.join(work, "cut.apk"), "w") as out:
        for entry in archive.namelist():
            contents = archive.read(entry)
            if entry.endswith(".dex"):
                contents = damage.damaged(contents, "a handler covers no call", everywhere=True) or contents
            out.writestr(entry, contents)
    translate(work, "cut.apk", "cut.jar")
    _, events = output(CONTROL, os.path.join(work, "cut.jar"), fakes, work, "cut")
    of_class = os.path.join(work, CONTROL + ".class.events")
    return bool(compare(os.path.join(work, "class.map"), of_class, os.path.join(work, "dex.map"), events).differences)


def main():
    parser = argparse.ArgumentParser()
    for option in "runtime", "d8", "android", "work":
        parser.add_argument("--" + option, required=True)
    parser.add_argument("--seeds", type=int, default=24)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    fakes = os.path.join(options.work, "fakes")
    run(["javac", "-nowarn", "--release", "8", "-Xlint:-options", "-d", fakes, os.path.join(HERE, "MethodBeat.java"), os.path.join(HERE, "BusyTime.java")])
    print("| group | programs | traced as class files | as dex | calls | with the same id | of renamed methods | of D8's own methods | differences |\n|" + " --- |" * 9)
    totals, failed, seen = collections.Counter(), 0, ""
    for number, group in enumerate(groups(options.seeds)):
        group.mains = [name for name in group.mains if options.only in name]
        if not group.mains:
            continue
        work = os.path.join(options.work, "group%d" % number)
        os.makedirs(work)
        by_class, by_dex = build(group, options, fakes, work)
        sums, differences = collections.Counter(), 0
        for name in group.mains:
            plain, _ = output(name, os.path.join(work, "classes.jar"), fakes, work, "plain")
            plain_dex, _ = output(name, os.path.join(work, "plain-dex.jar"), fakes, work, "plain-dex")
            of_class, class_events = output(name, os.path.join(work, "traced.jar"), fakes, work, "class")
            of_dex, dex_events = output(name, os.path.join(work, "dex.jar"), fakes, work, "dex")
            found = []
            if not plain.startswith("exit 0"):
                found.append("it fails: " + plain[-400:])
            if plain_dex != plain:
                # enjarify writes no InnerClasses, so that Class.getSimpleName is another.
                print("    %s: without tracing, enjarify's classes print something else" % name)
                totals["enjarify"] += 1
            for form, text, expected in ("class files", of_class, plain), ("dex", of_dex, plain_dex):
                if text != expected:
                    found.append("another output as %s: %r instead of %r" % (form, text[-400:], expected[-400:]))
            if os.path.exists(class_events) and os.path.exists(dex_events):
                result = compare(os.path.join(work, "class.map"), class_events, os.path.join(work, "dex.map"), dex_events)
                found += result.differences
                sums.update(calls=result.events, same=result.same_ids, renamed=result.renamed, made=result.made)
                if result.events == 0:
                    found.append("no calls")
            else:
                found.append("no calls were written")
            for difference in found[:5]:
                print("    %s: %s" % (name, difference))
            differences += len(found)
            failed += bool(found)
        print("| %s | %d | %d | %d | %d | %d | %d | %d | %d |" % (group.name, len(group.mains), by_class["traced"], by_dex["traced"], sums["calls"], sums["same"],
                                                       sums["renamed"], sums["made"], differences), flush=True)
        totals.update(sums)
        totals["programs"] += len(group.mains)
        if CONTROL in group.mains:
            if control(fakes, work):
                seen = "; with their handlers cut off, the calls of %s differ" % CONTROL
            else:
                print("    %s: with their handlers cut off, the calls are the same" % CONTROL)
                failed += 1
    print("%d of %d programs have the same output and the same %d calls as class files and as dex files, %d of them with the same id, %d of methods that D8 renames; "
          "%d more calls of methods that D8 has made%s" % (totals["programs"] - failed, totals["programs"], totals["calls"], totals["same"], totals["renamed"], totals["made"], seen))
    sys.exit(1 if failed or totals["programs"] == 0 else 0)


if __name__ == "__main__":
    main()
