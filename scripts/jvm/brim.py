#!/usr/bin/env python3
"""Runs programs that overflow their stack and fill their heap, as they are and traced, and compares what they do.

brim.py VERSION=COMMAND... -- [PART...]

locks      takes locks of each kind at each depth near the end of the stack (src/brim/Locks.java): no lock stays held by an inserted call
heap       threads that allocate nothing beside others that fill the heap (src/brim/Heap.java): none dies
generated  methods with each form of inserted call (brim_methods.py), near the end of the stack and with a full heap: what they do is what an error in one of their own
           calls leads to, no error passes an inserted call, and the trace shows no caller that had ended
callers    calls after overflows (src/brim/Callers.java): the trace shows no caller that had ended
control    programs with something wrong on purpose: each run of the parts above must find it
"""
import collections, glob, json, math, os, re, shutil, subprocess, sys, tempfile
from concurrent.futures import ThreadPoolExecutor
import brim_methods
from brim_callers import ended_callers
from brim_methods import AT_ONCE
from programs import HERE, anrscope, feature, javac, javas_and_names, write

QUICK = bool(os.environ.get("ANRSCOPE_QUICK"))
METHOD_BEAT = os.path.realpath(HERE + "/../../android/method-beat/classes")
MODES = {"interpreted": ["-Xint"], "compiled": []}
TRACED = "agent", "instrument"
# A trace of an error is read only up to the program's own frame.
SHORT_TRACES = "-XX:MaxJavaStackTraceDepth=48"
# The descent itself is not what is proven, and each of its levels would cost two calls. Everything else is traced, however short, in programs about locks and outcomes.
ALL = "always class **\nexclude class Dive\nexclude class dev.anrscope.Inserted\n"
# Where an overflow meets the calls depends on the end of the stack: frames of 100 bytes end elsewhere in each of these.
STACKS = ["256k", "260k", "268k", "276k", "292k", "324k"]
# A program that is not done by then hangs.
TIMEOUT_SECONDS = 600


def whole_or_quick(whole, quick):
    return quick if QUICK else whole


class Programs:
    """The compiled programs in a directory of their own, plain and instrumented, with the runtime of the program that is proven."""

    # Everything of the program is traced, however short.
    RULES = ALL

    def __init__(self, work):
        self.work, self.runs = work, 0
        self.program = os.environ["ANRSCOPE_PROGRAM"]
        self.rules = {}
        javac(work + "/hello", [write(work + "/src/Hello.java", "class Hello { public static void main(String[] a) { System.out.println(a.length); } }")])
        # Any traced run lays out the library that the program embeds; the classes that instrumented code calls are in the repository.
        subprocess.run([self.program, "jvm", "--quiet", "--keep", work + "/kept", "--out", work + "/hello.pftrace", "--", "-cp", work + "/hello", "Hello"],
                       check=True, stdout=subprocess.DEVNULL)
        self.library = work + "/kept/runtime/libanrscope.so"

    def compile(self, name, sources, rules=ALL):
        """Compiles into the directory `name`, and instruments it into `name-traced`."""
        classes = "%s/%s" % (self.work, name)
        self.rules[classes] = write(classes + ".rules", rules)
        javac(classes, sources, "-nowarn")
        subprocess.run([self.program, "instrument", classes, "--out", classes + "-traced", "--method-map", classes + ".map", "--waits", "--rules", self.rules[classes], "--quiet"], check=True,
                       stderr=subprocess.DEVNULL)
        return classes

    def command(self, form, java, classes, kept, options=()):
        if form == "plain":
            return [*java, *options, "-cp", classes]
        if form == "agent":
            return [*anrscope(kept, java, "--rules", self.rules[classes], "--resolution", "exact", "--max-overhead", "0"), *options, "-cp", classes]
        os.makedirs(kept, exist_ok=True)
        return [*java, *options, "-Danrscope.lib=" + self.library, "-Danrscope.dir=" + kept, "-Danrscope.resolution=exact", "-Danrscope.max_overhead=0",
                "-cp", "%s-traced:%s" % (classes, METHOD_BEAT)]

    def run(self, form, java, classes, options, words, keep=False):
        """What the program prints; with `keep` also the directory of its recording. A traced run without a recording proves nothing, so it is an error."""
        self.runs += 1
        kept = "%s/run-%d" % (self.work, self.runs)
        command = [*self.command(form, java, classes, kept, options), *words]
        with open(kept + ".log", "w+b") as log:
            program = subprocess.Popen(command, cwd=self.work, stdout=subprocess.PIPE, stderr=log, env={**os.environ, "TMPDIR": self.work}, start_new_session=True)
            try:
                out = program.communicate(timeout=TIMEOUT_SECONDS)[0].decode(errors="replace")
            except subprocess.TimeoutExpired:
                os.killpg(program.pid, 9)
                out = program.communicate()[0].decode(errors="replace") + "\nHANGS\n"
            log.seek(0)
            errors = log.read().decode(errors="replace")
        if program.returncode and "HANGS" not in out:
            out += "\nENDED WITH %d: %s\n" % (program.returncode, errors[-2000:])
        if form != "plain" and not glob.glob(kept + "/*.anrscope"):
            raise SystemExit("no recording of %s: %s%s" % (" ".join(command), out[-1000:], errors[-1000:]))
        if keep:
            return out, kept
        shutil.rmtree(kept, ignore_errors=True)
        for file in glob.glob(kept + ".*"):
            os.remove(file)
        return out


    def traced(self, kept, classes, read):
        """What `read` returns of the trace of a run, of which nothing is kept afterwards."""
        [recording] = glob.glob(kept + "/*.anrscope")
        maps = glob.glob(kept + "/methodMapping.txt") or [classes + ".map"]
        try:
            subprocess.run([self.program, "export", recording, "--method-map", maps[0], "-o", kept + ".json"], check=True, stderr=subprocess.DEVNULL)
            return read(kept + ".json")
        finally:
            shutil.rmtree(kept)
            for file in glob.glob(kept + ".*"):
                os.remove(file)


def each(runs):
    """Runs functions side by side, and returns their results in order."""
    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        return [future.result() for future in [pool.submit(run) for run in runs]]


class Findings(list):
    def say(self, text):
        self.append(text)
        print("    FOUND: " + text, flush=True)


LINE = re.compile(r"^([^:\n]+): overflows (\d+), leaks (\d+), inserted (\d+), others (\d+)$", re.M)


def lock_rows(out):
    rows = {}
    for part in re.split(r"\n(?=\S)", out):
        found = LINE.match(part)
        if found:
            kind, counts = found.group(1), [*map(int, found.groups()[1:])]
            rows[kind] = [*counts, set(re.findall(r"\d+ threw ([\w.$]+(?:: .*)?)", part)), part]
    return rows


def compare_locks(findings, name, plain, traced, thrown_by_itself):
    """More leaks than by chance are an error, too: an error of the recorder may have been covered by a later one of the JDK's. Which kinds leak in the plain program
    depends on how their frames happen to end, so a kind's share is at least that of all kinds together."""
    pooled = sum(row[1] for row in plain.values()) / max(sum(row[0] for row in plain.values()), 1)
    for kind, (overflows, leaks, inserted, _, thrown, text) in traced.items():
        if inserted:
            findings.say("%s, %s: %d of %d overflows leave the lock held by an inserted call\n%s" % (name, kind, inserted, overflows, text))
        share = max(plain[kind][1] / max(plain[kind][0], 1), pooled)
        of_the_jdk, expected = leaks - inserted, share * overflows
        if of_the_jdk > expected + 3 * math.sqrt(expected * 2) + overflows * 0.01 + 3:
            findings.say("%s, %s: %d of %d overflows leave the lock held, of the plain program's %.1f %%\n%s" % (name, kind, of_the_jdk, overflows, 100 * share, text))
        new = thrown - thrown_by_itself[kind]
        if new:
            findings.say("%s, %s throws what it does not throw by itself: %s" % (name, kind, ", ".join(sorted(new))))


def locks(programs, javas, findings, sources=None, forms=TRACED):
    classes = programs.compile("locks" if sources is None else "locks-control", sources or [HERE + "/src/brim/Dive.java", HERE + "/src/brim/Locks.java"])
    plain_classes = programs.work + "/locks"
    mixes = str(whole_or_quick(25, 5))
    runs = [(version, java, form, mode) for version, java in javas for mode in MODES for form in ("plain", *forms)]

    def run(version, java, form, mode):
        warm_up = "0" if mode == "interpreted" else "20000"
        where = plain_classes if form == "plain" else classes
        return programs.run("plain" if form == "control" else form, java, where, [SHORT_TRACES, *AT_ONCE, *MODES[mode]], ["Locks", mixes, warm_up])

    rows = collections.defaultdict(dict)
    for (version, java, form, mode), out in zip(runs, each([lambda r=r: run(*r) for r in runs])):
        rows[version][form, mode] = found = lock_rows(out)
        if len(found) < 9:
            findings.say("Locks on Java %s, %s, %s did not end: %s" % (version, form, mode, out[-600:]))
        print("| locks | %s | %s | %s | %s overflows | %s leaks | %s inserted |" % (version, form, mode, *(sum(row[at] for row in found.values()) for at in range(3))), flush=True)
    overflows = 0
    for version in rows:
        # The same frames have other sizes in each way of compiling: an error that the plain program meets in one of them, the JDK throws by itself. For example, a wait that
        # overflows where it takes its lock again leaves nothing for the release, which throws IllegalMonitorStateException.
        thrown_by_itself = collections.defaultdict(set)
        for mode in MODES:
            for kind, row in rows[version]["plain", mode].items():
                thrown_by_itself[kind] |= row[4]
        for form in forms:
            for mode in MODES:
                plain = rows[version]["plain", mode]
                traced = {kind: row for kind, row in rows[version][form, mode].items() if kind in plain}
                compare_locks(findings, "Java %s, %s, %s" % (version, form, mode), plain, traced, thrown_by_itself)
                overflows += sum(row[0] for row in traced.values())
    return "%d overflows with locks" % overflows


def heap(programs, javas, findings, sources=None, forms=TRACED):
    classes = programs.compile("heap" if sources is None else "heap-control", sources or [HERE + "/src/brim/Heap.java"])
    threads = whole_or_quick(400, 60)
    runs = [(version, java, form, mode) for version, java in javas for mode in MODES for form in (["plain"] if sources is None else []) + list(forms)]

    def run(version, java, form, mode):
        return programs.run("plain" if form == "control" else form, java, classes, ["-Xmx24m", "-XX:+UseSerialGC", *MODES[mode]], ["Heap", str(threads)])

    # One at a time: others that run beside it leave the threads no time with a full heap.
    for version, java, form, mode in runs:
        out = run(version, java, form, mode)
        died = re.search(r"^died (\d+) of \d+, not started (\d+)", out, re.M)
        print("| heap | %s | %s | %s | %s |" % (version, form, mode, "died %s of %d" % (died.group(1), threads) if died else "DID NOT END"), flush=True)
        if not died:
            findings.say("Heap on Java %s, %s, %s: %s" % (version, form, mode, out[-600:]))
        elif int(died.group(2)) * 50 > threads:
            findings.say("Heap on Java %s, %s, %s: %s threads of %d were not started" % (version, form, mode, died.group(2), threads))
        elif int(died.group(1)):
            findings.say("Java %s, %s, %s: %s\n%s" % (version, form, mode, died.group(0), "\n".join(out.splitlines()[1:12])))
    return "%d threads with a full heap" % (threads * len(runs))


def callers(programs, javas, findings, doctored=lambda allowed: allowed, runs=None):
    classes = programs.compile("callers", [HERE + "/src/brim/Callers.java"], "exclude class dev.anrscope.Inserted\n")
    overflows, total = 3, 0
    for version, java, form, mode in runs or [(version, java, form, mode) for version, java in javas for mode in MODES for form in TRACED]:
        wrong, calls = collections.Counter(), 0
        for stack in whole_or_quick(STACKS, STACKS[:3]):
            out, kept = programs.run(form, java, classes, ["-Xss" + stack, *MODES[mode]], ["Callers", str(overflows)], keep=True)
            allowed = {name: set(names.split()) for name, names in re.findall(r"^callers (\S+): (.*)$", out, re.M)}
            new, seen = programs.traced(kept, classes, lambda trace: ended_callers(trace, doctored(allowed)))
            wrong += new
            calls += seen
            if len(allowed) != 4 or seen < 6 * overflows:
                findings.say("Java %s, %s, %s: only %d calls of %d methods: %s" % (version, form, mode, seen, len(allowed), out[-400:]))
        total += calls
        print("| callers | %s | %s | %s | %d calls | %d times a caller that had ended |" % (version, form, mode, calls, sum(wrong.values())), flush=True)
        if wrong:
            findings.say("Java %s, %s, %s: %s" % (version, form, mode, ", ".join("%s below %s (%d)" % (*names, count) for names, count in wrong.most_common(5))))
    return "%d calls after overflows" % total


def generated(programs, javas, findings):
    return brim_methods.compare(programs, javas, findings, MODES, TRACED, each, QUICK)[0]


def with_calls(programs, name, marker):
    """The source of a program with a call of Inserted after each line that ends with `marker`."""
    with open("%s/src/brim/%s.java" % (HERE, name)) as source:
        text = source.read()
    assert marker in text, marker
    return write("%s/control/%s.java" % (programs.work, name), text.replace(marker, marker + " dev.anrscope.Inserted.call();"))


def control(programs, javas, findings):
    """Each part must find what is wrong on purpose. Here a part without a finding is one."""
    version, java = next(pair for pair in javas if pair[0] == "17")
    inserted = HERE + "/src/brim/Inserted.java"
    dive = HERE + "/src/brim/Dive.java"
    missed = []

    def found(part, run, *rows):
        """Each row is a part of the text of a finding that must be among those of `run`."""
        print("control of %s:" % part, flush=True)
        caught = Findings()
        run(caught)
        missed.extend("%s, %s" % (part, row) for row in rows if not any(row in text for text in caught))

    def methods(control, *ways):
        found("generated, " + control, lambda caught: brim_methods.compare(programs, [(version, java)], caught, MODES, ["control"], each, True, control), *["%s: " % way for way in ways])

    programs.compile("locks", [dive, HERE + "/src/brim/Locks.java"])
    found("locks", lambda caught: locks(programs, [(version, java)], caught, [dive, inserted, with_calls(programs, "Locks", ".lock();")], ["control"]), "interpreted, ", "compiled, ")
    found("heap", lambda caught: heap(programs, [(version, java)], caught, [inserted, with_calls(programs, "Heap", "calls++;")], ["control"]), "interpreted: ", "compiled: ")
    found("callers", lambda caught: callers(programs, None, caught, lambda allowed: {**allowed, "Callers.step": {"Callers.main"}}, [(version, java, "agent", "compiled")]), "Callers.step")
    methods("fails", "interpreted, stack", "compiled, stack", "interpreted, heap", "compiled, heap")
    # A release overflows in compiled code more often than in the interpreter, and never with a full heap.
    methods("swallows", "compiled, stack")
    methods("alters", "interpreted, stack", "compiled, stack")
    for control in missed:
        findings.say("the control was not found: " + control)
    return "6 controls, %d rows missed" % len(missed)


PARTS = {"locks": locks, "heap": heap, "generated": generated, "callers": callers, "control": control}


def main():
    javas, names = javas_and_names(sys.argv[1:])
    work = tempfile.mkdtemp(prefix="anrscope-brim-")
    findings, said = Findings(), []
    try:
        programs = Programs(work)
        for name in names or PARTS:
            said.append(PARTS[name](programs, javas, findings))
    finally:
        shutil.rmtree(work, ignore_errors=True)
    print("%s, on Java %s, interpreted and compiled: %s"
          % ("; ".join(said), ", ".join(version for version, _ in javas), "%d FINDINGS" % len(findings) if findings else "nothing that the plain program does not do"))
    sys.exit(1 if findings else 0)


if __name__ == "__main__":
    main()
