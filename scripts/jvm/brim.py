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
import collections, glob, os, re, shutil, subprocess, sys, tempfile
from concurrent.futures import ThreadPoolExecutor
import brim_methods
from brim_callers import ended_callers
from brim_methods import AT_ONCE
from programs import HERE, anrscope, feature, javac, javas_and_names, write

QUICK = bool(os.environ.get("ANRSCOPE_QUICK"))
METHOD_BEAT = os.path.realpath(HERE + "/../../android/method-beat/classes")
MODES = {"interpreted": ["-Xint"], "compiled": []}
# By C2 alone, which the usual way reaches in a few methods only.
ALL_MODES = {**MODES, "C2": ["-XX:-TieredCompilation", "-XX:CompileThreshold=300"]}
# With a cold start the JVM loads and compiles what is inserted while the heap is full. After a warm-up only the compiled code runs then.
HEAP_MODES = {**{mode: (options, "0") for mode, options in MODES.items()}, "compiled before": ([], "20000"), "C2 before": (ALL_MODES["C2"], "20000")}
TRACED = "agent", "instrument"
# Instrumented with `--exits normal`. An exception leaves a call open, so its trace is not read.
NORMAL_EXITS = "normal exits"
# The agent as it is without options: main writes its events itself, with the time of a clock that ticks.
DEFAULT_CLOCK = "default clock"
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
        """Compiles into the directory `name`, and instruments it into `name-traced` and, with normal exits, `name-normal`."""
        classes = "%s/%s" % (self.work, name)
        # A control of what is read uses the same program.
        if classes in self.rules:
            return classes
        self.rules[classes] = write(classes + ".rules", rules)
        javac(classes, sources, "-nowarn")
        for out, method_map, exits in ("-traced", ".map", "all"), ("-normal", "-normal.map", "normal"):
            subprocess.run([self.program, "instrument", classes, "--out", classes + out, "--method-map", classes + method_map, "--waits", "--exits", exits, "--rules", self.rules[classes],
                            "--quiet"], check=True, stderr=subprocess.DEVNULL)
        return classes

    def command(self, form, java, classes, kept, options=()):
        if form == "plain":
            return [*java, *options, "-cp", classes]
        if form in ("agent", DEFAULT_CLOCK):
            resolution = ["--resolution", "exact"] if form == "agent" else []
            return [*anrscope(kept, java, "--rules", self.rules[classes], *resolution, "--max-overhead", "0"), *options, "-cp", classes]
        os.makedirs(kept, exist_ok=True)
        return [*java, *options, "-Danrscope.lib=" + self.library, "-Danrscope.dir=" + kept, "-Danrscope.resolution=exact", "-Danrscope.max_overhead=0",
                "-cp", "%s-%s:%s" % (classes, "normal" if form == NORMAL_EXITS else "traced", METHOD_BEAT)]

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
        out += "".join("\nDIED: %s\n" % line for line in re.findall(r"^Exception(?: in thread|: ).*", errors, re.M))
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
    """Runs functions side by side, and yields their results in order, each as soon as it is there."""
    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        for future in [pool.submit(run) for run in runs]:
            yield future.result()


class Findings(list):
    def say(self, text):
        self.append(text)
        print("    FOUND: " + text, flush=True)


def ends(findings, name, out):
    """A program that hangs, or of which a thread ends by an error, proves nothing, whatever it has printed."""
    for line in re.findall(r"^(?:ENDED WITH|HANGS|DIED).*", out, re.M):
        findings.say("%s: %s" % (name, line))


LOCKS = HERE + "/src/brim/Locks.java"


class LockPlaces:
    """Where each kind of lock is taken and released in Locks.java, and what may happen there by itself."""

    def __init__(self):
        with open(LOCKS) as source:
            text = source.read()
        self.kinds = re.findall('"([^"]+)"', re.search(r"KINDS = \{(.*?)\};", text, re.S).group(1))
        self.takes, self.releases, self.begins, kind = {}, {}, set(), None
        for number, line in enumerate(text.split("\n"), 1):
            case = re.fullmatch(r" *case (\d):", line)
            if re.search(r" use(Static)?\(.*\{$", line):
                self.begins.add(number + 1)
            elif case:
                kind = self.kinds[int(case.group(1))]
            elif re.search(brim_methods.GIVES, line):
                self.releases[kind] = number
            elif re.search(brim_methods.TAKES, line):
                self.takes[kind] = number

    def expected(self, version):
        """The kinds that the program prints: see there about waits for conditions from Java 22 on."""
        return {kind for kind in self.kinds if kind != "Condition.await" or feature(version) < 22}

    def is_of_the_jdk(self, mode, kind, what, error, above, line, top, step):
        """True for what the JDK does to its own locks. If its code overflows after it has changed a lock, or before it has, then a lock that is taken stays taken, and one
        that is released stays held: the error comes from the JDK's frames in that call. The JVM's own monitors have no such code. Compiled code
        checks for an overflow before it has a frame, so a release that overflows at its entry has the program's own frame on top. An inserted call in front of it could
        look the same there, but not in the interpreter, which makes the frame first. So this is excused in compiled code only, and the control "early" shows that the
        interpreter tells. A wait for a condition has released its lock, and if it overflows where it takes it again, the program's release throws IllegalMonitorStateException. A method asks for room where it begins, which
        is as if its frame were larger."""
        if what == "held":
            at_entry = mode != "interpreted" and above == "own" and line == self.releases.get(kind) and step in ("INSIDE", "WAITING")
            return error == "java.lang.StackOverflowError" and (at_entry or above == "jdk" and line in (self.takes.get(kind), self.releases.get(kind)))
        if what == "passed":
            return above == "inserted" and top in brim_methods.ROOMS and line in self.begins and step in ("OUTSIDE", "TAKING")
        return (what, error, above, kind, line, step) == ("threw", "java.lang.IllegalMonitorStateException", "jdk", "Condition.await", self.releases["Condition.await"], "WAITING")


LOCK_ROW = re.compile(r"^(\S[^:\n]*): overflows (\d+), leaks (\d+), inserted \d+, others (\d+)\n((?:    .*\n)*)", re.M)
LOCK_PLACE = re.compile(r"^    (\d+) (\w+) after (\S+) from (\w+):(\d+) in (\S+), step (\w+)$", re.M)


def locks(programs, javas, findings, control=None, forms=("plain", *TRACED, NORMAL_EXITS, DEFAULT_CLOCK)):
    """The plain program is judged, too: what it does shows that the rule has all that the JDK does by itself."""
    classes = programs.compile("locks" + (control or ""), [HERE + "/src/brim/Dive.java", *([LOCKS] if control is None else controlled_locks(programs, control))])
    places = LockPlaces()
    mixes = str(whole_or_quick(25, 5))
    runs = [(version, java, form, mode) for version, java in javas for mode in ALL_MODES for form in forms]

    def run(version, java, form, mode):
        warm_up = "0" if mode == "interpreted" else "20000"
        # Only main writes its events itself.
        options, words = (["-Xss320k"], ["main"]) if form == DEFAULT_CLOCK else ([], [])
        return programs.run("plain" if form == "control" else form, java, classes, [SHORT_TRACES, *AT_ONCE, *options, *ALL_MODES[mode]], ["Locks", mixes, warm_up, *words])

    traced = 0
    for (version, java, form, mode), out in zip(runs, each([lambda r=r: run(*r) for r in runs])):
        name = "Java %s, %s, %s" % (version, form, mode)
        rows, sums, excused = {}, collections.Counter(), collections.Counter()
        for kind, overflows, leaks, others, text in LOCK_ROW.findall(out):
            rows[kind] = int(overflows)
            sums.update(overflows=int(overflows), leaks=int(leaks), others=int(others))
            listed = 0
            for times, what, error, above, line, top, step in ((*found[:4], int(found[4]), *found[5:]) for found in LOCK_PLACE.findall(text)):
                listed += int(times)
                if places.is_of_the_jdk(mode, kind, what, error, above, line, top, step):
                    excused[what + " at " + ("the entry of " if above == "own" else "") + ("the start" if what == "passed" else "its take" if line == places.takes[kind] else "its release")] += int(times)
                else:
                    findings.say("%s, %s: %s times %s after %s from %s:%d in %s, step %s" % (name, kind, times, what, error, above, line, top, step))
            if listed < max(int(leaks), int(others)):
                findings.say("%s, %s: only %d of these have a place: %s" % (name, kind, listed, text))
        ends(findings, name, out)
        if rows.keys() != places.expected(version) or 0 in rows.values():
            findings.say("%s: overflows of each kind are %s: %s" % (name, rows, out[-600:]))
        print("| locks | %s | %s | %s | %d overflows | %d leaks | %d other errors | excused: %s |"
              % (version, form, mode, sums["overflows"], sums["leaks"], sums["others"], ", ".join("%d %s" % (times, what) for what, times in sorted(excused.items())) or "none"), flush=True)
        traced += sums["overflows"] if form != "plain" else 0
    if not QUICK and traced < 10_000:
        findings.say("only %d overflows with locks" % traced)
    return "%d overflows with locks" % traced


def controlled_locks(programs, control):
    """The source of Locks with something wrong on purpose in each line that takes or releases a lock."""
    with open(LOCKS) as file:
        text = file.read()
    if control == "fails":
        text = re.sub(r"(^ +(?:long stamp = )?[\w.()]+\.(?:lock|writeLock|acquireUninterruptibly)\(\);)$", r"\1 dev.anrscope.Inserted.call();", text, flags=re.M)
    elif control == "early":
        text = re.sub(r"(\S+\.(?:unlock\w*|release)\(\w*\);)$", r"dev.anrscope.Inserted.call(); \1", text, flags=re.M)
    else:
        text = re.sub(r"(\S+\.unlock\w*\(\w*\);)$", r"try { dev.anrscope.Inserted.call(); \1 } catch (StackOverflowError swallowed) {}", text, flags=re.M)
        text = re.sub(r"(semaphore\.release\(\);)$", r"\1 \1", text, flags=re.M)
    # Not loaded for the first time near the end of the stack, where the JVM would find that it cannot be.
    text = re.sub(r"(public static void main\(.*\{)$", r"\1 dev.anrscope.Inserted.call();", text, flags=re.M)
    return [write("%s/control/%s/Locks.java" % (programs.work, control), text), HERE + "/src/brim/Inserted.java"]


def heap(programs, javas, findings, sources=None, forms=(*TRACED, NORMAL_EXITS)):
    classes = programs.compile("heap" if sources is None else "heap-control", sources or [HERE + "/src/brim/Heap.java"])
    threads = whole_or_quick(400, 60)
    runs = [(version, java, form, mode) for version, java in javas for mode in HEAP_MODES for form in (["plain"] if sources is None else []) + list(forms)]

    def run(version, java, form, mode):
        options, warm_up = HEAP_MODES[mode]
        return programs.run("plain" if form == "control" else form, java, classes, ["-Xmx24m", "-XX:+UseSerialGC", *options], ["Heap", str(threads), warm_up])

    # One at a time: others that run beside it leave the threads no time with a full heap.
    for version, java, form, mode in runs:
        out = run(version, java, form, mode)
        ends(findings, "Heap on Java %s, %s, %s" % (version, form, mode), out)
        died = re.search(r"^died (\d+) of \d+, not started (\d+)", out, re.M)
        print("| heap | %s | %s | %s | %s |" % (version, form, mode, "died %s of %d" % (died.group(1), threads) if died else "DID NOT END"), flush=True)
        if not died:
            findings.say("Heap on Java %s, %s, %s: %s" % (version, form, mode, out[-600:]))
        elif int(died.group(2)) * 20 > threads:
            findings.say("Heap on Java %s, %s, %s: %s threads of %d were not started" % (version, form, mode, died.group(2), threads))
        elif int(died.group(1)):
            findings.say("Java %s, %s, %s: %s\n%s" % (version, form, mode, died.group(0), "\n".join(out.splitlines()[1:12])))
    return "%d threads with a full heap" % (threads * len(runs))


def callers(programs, javas, findings, doctored=lambda allowed: allowed, runs=None):
    classes = programs.compile("callers", [HERE + "/src/brim/Callers.java"], "exclude class dev.anrscope.Inserted\n")
    overflows, total = 3, 0
    for version, java, form, mode in runs or [(version, java, form, mode) for version, java in javas for mode in MODES for form in (*TRACED, DEFAULT_CLOCK)]:
        wrong, calls = collections.Counter(), 0
        for stack in whole_or_quick(STACKS, STACKS[:3]):
            out, kept = programs.run(form, java, classes, ["-Xss" + stack, *MODES[mode]], ["Callers", str(overflows)], keep=True)
            allowed = {name: set(names.split()) for name, names in re.findall(r"^callers (\S+): (.*)$", out, re.M)}
            new, seen = programs.traced(kept, classes, lambda trace: ended_callers(trace, doctored(allowed)))
            ends(findings, "Callers on Java %s, %s, %s" % (version, form, mode), out)
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
    return brim_methods.compare(programs, javas, findings, ALL_MODES, (*TRACED, NORMAL_EXITS), each, QUICK)


def controlled_heap(programs):
    """The source of Heap with an allocation in its threads. Each has as many of them however long it runs: a collection with a full heap takes milliseconds."""
    with open(HERE + "/src/brim/Heap.java") as source:
        text = source.read()
    loop = "for (int i = 0; i < each; i++) {"
    assert loop in text, loop
    return write(programs.work + "/control/Heap.java", text.replace(loop, loop + " if (i % (each / 2_000) == 0) { dev.anrscope.Inserted.call(); }"))


def control(programs, javas, findings):
    """Each part must find what is wrong on purpose. Here a part without a finding is one."""
    version, java = next(pair for pair in javas if pair[0] == "17")
    inserted = HERE + "/src/brim/Inserted.java"
    missed = []

    def found(part, run, *rows):
        """Each row is an expression that matches a finding of `run`, in the words of the rule that must find it."""
        print("control of %s:" % part, flush=True)
        caught = Findings()
        run(caught)
        missed.extend("%s, %s" % (part, row) for row in rows if not any(re.search(row, text, re.S) for text in caught))
        return len(rows)

    def of_locks(control, rows):
        """`rows` has for each mode and kind what the rule says of it."""
        return found("locks, " + control, lambda caught: locks(programs, [(version, java)], caught, control, ["control"]),
                     *[r"%s, %s: \d+ times %s" % (mode, re.escape(kind), row) for (mode, kind), row in rows.items()])

    def of_methods(control, rule, *ways):
        return found("generated, " + control, lambda caught: brim_methods.compare(programs, [(version, java)], caught, MODES, ["control"], each, True, control),
                     *["%s: .*%s" % (way, rule) for way in ways])

    takes, releases = LockPlaces().takes, LockPlaces().releases
    rows = [of_locks("fails", {(mode, kind): r"held after \S+StackOverflowError from (inserted|own):%d in \S+, step TAKING" % line for mode in ALL_MODES for kind, line in takes.items()}),
            of_locks("early", {("interpreted", kind): r"held after \S+StackOverflowError from inserted:%d in \S+, step (INSIDE|WAITING)" % line for kind, line in releases.items()}),
            # A wait for a condition needs more stack than the release behind it: compiled, it is that which overflows.
            of_locks("swallows", {(mode, kind): "released after nothing" if kind == "Semaphore" else "held after nothing" for mode in ALL_MODES for kind in releases
                                  if kind != "Condition.await" or mode == "interpreted"}),
            found("heap", lambda caught: heap(programs, [(version, java)], caught, [inserted, controlled_heap(programs)], ["control"]),
                  *["%s: died [1-9]" % mode for mode in HEAP_MODES]),
            found("callers", lambda caught: callers(programs, None, caught, lambda allowed: {**allowed, "Callers.step": {"Callers.main"}}, [(version, java, "agent", "compiled")]),
                  "Callers.step below Callers.stay"),
            of_methods("fails", r"(sees a \S+ from (deeper<)*call:|holds )", "interpreted, stack", "compiled, stack", "interpreted, heap", "compiled, heap"),
            of_methods("swallows", "holds ", "interpreted, stack", "compiled, stack", "interpreted, heap", "compiled, heap"),
            of_methods("alters", r"logs \d+ at ", "interpreted, stack", "compiled, stack")]
    for control in missed:
        findings.say("the control was not found: " + control)
    return "%d controls with %d rows, %d missed" % (len(rows), sum(rows), len(missed))


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
    print("%s, on Java %s, interpreted and compiled (Condition.await only up to 21): %s"
          % ("; ".join(said), ", ".join(version for version, _ in javas), "%d FINDINGS" % len(findings) if findings else "nothing that the plain program does not do"))
    sys.exit(1 if findings else 0)


if __name__ == "__main__":
    main()
