#!/usr/bin/env python3
"""What `anrscope jvm` costs a program, beside JFR: cost.py JAVA DATA [--rounds N] [--only NAME,...]

Each round runs every way once, the first one a different one each time; a ratio is that to the plain run of the same round. Time is that of the whole command: with
anrscope jvm it includes the trace that is written after the program has ended; "program" is its JVM alone.
ANRSCOPE_ASYNC_PROFILER names the library of async-profiler, if that is to be measured too.
"""
import os, re, shutil, statistics, subprocess, sys, tempfile, time
import programs

HELLO = "public class Hello { public static void main(String[] arguments) { System.out.println(\"hello\"); } }"


def hello(work, version):
    programs.javac(work + "/classes", [programs.write(work + "/Hello.java", HELLO)])
    return ["-cp", work + "/classes", "Hello"]


def closure(data):
    jar, script = data + "/closure/package/compiler.jar", data + "/lodash/package/lodash.js"
    return lambda work, version: ["-jar", jar, "--js", script, "--js_output_file", work + "/out.js"]


def commands(java, work, arguments):
    """The ways to run a program."""
    ours = [os.environ["ANRSCOPE_PROGRAM"], "jvm", "--out", work + "/trace.pftrace"]
    recording = lambda settings: ["-XX:StartFlightRecording=filename=%s/run.jfr,settings=%s" % (work, settings)]
    ways = {
        "plain": [java, *arguments],
        "anrscope jvm": [*ours, "--", java, *arguments],
        "anrscope jvm --no-waits": [*ours, "--no-waits", "--", java, *arguments],
        "JFR, settings=default": [java, *recording("default"), *arguments],
        "JFR, settings=profile": [java, *recording("profile"), *arguments],
    }
    profiler = os.environ.get("ANRSCOPE_ASYNC_PROFILER")
    if profiler:
        ways["async-profiler, cpu"] = [java, "-agentpath:%s=start,event=cpu,file=%s/run.collapsed" % (profiler, work), *arguments]
    return ways


class Failed(Exception):
    """A program ended with an error."""


def run(command, work):
    """Seconds of wall-clock and CPU time of a command with all its children, and of the program's JVM alone if the command says so."""
    with open(work + "/printed", "wb") as out:
        begun = time.monotonic()
        child = subprocess.Popen(command, cwd=work, stdin=subprocess.DEVNULL, stdout=out, stderr=out)
        _, status, usage = os.wait4(child.pid, 0)
        wall = time.monotonic() - begun
        child.returncode = os.waitstatus_to_exitcode(status)
    with open(work + "/printed", errors="replace") as out:
        text = out.read()
    if child.returncode:
        raise Failed("exit status %d of %s\n%s" % (child.returncode, " ".join(command), text[-2000:]))
    alone = re.search(r"of the ([\d.]+) (ms|s|min) that the program ran", text)
    unit = {"ms": 0.001, "s": 1, "min": 60}
    return wall, usage.ru_utime + usage.ru_stime, float(alone.group(1)) * unit[alone.group(2)] if alone else wall


def measure(name, prepare, java, version, rounds):
    work = tempfile.mkdtemp(prefix="anrscope-cost-")
    try:
        ways = commands(java, work, prepare(work, version))
        order = list(ways)
        # Files and the page cache are the same for all.
        for way in order:
            run(ways[way], work)
        times = {way: [] for way in order}
        for number in range(rounds):
            at = number % len(order)
            for way in order[at:] + order[:at]:
                times[way].append(run(ways[way], work))
        print("\n%s, Java %d, %d rounds in turn:" % (name, version, rounds))
        print("  %-26s %19s %25s %19s %25s" % ("", "CPU", "times plain", "wall", "times plain"))
        for way in order:
            cells = []
            for column in 1, 0:
                ratios = [mine[column] / plain[column] for mine, plain in zip(times[way], times["plain"])]
                cells += ["%7.3f s" % statistics.median(one[column] for one in times[way]),
                          "%6.2f (%.2f to %.2f)" % (statistics.median(ratios), min(ratios), max(ratios))]
            alone = statistics.median(one[2] for one in times[way])
            note = ", program %.3f s" % alone if way.startswith("anrscope") else ""
            print("  %-26s %19s %25s %19s %25s%s" % (way, *cells, note))
    finally:
        shutil.rmtree(work, ignore_errors=True)


def main():
    java, data, *rest = sys.argv[1:]
    options = dict(zip(rest[::2], rest[1::2]))
    version = int(re.search(r'"(?:1\.)?(\d+)', subprocess.run([java, "-version"], stderr=subprocess.PIPE, text=True).stderr).group(1))
    all_programs = {"hello world": hello, "Closure on lodash": closure(os.path.realpath(data)), "Groovy": programs.groovy, "Maven": programs.maven,
                    "Ant": programs.ant}
    wanted = options.get("--only")
    if "ANRSCOPE_ASYNC_PROFILER" not in os.environ:
        print("async-profiler is left out: ANRSCOPE_ASYNC_PROFILER names no library")
    for name, prepare in all_programs.items():
        if not wanted or any(word.lower() in name.lower() for word in wanted.split(",")):
            measure(name, prepare, java, version, int(options.get("--rounds", "7")))


if __name__ == "__main__":
    main()
