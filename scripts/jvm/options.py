#!/usr/bin/env python3
"""Runs a program with options of the JVM, archives of classes and other agents, as it is and with the agent, and compares the two.

options.py VERSION=COMMAND... -- [CASE...]

The program is scripts/jvm/src/Orders.java. A row of a Markdown table for each case and Java version: whether both streams, the exit code and what the case itself
compares are those of the plain run, and how many calls of two of its methods are in the recording, which is known: each is recorded.
"""
import glob, json, os, re, shutil, subprocess, sys, tempfile, time, zipfile
from programs import HERE, SHARE, anrscope, difference, feature, javac, javas_and_names, run, shown

# Calls of Orders.price and Orders.total, by the program's text: twelve tasks of 40, 80, ... 480 items; price is also called by reflection.
CALLS = {"Orders.price": 40 * sum(range(1, 13)) + 1, "Orders.total": 12}
JACOCO = SHARE + "org.jacoco.agent.jar"
JACOCO_REPORT = ":".join(SHARE + name + ".jar" for name in ("org.jacoco.core", "asm", "asm-commons", "asm-tree", "asm-analysis"))


class Failed(Exception):
    """A case that cannot be compared, with the reason."""


class Case:
    """One way to run the program. `options` and `environment` may contain {form}, which is `plain` or `agent`."""

    def __init__(self, options=(), environment=None, oldest=8, newest=99, only=None, prepare=None, after=None):
        self.options, self.environment, self.oldest, self.newest = options, environment or {}, oldest, newest
        self.only, self.prepare, self.after = only, prepare, after


def needs_modules(java, *names):
    listed = subprocess.run([*java, "--list-modules"], stdout=subprocess.PIPE, text=True).stdout
    return all(name + "@" in listed for name in names)


def has_archive(java):
    """Whether the JVM has a default archive of its own classes."""
    return subprocess.run([*java, "-Xshare:on", "-version"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0


def from_archive(java, work, *options):
    """Fails unless the program's class comes from an archive in a plain run."""
    run([*java, *options, "-Xlog:class+load:file=loaded.txt", "-cp", "app.jar", "Orders"], work)
    with open(work + "/loaded.txt") as lines:
        if not any(" Orders source: shared objects file" in line for line in lines):
            raise Failed("the archive is not used even by the plain run")


def made(done, file):
    if not os.path.exists(file):
        raise Failed("no archive was made: " + (done.stderr + done.stdout)[-400:])


def archive_at_exit(java, work):
    made(run([*java, "-XX:ArchiveClassesAtExit=app.jsa", "-cp", "app.jar", "Orders"], work), work + "/app.jsa")
    from_archive(java, work, "-XX:SharedArchiveFile=app.jsa")


def archive_of_list(java, work):
    run([*java, "-XX:DumpLoadedClassList=classes.txt", "-cp", "app.jar", "Orders"], work)
    made(run([*java, "-Xshare:dump", "-XX:SharedClassListFile=classes.txt", "-XX:SharedArchiveFile=app.jsa", "-cp", "app.jar"], work), work + "/app.jsa")
    from_archive(java, work, "-XX:SharedArchiveFile=app.jsa")


def aot_cache(java, work):
    made(run([*java, "-XX:AOTCacheOutput=app.aot", "-cp", "app.jar", "Orders"], work), work + "/app.aot")
    from_archive(java, work, "-XX:AOTCache=app.aot")
    with open(work + "/words", "w") as file:
        file.write("# options\n-XX:AOTCache=app.aot -Dname='a b'\n")


def words_file(java, work):
    with open(work + "/words", "w") as file:
        file.write("-Xcheck:jni\n-ea -Dname='a b'\n")


def jacoco(java, work):
    with zipfile.ZipFile(JACOCO) as jar:
        jar.extract("jacocoagent.jar", work)
    javac(work + "/report", [HERE + "/src/Coverage.java"], "-cp", JACOCO_REPORT)


def coverage(java, work, form):
    report = run(["java", "-cp", work + "/report:" + JACOCO_REPORT, "Coverage", form + ".exec", "classes"], work)
    if report.returncode or "run: true" not in report.stdout or "ANOTHER CLASS" in report.stdout:
        return "no coverage: " + report.stdout + report.stderr
    return report.stdout


def changer(java, work):
    javac(work + "/changer", [HERE + "/src/Changer.java"])
    with zipfile.ZipFile(work + "/changer.jar", "w") as jar:
        jar.writestr("META-INF/MANIFEST.MF", "Manifest-Version: 1.0\nPremain-Class: Changer\nCan-Retransform-Classes: true\n\n")
        jar.write(work + "/changer/Changer.class", "Changer.class")


def changed(word):
    def after(java, work, form):
        with open(work + "/%s.out" % form) as text:
            return "changed" if "word " + word in text.read() else "NOT CHANGED"
    return after


def flight_recording(java, work, form):
    """The events of the program's methods in JFR's file, which is read by a JDK's tool."""
    path = work + "/%s.jfr" % form
    if not os.path.exists(path):
        return "no file"
    text = subprocess.run(["jfr", "summary", path], stdout=subprocess.PIPE, text=True).stdout
    return "has jdk.ThreadStart" if re.search(r"jdk\.ThreadStart +[1-9]", text) else "no events: " + text[-300:]


def has_jfr(java):
    # A JVM without a compiler has the module and not the option.
    return "-zero" not in java and needs_modules(java, "jdk.jfr")


def debugger(java, work, form):
    """What a debugger prints that stops in a method, steps through it and prints its variables."""
    command = [*java, "-agentlib:jdwp=transport=dt_socket,server=y,suspend=y,address=127.0.0.1:0", "-cp", "classes", "Orders"]
    if form == "agent":
        command = [*anrscope(work + "/kept-jdb", java), *command[len(java):]]
    program = subprocess.Popen(command, cwd=work, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    port = re.search(r"address: (\d+)", program.stdout.readline()).group(1)
    jdb = subprocess.Popen(["jdb", "-sourcepath", HERE + "/src", "-attach", "127.0.0.1:" + port], cwd=work, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT, bufsize=0)
    os.set_blocking(jdb.stdout.fileno(), False)

    def said(pattern):
        """What it prints up to this, and its prompt."""
        text, end = "", time.monotonic() + 120
        while not re.search("(?s)" + pattern, text):
            text += (jdb.stdout.read(4096) or b"").decode(errors="replace")
            if jdb.poll() is not None or time.monotonic() > end:
                return text + "\nTHE DEBUGGER DID NOT SAY " + pattern
            time.sleep(0.02)
        return text

    prompt = r".*main\[1\] $"
    stopped = r"(Breakpoint hit|Step completed)" + prompt
    all_said = said(r"main\[1\] $")
    for line, pattern in [("stop in Orders.fail", "reakpoint Orders.fail"), ("run", "Breakpoint hit" + prompt), ("where", r"\[\d\] " + prompt),
                          ("locals", "depth = " + prompt), ("step", stopped), ("locals", "depth = " + prompt), ("step", stopped), ("where", r"\[2\] " + prompt),
                          ("next", stopped), ("clear Orders.fail", "Removed"), ("stop in Orders.marker", "reakpoint Orders.marker"), ("cont", "Breakpoint hit" + prompt),
                          ("step up", stopped), ("cont", "application exited")]:
        jdb.stdin.write((line + "\n").encode())
        all_said += said(pattern)
    jdb.kill()
    jdb.wait()
    printed = program.communicate(timeout=60)[0]
    # When a prompt comes depends on time, and the place of an instruction on what was added to the method.
    facts = re.findall(r"Breakpoint hit:.*|Step completed:.*|^ *\[\d+\] .*|\w+ = .*|THE DEBUGGER.*", re.sub(r"(?m)^(main\[1\] |> )+", "", all_said), re.M)
    return re.sub(r"bci=\d+", "bci=*", "\n".join(facts)) + "\n" + printed + str(program.returncode)


CASES = {
    "no option": Case(),
    "-Xcheck:jni": Case(["-Xcheck:jni"]),
    "-Xverify:all": Case(["-Xverify:all"]),
    "-Xint": Case(["-Xint"]),
    "-Xcomp": Case(["-Xcomp"]),
    "-XX:TieredStopAtLevel=1": Case(["-XX:TieredStopAtLevel=1"], only=lambda java: "-zero" not in java),
    "-Xrs": Case(["-Xrs"]),
    "-XX:+UseSerialGC": Case(["-XX:+UseSerialGC"]),
    "-XX:+UseParallelGC": Case(["-XX:+UseParallelGC"]),
    "-XX:+UseZGC": Case(["-XX:+UseZGC"], oldest=17, only=lambda java: "-zero" not in java),
    "-XX:+UseCompactObjectHeaders": Case(["-XX:+UseCompactObjectHeaders"], oldest=25),
    "a security manager": Case(["-Djava.security.manager", "-Djava.security.policy==all.policy"], newest=17,
                               prepare=lambda java, work: open(work + "/all.policy", "w").write("grant { permission java.security.AllPermission; };")),
    "-Xshare:off": Case(["-Xshare:off"]),
    "the JDK's own archive (-Xshare:on)": Case(["-Xshare:on"], only=has_archive),
    "AppCDS, -XX:ArchiveClassesAtExit before": Case(["-XX:SharedArchiveFile=app.jsa"], oldest=13, only=has_archive, prepare=archive_at_exit),
    "AppCDS, -Xshare:dump before": Case(["-XX:SharedArchiveFile=app.jsa"], oldest=11, prepare=archive_of_list, only=lambda java: "-zero" not in java),
    "-XX:AOTCache": Case(["-XX:AOTCache=app.aot"], oldest=25, prepare=aot_cache),
    "JAVA_TOOL_OPTIONS=-XX:AOTCache": Case(environment={"JAVA_TOOL_OPTIONS": "-XX:AOTCache=app.aot"}, oldest=25, prepare=aot_cache),
    "JDK_JAVA_OPTIONS=-XX:AOTCache": Case(environment={"JDK_JAVA_OPTIONS": "-XX:AOTCache=app.aot"}, oldest=25, prepare=aot_cache),
    "@file with -XX:AOTCache": Case(["@words"], oldest=25, prepare=aot_cache),
    "JAVA_TOOL_OPTIONS=-Xcheck:jni": Case(environment={"JAVA_TOOL_OPTIONS": "-Xcheck:jni -ea"}),
    "JDK_JAVA_OPTIONS=-Xcheck:jni": Case(environment={"JDK_JAVA_OPTIONS": "-Xcheck:jni -ea"}, oldest=11),
    "@file with -Xcheck:jni": Case(["@words"], oldest=11, prepare=words_file),
    # In a variable, an agent comes before ours; on the command line, after it. Debian's JaCoCo knows class files up to Java 16, and the JDK's own are newer.
    "JaCoCo after ours": Case(["-javaagent:jacocoagent.jar=destfile={form}.exec"], prepare=jacoco, after=coverage, newest=17),
    "JaCoCo before ours": Case(environment={"JAVA_TOOL_OPTIONS": "-javaagent:jacocoagent.jar=destfile=exec.{form}"}, prepare=jacoco, newest=17,
                               after=lambda java, work, form: coverage(java, work, shutil.copy(work + "/exec." + form, work + "/%s.exec" % form)[:-5])),
    "an agent that changes a class": Case(["-javaagent:changer.jar"], prepare=changer, after=changed("Parker")),
    "the same, before ours": Case(environment={"JAVA_TOOL_OPTIONS": "-javaagent:changer.jar"}, prepare=changer, after=changed("Parker")),
    "an agent that retransforms it": Case(["-javaagent:changer.jar=later"], prepare=changer, after=changed("Parker")),
    "an agent that retransforms it and back": Case(["-javaagent:changer.jar=back"], prepare=changer, after=changed("Marker")),
    "the same, before ours and loaded already": Case(environment={"JAVA_TOOL_OPTIONS": "-javaagent:changer.jar=back"}, prepare=changer, after=changed("Marker")),
    "-agentlib:jdwp": Case(["-agentlib:jdwp=transport=dt_socket,server=y,suspend=n,address=127.0.0.1:0,quiet=y"],
                           only=lambda java: "1.8" in version_text(java) or needs_modules(java, "jdk.jdwp.agent")),
    "a debugger: breakpoint, steps, variables": Case(only=lambda java: "1.8" in version_text(java) or needs_modules(java, "jdk.jdwp.agent"), after=debugger),
    "-XX:StartFlightRecording": Case(["-XX:StartFlightRecording=filename={form}.jfr"], oldest=11, only=has_jfr, after=flight_recording),
    "-XX:StartFlightRecording, settings=profile": Case(["-XX:StartFlightRecording=filename={form}.jfr,settings=profile"], oldest=11, only=has_jfr,
                                                      after=flight_recording),
}


def version_text(java):
    return subprocess.run([*java, "-version"], stderr=subprocess.PIPE, text=True).stderr


def recorded_calls(work, kept):
    """How often each method of CALLS begins in the recording."""
    recordings = glob.glob(kept + "/*.anrscope")
    if len(recordings) != 1:
        return {name: -len(recordings) for name in CALLS}
    run([os.environ["ANRSCOPE_PROGRAM"], "export", recordings[0], "-o", work + "/trace.json"], work)
    with open(work + "/trace.json", encoding="utf-8") as file:
        names = [event.get("name", "") for event in json.load(file)["traceEvents"] if event.get("ph") in ("B", "X")]
    return {method: sum(method in name for name in names) for method in CALLS}


def result(case, java, work):
    """Runs a case both ways: the lines that differ, and the recorded calls."""
    javac(work + "/classes", [HERE + "/src/Orders.java"], "-g")
    subprocess.run(["jar", "cf", work + "/app.jar", "-C", work + "/classes", "."], check=True)
    if case.prepare:
        case.prepare(java, work)
    seen, kept = {}, work + "/kept"
    for form in "plain", "agent":
        options = [word.replace("{form}", form) for word in case.options]
        environment = {name: value.replace("{form}", form) for name, value in case.environment.items()}
        command = java if form == "plain" else anrscope(kept, java, "--resolution", "exact", "--max-overhead", "0")
        done = run([*command, *options, "-cp", "app.jar", "Orders"], work, environment)
        with open(work + "/%s.out" % form, "w") as out:
            out.write(done.stdout)
        # JFR prints the process, and its log's time.
        parts = [re.sub(r"jcmd \d+|^\[\d+\.\d+s\]|\b%s\b" % form, "*", part, flags=re.M) for part in map(str, shown(done))]
        if case.after:
            parts.append(case.after(java, work, form).replace(form, "*"))
        seen[form] = parts
    if "\nsum " not in seen["plain"][1]:
        raise Failed("by itself it prints " + "".join(seen["plain"])[-600:])
    return difference(seen["plain"], seen["agent"]), recorded_calls(work, kept)


def main():
    javas, names = javas_and_names(sys.argv[1:])
    print("| case | Java | calls recorded | output |\n| --- | --- | --- | --- |")
    runs = failed = 0
    for name in names or CASES:
        case = CASES[name]
        for version, java in javas:
            if not case.oldest <= feature(version) <= case.newest or case.only and not case.only(java):
                continue
            work = tempfile.mkdtemp(prefix="anrscope-options-")
            runs += 1
            try:
                different, calls = result(case, java, work)
                good = not different and calls == CALLS
                failed += not good
                print("| `%s` | %s | %s | %s |" % (name, version, "all" if calls == CALLS else "%s OF %s" % (calls, CALLS), "the same" if not different else "ANOTHER"), flush=True)
                if different:
                    print(different, flush=True)
            except Failed as why:
                failed += 1
                print("| `%s` | %s | | FAILED: %s |" % (name, version, why), flush=True)
            finally:
                shutil.rmtree(work, ignore_errors=True)
    print("%d runs with %d options, archives and agents on Java %s: %d differ from the plain run or miss a call"
          % (runs, len(names or CASES), ", ".join(version for version, _ in javas), failed))
    sys.exit(1 if failed or runs == 0 else 0)


if __name__ == "__main__":
    main()
