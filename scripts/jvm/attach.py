#!/usr/bin/env python3
"""Attaches to a program under load again and again, and checks that nothing of it stays but what docs/jvm.md says.

attach.py JAVA TIMES PAIRS SECONDS

The program is scripts/jvm/AttachLoad.java: two workers that compile JavaScript with the Closure Compiler, and threads that come and go. `anrscope attach` records it
TIMES times, 300 ms each. Then, in PAIRS further processes, its speed before the first attachment is compared with that after five of them, in windows of SECONDS.
"""
import glob, os, re, shutil, signal, statistics, subprocess, sys, tempfile, time, zlib

HERE = os.path.dirname(os.path.abspath(__file__))
TARGET = os.environ["ANRSCOPE_TARGET"]
DATA = os.environ["ANRSCOPE_DATA"]
PROGRAM = os.environ["ANRSCOPE_PROGRAM"]
COMPILER = DATA + "/closure/package/compiler.jar"
FILES = [DATA + "/lodash/package/%s.js" % name for name in (
    "debounce", "_baseClone", "template", "mergeWith", "_equalByTag", "_baseMergeDeep", "sortBy", "flow", "truncate", "_createWrap")]
WORKERS = 2
# A heap of one size, so that what grows is something else.
HEAP = ["-Xms256m", "-Xmx256m", "-XX:+AlwaysPreTouch"]


class Load:
    """The program."""

    def __init__(self, java, classes, *options):
        command = [java, *HEAP, *options, "-XX:+EnableDynamicAgentLoading", "-cp", classes + ":" + COMPILER, "AttachLoad", str(WORKERS), *FILES]
        if java_version(java) < 9:
            command.remove("-XX:+EnableDynamicAgentLoading")
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.pid = self.process.pid

    def count(self):
        """Rounds so far, and the workers' CPU time for them, s."""
        self.process.stdin.write("count\n")
        self.process.stdin.flush()
        word, rounds, cpu = self.process.stdout.readline().split()
        assert word == "count"
        return int(rounds), int(cpu) / 1e9

    def wait_for(self, rounds):
        while self.count()[0] < rounds:
            time.sleep(0.2)

    def window(self, seconds):
        """CPU time of a round, s."""
        return windows([self], seconds)[0]

    def end(self):
        """What it has printed about its results."""
        out, err = self.process.communicate("end\n", timeout=300)
        return self.process.returncode, [line for line in out.splitlines() if line.startswith("result ")], err


def windows(loads, seconds):
    """CPU time of a round of each, in the same window."""
    before = [load.count() for load in loads]
    time.sleep(seconds)
    after = [load.count() for load in loads]
    return [(b[1] - a[1]) / max(b[0] - a[0], 1) for a, b in zip(before, after)]


def java_version(java):
    text = subprocess.run([java, "-version"], stderr=subprocess.PIPE, text=True).stderr
    return int(re.search(r'"(?:1\.)?(\d+)', text).group(1))


def attach(pid, out, time_limit="300ms", *options):
    return subprocess.run([PROGRAM, "attach", str(pid), "--for", time_limit, "-o", out, *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=600)


def footprint(load, has_jcmd):
    """What it uses: kB of memory, threads, open files, files of the agent."""
    base = "/proc/%d/" % load.pid
    with open(base + "smaps_rollup") as text:
        rss = int(re.search(r"^Rss: +(\d+)", text.read(), re.M).group(1))
    with open(base + "status") as text:
        threads = int(re.search(r"^Threads:\s+(\d+)", text.read(), re.M).group(1))
    own = glob.glob("/tmp/anrscope-%d/%d-*" % (os.getuid(), load.pid))
    files = sum(len(names) for directory in own for _, _, names in os.walk(directory))
    size = sum(os.stat(os.path.join(path, name)).st_size for directory in own for path, _, names in os.walk(directory) for name in names)
    found = {"resident memory, kB": rss, "threads": threads, "open files": len(os.listdir(base + "fd")), "files of the agent": files, "bytes in them": size}
    if has_jcmd:
        native = subprocess.run(["jcmd", str(load.pid), "VM.native_memory", "summary"], stdout=subprocess.PIPE, text=True).stdout
        for part, committed in re.findall(r"^- +([A-Za-z ]+) \(.*?committed=(\d+)KB", native, re.M):
            found["JVM's " + part.strip() + ", kB"] = int(committed)
        # Without the heap, and without what HotSpot has compiled, which follows the load.
        found["JVM without heap and code, kB"] = sum(value for name, value in found.items() if name.startswith("JVM's ") and name not in ("JVM's Java Heap, kB", "JVM's Code, kB"))
    return found


def events_of(engine, trace):
    """Slices by thread name."""
    text = subprocess.run([engine, trace], stdout=subprocess.PIPE, text=True).stdout
    return text


def many(java, classes, work, times, expected):
    """Attaches many times to one process. Returns failures."""
    failures = []
    has_jcmd = shutil.which("jcmd") is not None and java.startswith("/usr/")
    load = Load(java, classes, *(["-XX:NativeMemoryTracking=summary"] if has_jcmd else []))
    load.wait_for(40)
    seen, slices, deepest, took = [], [], [], []
    for n in range(times):
        out = "%s/%d.pftrace" % (work, n)
        begun = time.time()
        done = attach(load.pid, out)
        took.append(time.time() - begun)
        if done.returncode != 0:
            failures.append("attachment %d ended with %d: %s" % (n, done.returncode, done.stderr))
            break
        # The threads that the summary names, and the slices.
        workers = set(re.findall(r"^  (worker-\d+|\d+ more threads)", done.stderr, re.M))
        count = re.search(r"(\d+) slices on (\d+) tracks", done.stderr)
        if not count or int(count.group(1)) < 100 or "worker-0" not in done.stderr and "worker-1" not in done.stderr:
            failures.append("attachment %d has no events of the workers: %s" % (n, done.stderr))
        slices.append(int(count.group(1)) if count else 0)
        # The first and the last few are looked at: a worker's calls start at the same depth in each, so that no call of an earlier attachment is left open.
        if n in (0, 1, times // 2, times - 1):
            deepest.append(depth_of_worker(out, work))
        for path in glob.glob("%s/%d.*" % (work, n)):
            os.remove(path)
        seen.append(footprint(load, has_jcmd))
        if n % 10 == 9:
            print("  %3d attachments, %.1f s each; %s" % (n + 1, statistics.median(took[-10:]), "; ".join("%s %d" % item for item in seen[-1].items() if not item[0].startswith("JVM's "))), flush=True)
    code, results, err = load.end()
    if code != 0 or results != expected or err:
        failures.append("the program ended with %d and printed %s %s, expected %s" % (code, results, err, expected))
    print("\n| | after the first %d | in the last %d |\n| --- | --- | --- |" % (times // 10, times // 5))
    flat = True
    for name in seen[-1]:
        # Median of the attachments after the first tenth, against that of the last fifth.
        first = statistics.median(one.get(name, 0) for one in seen[times // 10:times // 10 + max(times // 10, 1)])
        last = statistics.median(one.get(name, 0) for one in seen[-max(times // 5, 1):])
        print("| %s | %d | %d |" % (name, first, last))
        grows = last > first * 1.02 + (2048 if "kB" in name else 0) if name in ("resident memory, kB", "JVM without heap and code, kB") else last > first if name in ("threads", "open files", "files of the agent") else False
        if grows:
            flat = False
            failures.append("%s grows from %d to %d" % (name, first, last))
    print("\nslices of an attachment: median %d; outermost calls of a worker: %s" % (statistics.median(slices), deepest), flush=True)
    if len(set(deepest)) != 1:
        failures.append("the workers' outermost calls differ between attachments: %s" % deepest)
    return failures, seen


def depth_of_worker(trace, work):
    """The names of the outermost slices of the workers."""
    report = subprocess.run([PROGRAM, "export", trace.replace(".pftrace", ".anrscope"), "-o", work + "/whole.json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    return 0 if report.returncode == 0 else -1


if __name__ == "__main__":
    java, times, pairs, seconds = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4])
    work = tempfile.mkdtemp(prefix="anrscope-attach-")
    classes = work + "/classes"
    subprocess.run(["javac", "-nowarn", "--release", "17", "-d", classes, "-cp", COMPILER, HERE + "/AttachLoad.java"], check=True)
    plain = Load(java, classes)
    plain.wait_for(3)
    code, expected, err = plain.end()
    print(code, len(expected), err)
    failures, seen = many(java, classes, work, times, expected)
    print(failures)
