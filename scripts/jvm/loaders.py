#!/usr/bin/env python3
"""Runs a program that defines each of its classes by a loader of its own, as compilers of dynamic languages do, as it is and recorded, and compares the two.

loaders.py VERSION=COMMAND... -- COUNT

The programs are ManyLoaders and Server of trace-runtime/jvm-agent/tests/java/plain. COUNT loaders override loadClass, so each is asked whether it finds the recorder.
A row of a Markdown table for each Java version: whether the program prints the same under `anrscope jvm` and `attach` with -Xcheck:jni, which prints a warning if
there are more local references than were announced; the CPU time with and without `anrscope jvm`; and the CPU time for 1,000 loaders, of a fifth of COUNT and of
the others. To change loaded classes takes Java 8 and 11 the square of their number (3,000: 15 s of CPU time, Java 17: 0.8 s), so they are attached to with a tenth of COUNT; and without -Xcheck:jni, which reports there that the
handler of SIGQUIT was replaced.
"""
import os, resource, shutil, signal, subprocess, sys, tempfile
from programs import HERE, anrscope, difference, feature, javac, javas_and_names, run, shown

SOURCES = [HERE + "/../../trace-runtime/jvm-agent/tests/java/plain/%s.java" % name for name in ("ManyLoaders", "Server")]


def timed(command, work):
    """What a run shows, and its CPU time, s."""
    def cpu():
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime
    before = cpu()
    return shown(run(command, work)), cpu() - before


def attached(java, options, work, count):
    """What the server answers before, during and after an attachment."""
    server = subprocess.Popen([*java, *options, "-cp", "classes", "plain.Server"], cwd=work, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True)

    def ask(line):
        server.stdin.write(line + "\n")
        server.stdin.flush()
        return server.stdout.readline().strip()

    answers = [server.stdout.readline().strip(), ask("define %d" % count)]
    client = subprocess.Popen([os.environ["ANRSCOPE_PROGRAM"], "attach", str(server.pid), "--out", work + "/attached.pftrace"], stderr=subprocess.PIPE,
                              stdout=subprocess.DEVNULL, text=True)
    said = []
    for line in client.stderr:
        said.append(line)
        if "recording process" in line:
            break
    answers.append(ask("run"))
    client.send_signal(signal.SIGINT)
    said.append(client.communicate()[1])
    answers.append(ask("run"))
    rest = server.communicate()[0]
    expected = ["ready", "defined", "run", "run"]
    if client.returncode == 0 and answers == expected and rest == "":
        return ""
    return "    attach ended with %s: %s\n    %s %s" % (client.returncode, "".join(said), answers, rest[:2000])


def main():
    javas, (count,) = javas_and_names(sys.argv[1:])
    count, failed = int(count), 0
    work = tempfile.mkdtemp(prefix="anrscope-loaders-")
    javac(work + "/classes", SOURCES)
    print("| Java | `jvm` | `attach` | CPU time | s for 1,000 loaders, first and later |\n| --- | --- | --- | --- | --- |", flush=True)
    ratios = []
    for version, java in javas:
        program = lambda loaders: ["-cp", "classes", "plain.ManyLoaders", str(loaders)]
        _, alone = timed([*java, *program(count)], work)
        _, first = timed([*anrscope(work + "/first-" + version, java), *program(count // 5)], work)
        _, whole = timed([*anrscope(work + "/whole-" + version, java), *program(count)], work)
        checked = [*java, "-Xcheck:jni"]
        plain = shown(run([*checked, *program(count)], work))
        agent = shown(run([*anrscope(work + "/checked-" + version, checked), *program(count)], work))
        differs = "" if plain == agent else difference(plain, agent)
        of_attach = (["-Xcheck:jni"], work, count) if feature(version) >= 17 else ([], work, count // 10)
        differs_attached = attached(java, *of_attach)
        failed += bool(differs) + bool(differs_attached)
        later = (whole - first) / (count - count // 5) * 1000
        ratios.append(whole / alone)
        print("| %s | %s | %s | %.1f s, %.1f without: %.2f | %.3f, %.3f |" % (
            version, "differs" if differs else "same", "differs" if differs_attached else "same", whole, alone, ratios[-1], first / (count // 5) * 1000, later))
        print("\n".join(filter(None, (differs, differs_attached))), end="\n" if differs or differs_attached else "", flush=True)
    shutil.rmtree(work)
    print("\n%d classes of as many loaders on Java %s: %d of %d runs differ; CPU time %.2f to %.2f of the plain run's" % (
        count, ", ".join(version for version, _ in javas), failed, 2 * len(javas), min(ratios), max(ratios)))
    sys.exit(failed > 0)


main()
