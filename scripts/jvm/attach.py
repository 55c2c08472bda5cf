#!/usr/bin/env python3
"""Attaches to a program under load again and again, and checks that the program works on as before.

attach.py TIMES PAIRS JAVA...

The program is scripts/jvm/AttachLoad.java: its workers compile JavaScript with the Closure Compiler, while other threads come and go. `anrscope attach` records it
TIMES times for 300 ms. Beside it runs another process of the program, in which a Java agent (Retransform.java) changes the same classes and restores them, as often:
what grows in both is the JVM's. That is done with each JAVA, with those after the first 0.2 TIMES.

Then the speed, with the first of them, and with workers that count words, for which the JVM's compilers settle in seconds; for the Closure Compiler they need minutes,
from the start as from an attachment on. PAIRS times, three processes run in the same time: one is attached to five times, in one the Java agent changes and restores
the classes five times, one is left alone. All count their rounds, and the CPU time that these take, before and after, in the same windows of time. The quotient of the
quotients is what the attachments have left behind, and what the Java agent has.
"""
import contextlib, glob, os, re, shutil, statistics, subprocess, sys, tempfile, time

HERE = os.path.dirname(os.path.abspath(__file__))
DATA = os.environ["ANRSCOPE_DATA"]
PROGRAM = os.environ["ANRSCOPE_PROGRAM"]
COMPILER = DATA + "/closure/package/compiler.jar"
FILES = [DATA + "/lodash/package/%s.js" % name for name in (
    "debounce", "_baseClone", "template", "mergeWith", "_equalByTag", "_baseMergeDeep", "sortBy", "flow", "truncate", "_createWrap")]
# A heap of one size, so that what grows is something else.
HEAP = ["-Xms256m", "-Xmx256m", "-XX:+AlwaysPreTouch"]
# What instrumented code calls.
METHOD_BEAT = """package dev.anrscope;
public final class MethodBeat {
    public static void i(int id) {}
    public static void o(int id) {}
}
"""
# Rounds of `compile` before the first attachment, for each worker.
FIRST = 150
# Rounds of `words` until the JVM's compilers have settled, for each worker, at the start and after attachments: several times what they need.
WARM_UP = int(os.environ.get("ANRSCOPE_WARM_UP", "15000"))
# Rounds of a window, for each worker, and how many windows.
WINDOW = int(os.environ.get("ANRSCOPE_WINDOW", "3000"))
WINDOWS = 3
# What may be left of the speed.
SLOWER = 1.02


class Load:
    """The program."""

    def __init__(self, java, classes, workers, work, *options):
        command = [java, *HEAP, *options, "-cp", classes + ":" + COMPILER, "AttachLoad", str(workers), work, *FILES]
        self.workers = workers
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.pid = self.process.pid

    def count(self):
        """Rounds so far, and the workers' CPU time for them, s."""
        self.process.stdin.write("count\n")
        self.process.stdin.flush()
        _, rounds, cpu = self.process.stdout.readline().split()
        return int(rounds), int(cpu) / 1e9

    @contextlib.contextmanager
    def retransformed(self):
        """Has its own agent change and restore its classes meanwhile."""
        self.process.stdin.write("round\n")
        self.process.stdin.flush()
        yield
        self.process.stdout.readline()

    def end(self):
        """Its exit code, its results, and what it has printed on stderr."""
        out, err = self.process.communicate("end\n", timeout=600)
        return self.process.returncode, [line for line in out.splitlines() if line.startswith("result ")], err


def err_without_unsafe(err):
    """Java 24 and later warn about what the Closure Compiler does."""
    return "\n".join(line for line in err.splitlines() if "sun.misc.Unsafe" not in line and "reporting this to the maintainers" not in line)


def version(java):
    text = subprocess.run([java, "-version"], stderr=subprocess.PIPE, text=True).stderr
    return re.search(r'"((?:1\.)?\d+)', text).group(1)


def wait_for(loads, rounds):
    """Until each worker has done so many more rounds."""
    ends = [load.count()[0] + rounds * load.workers for load in loads]
    while any(load.count()[0] < end for load, end in zip(loads, ends)):
        time.sleep(0.1)


def settled(loads):
    """The CPU time of a round of each, once the compilers have settled, s: the median of windows of time that are the same for all."""
    wait_for(loads, WARM_UP)
    counts = [[load.count() for load in loads]]
    for _ in range(WINDOWS):
        wait_for(loads, WINDOW)
        counts.append([load.count() for load in loads])
    took = [[(b[1] - a[1]) / (b[0] - a[0]) for a, b in zip(*two)] for two in zip(counts, counts[1:])]
    return [statistics.median(each) for each in zip(*took)]


def attach(load, out):
    return subprocess.run([PROGRAM, "attach", str(load.pid), "--for", "300ms", "-o", out], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=600)


def jcmd(load, *command):
    return subprocess.run(["jcmd", str(load.pid), *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=300).stdout


# What must not grow in the second half, and by which factor it may vary.
CHECKED = {"anonymous memory, kB": 1.05, "memory of the JVM without heap and code, kB": 1.05, "metaspace in use, kB": 1.02, "threads": 1.0, "open files": 1.0, "files of the agent": 1.0}
# Memory may grow as it does in the process beside it, with this factor and so many kB. The classes there are smaller, since they record no waits.
AS_BESIDE = (1.25, 1024)


def footprint(load):
    """What it uses after a collection of its heap, which also frees the metadata of replaced methods."""
    jcmd(load, "GC.run")
    base = "/proc/%d/" % load.pid
    with open(base + "status") as text:
        status = text.read()
    found = {"anonymous memory, kB": int(re.search(r"^RssAnon:\s+(\d+)", status, re.M).group(1))}
    native = jcmd(load, "VM.native_memory", "summary")
    parts = {part.strip(): int(committed) for part, committed in re.findall(r"^- +([A-Za-z ]+) \(.*?committed=(\d+)KB", native, re.M)}
    found["memory of the JVM without heap and code, kB"] = sum(value for name, value in parts.items() if name not in ("Java Heap", "Code"))
    found["metaspace in use, kB"] = sum(map(int, re.findall(r"used=(\d+)KB", native)))
    total = re.search(r"^Total = \d+ +(\d+)", jcmd(load, "VM.classloader_stats"), re.M)
    found["classes, with those of lambdas"] = int(total.group(1)) if total else 0
    found["code, kB"] = parts.get("Code", 0)
    # A visitor of the program may be there or not.
    names = []
    for path in glob.glob(base + "task/*/comm"):
        with contextlib.suppress(OSError), open(path) as name:
            names.append(name.read().strip())
    found["threads"] = sum(not re.match(r"visitor|C[12] CompilerThre|G1 ", name) for name in names)
    found["open files"] = len(os.listdir(base + "fd"))
    own = [os.path.join(path, name) for directory in glob.glob("/tmp/anrscope-%d/%d-*" % (os.getuid(), load.pid)) for path, _, names in os.walk(directory) for name in names]
    found["files of the agent"] = len(own)
    found["bytes of its method map"] = sum(os.stat(path).st_size for path in own if path.endswith("methodMapping.txt"))
    return found


def many(java, classes, work, times, expected):
    """Attaches many times to one process. Returns failures, and how the metaspaces of this process and of the one beside it grew in the second half, MB."""
    failures, samples, beside, slices, took = [], [], [], [], []
    # Java 21 and later warn about agents without this, and earlier ones do not know it before 9.
    options = ["-XX:NativeMemoryTracking=summary", "-XX:+EnableDynamicAgentLoading", "-XX:+IgnoreUnrecognizedVMOptions"]
    load = Load(java, classes, 2, "compile", *options)
    control = Load(java, classes, 1, "compile", *options, java_agent(work))
    wait_for([load, control], FIRST)
    every = max(times // 10, 1)
    for n in range(1, times + 1):
        out = "%s/%d.pftrace" % (work, n)
        begun = time.time()
        with control.retransformed():
            done = attach(load, out)
            took.append(time.time() - begun)
        count = re.search(r"(\d+) slices on (\d+) tracks", done.stderr)
        if done.returncode != 0 or not count:
            failures.append("attachment %d ended with %d: %s" % (n, done.returncode, done.stderr))
            break
        if int(count.group(1)) < 100 or not {"worker-0", "worker-1"} <= set(re.findall(r"^  (worker-\d+) ", done.stderr, re.M)):
            failures.append("attachment %d has no events of the workers: %s" % (n, done.stderr))
        slices.append(int(count.group(1)))
        for path in glob.glob("%s/%d.*" % (work, n)):
            os.remove(path)
        if n % every == 0:
            samples.append(footprint(load))
            beside.append(footprint(control))
            print("  %3d attachments, median %.1f s each: %s" % (n, statistics.median(took[-every:]), ", ".join("%d %s" % (value, name) for name, value in samples[-1].items())), flush=True)
    end = load.end()
    if end[:2] != (0, expected(2)) or err_without_unsafe(end[2]):
        failures.append("the program ended with %s, expected %s" % (end, expected(2)))
    control.end()
    if len(samples) < 4:
        return failures + ["there are too few samples"], ()
    # Up to the middle the JVM itself still grows: it has replaced versions of methods to free, and profiles more methods.
    parts = slice(len(samples) // 2 - 1, len(samples) // 2 + 1), slice(-2, None)
    def grown(of, name):
        # What is left behind stays, so that the lesser of two samples has it.
        return [min(sample[name] for sample in of[part]) for part in parts]
    print("\n| | after %d | in the middle | at the end | a Java agent alone, in the middle | at the end |\n| --- | --- | --- | --- | --- | --- |" % every)
    for name in samples[0]:
        (half, last), (its_half, its_last) = grown(samples, name), grown(beside, name)
        print("| %s | %d | %d | %d | %d | %d |" % (name, samples[0][name], half, last, its_half, its_last))
        as_beside = name.endswith(", kB") and last - half <= (its_last - its_half) * AS_BESIDE[0] + AS_BESIDE[1]
        if last > half * CHECKED.get(name, last / max(half, 1)) and not as_beside:
            failures.append("%s: %d after half of the attachments, %d after all; beside it %d and %d" % (name, half, last, its_half, its_last))
    print("\nslices of an attachment: median %d, fewest %d" % (statistics.median(slices), min(slices)), flush=True)
    return failures, [value / 1024 for of in (samples, beside) for value in grown(of, "metaspace in use, kB")]


def pair(java, classes, work, expected):
    """How much CPU time a round takes after five attachments, and after five changes by the Java agent, against before and against the process that is left alone."""
    changed = Load(java, classes, 1, "words", java_agent(work))
    loads = [Load(java, classes, 1, "words"), changed, Load(java, classes, 1, "words")]
    before = settled(loads)
    failures = []
    for n in range(5):
        with changed.retransformed():
            done = attach(loads[0], work + "/pair.pftrace")
        if done.returncode != 0:
            failures.append("an attachment ended with %d: %s" % (done.returncode, done.stderr))
    after = settled(loads)
    for n, load in enumerate(loads):
        code, results, err = load.end()
        # Java 21 and later warn about the agent.
        if code != 0 or results != expected(1) or err and n > 0:
            failures.append("the program ended with %s" % [code, results, err])
    slower = [a / b for a, b in zip(after, before)]
    ratios = [slower[0] / slower[2], slower[1] / slower[2], slower[0] / slower[1]]
    times = ", ".join("%s %.4f and %.4f" % (name, b * 1e3, a * 1e3) for name, b, a in zip(("attached to", "Java agent", "left alone"), before, after))
    print("  CPU time of a round before and after, ms: %s: attached to %.3f, Java agent %.3f, one against the other %.3f" % (times, *ratios), flush=True)
    return failures, ratios


def java_agent(work):
    """The option for the other agent, which compile_all makes."""
    return "-javaagent:%s/retransform.jar=%s/instrumented.jar" % (work, work)


def compile_all(work):
    """The program, and the other agent with what it needs."""
    classes, beside = work + "/classes", work + "/beside"
    beat = work + "/MethodBeat.java"
    with open(beat, "w") as source:
        source.write(METHOD_BEAT)
    javac = ["javac", "-nowarn", "--release", "17", "-cp", COMPILER, "-d"]
    subprocess.run([*javac, classes, HERE + "/AttachLoad.java", beat], check=True)
    subprocess.run([*javac, beside, HERE + "/Retransform.java"], check=True)
    with open(work + "/manifest", "w") as manifest:
        manifest.write("Premain-Class: Retransform\nCan-Retransform-Classes: true\n")
    subprocess.run(["jar", "cfm", work + "/retransform.jar", work + "/manifest", "-C", beside, "."], check=True)
    subprocess.run([PROGRAM, "instrument", "--quiet", COMPILER, "-o", work + "/instrumented.jar"], check=True)
    return classes


def alone(java, classes, work):
    """A function from a number of workers to the results that they have without any agent."""
    plain = Load(java, classes, 2, work)
    wait_for([plain], 2)
    code, results, err = plain.end()
    if code != 0 or err or not any(" wrong 0" in line for line in results):
        sys.exit("by itself the program ends with %s" % [code, results, err])
    return lambda workers: [line for line in results if int(line.split()[1].split("-")[1]) < workers]


def main():
    times, pairs, javas = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
    work = tempfile.mkdtemp(prefix="anrscope-attach-")
    memory, ratios = [], []
    try:
        classes = compile_all(work)
        compiled, counted = alone(javas[0], classes, "compile"), alone(javas[0], classes, "words")
        failures = []
        for java in javas if times else []:
            count = times if java == javas[0] else times // 5
            print("Java " + version(java), flush=True)
            failed, grown = many(java, classes, work, count, compiled)
            failures += failed
            if grown:
                memory.append("Java %s: metaspace %.1f MB after half of them, %.1f at the end, and %.1f and %.1f in a process whose classes a Java agent changes as often" % (version(java), *grown))
        for _ in range(pairs):
            failed, found = pair(javas[0], classes, work, counted)
            failures += failed
            ratios.append(found)
        attached, agent, against = [statistics.median(each) for each in zip(*ratios)] if ratios else (1, 1, 1)
        # One or two pairs say no more than that it runs. What a Java agent alone leaves behind is the JVM's.
        if len(ratios) > 2 and min(attached, against) > SLOWER:
            failures.append("after the attachments a round takes %.3f times the CPU time, and %.3f times that of a process whose classes a Java agent has changed" % (attached, against))
    finally:
        shutil.rmtree(work, ignore_errors=True)
    for failure in failures:
        print("FAILED: " + failure)
    speed = "speed not measured"
    if ratios:
        spread = "%.3f to %.3f" % (min(ratio[0] for ratio in ratios), max(ratio[0] for ratio in ratios))
        speed = "CPU time of a round after against before, %d times: median %.3f (%s), after a Java agent's changes %.3f, one against the other %.3f" % (len(ratios), attached, spread, agent, against)
    print("%d attachments to a program under load: %d failures, output the same; %s" % (times, len(failures), "; ".join([*memory, speed])))
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
