#!/usr/bin/env python3
"""Real programs, plain and traced in pairs: what tracing costs and how much of the run is in the recording.

    programs.py ANRSCOPE COVERAGE DATA WORK [--pairs N] [--only NAME,NAME] [--ways NAME;NAME]

ANRSCOPE is the anrscope binary, COVERAGE the tool `coverage`, DATA the test data. `anrscope jvm` runs each program once, which
instruments its classes; WORK/matrix has a re-implementation of Matrix's recorder. After that, the java command that it started and
the plain one run alternately, so that a pair compares the program's own time. In the same rounds it measures the JVM's own
profiler (JFR, settings=profile): its cost, and whether both report the same methods.
"""
import json, os, re, resource, shutil, statistics, subprocess, sys, time

MEDIAN, WORST = 1.05, 1.10

# JVM options of each variant.
WAYS = {
    "plain": None,
    "traced": [],
    "no limit": ["-Danrscope.max_overhead=0"],
    "exact": ["-Danrscope.resolution=exact"],
    "exact, no limit": ["-Danrscope.resolution=exact", "-Danrscope.max_overhead=0"],
    "off": ["-Danrscope.off=true"],
    "no waits": [],
    "Matrix's way": [],
    "JFR": None,
}


def programs(data, work):
    """Name, java arguments, and what to remove before each run, of the programs whose files exist."""
    jars = os.path.join(data, "instrument")
    jar = lambda name: os.path.join(jars, name)
    closure = os.path.join(data, "closure/package/compiler.jar")
    lodash = os.path.join(data, "lodash/package/lodash.js")
    all = [
        ("Closure on lodash", [closure], ["-jar", closure, "--js", lodash, "--js_output_file", work + "/out.js"], [closure, lodash]),
        ("D8 on guava", [jar("d8.jar")],
         ["-cp", jar("d8.jar"), "com.android.tools.r8.D8", "--output", work + "/d8.zip", "--min-api", "26", jar("guava.jar")],
         [jar("d8.jar"), jar("guava.jar")]),
    ]
    swing = sources(data, work)
    # At Java 8 the JDK's own packages may be compiled; a few sources need newer ones; javac reports errors for these, which do not matter.
    all.append(("ecj on javax.swing", [jar("ecj.jar")],
                ["-cp", jar("ecj.jar"), "org.eclipse.jdt.internal.compiler.batch.Main", "-nowarn", "-proc:none", "-proceedOnError", "-8",
                 "-d", "none", swing or "?"], [jar("ecj.jar"), swing or "?"]))
    kotlin = [jar(f"kotlin-{part}.jar") for part in ("compiler", "stdlib", "script", "reflect", "coroutines", "daemon", "annotations")]
    all.append(("kotlinc on 8 files", kotlin,
                ["-cp", ":".join(kotlin), "org.jetbrains.kotlin.cli.jvm.K2JVMCompiler", "-no-stdlib", "-no-reflect", "-nowarn", "-classpath",
                 jar("kotlin-stdlib.jar"), "-d", work + "/kt.jar", kotlin_sources(work)], kotlin))
    server = work + "/server"
    all.append(("server under load", [server], ["-cp", server, "bench.server.Server"], [server]))
    for name, _, arguments, needed in all:
        missing = [file for file in needed if not os.path.exists(file)]
        if missing:
            print(f"{name}: not here: {' '.join(missing)}; scripts/instrument/fetch and scripts/bench record --help say how", file=sys.stderr)
        else:
            yield name, arguments


def sources(data, work):
    """The directory of javax.swing's sources, from Debian's openjdk-17-source; None without it."""
    for archive in (os.path.join(data, "jdk-source/usr/lib/jvm/openjdk-17/lib/src.zip"), "/usr/lib/jvm/openjdk-17/lib/src.zip"):
        if os.path.exists(archive):
            import zipfile
            with zipfile.ZipFile(archive) as zip:
                for name in zip.namelist():
                    if name.startswith("java.desktop/javax/swing/") and name.endswith(".java"):
                        zip.extract(name, work + "/jdk")
            return work + "/jdk/java.desktop/javax/swing"
    return None


def kotlin_sources(work):
    """Generated source, the same each time."""
    directory = work + "/kt"
    os.makedirs(directory, exist_ok=True)
    for file in range(8):
        text = f"package made.f{file}\n"
        for n in range(6):
            text += f"""
data class Item{n}(val id: Int, val name: String, val parts: List<Int>)
interface Store{n} {{ fun find(id: Int): Item{n}?; fun all(): Sequence<Item{n}> }}
class Memory{n} : Store{n} {{
    private val items = mutableMapOf<Int, Item{n}>()
    override fun find(id: Int) = items[id]
    override fun all() = items.values.asSequence()
    fun add(name: String, vararg parts: Int) = Item{n}(items.size, name, parts.toList()).also {{ items[it.id] = it }}
    fun total() = all().filter {{ it.parts.isNotEmpty() }}.map {{ it.parts.sum() * {n + 1} }}.fold(0) {{ a, b -> a + b }}
    fun grouped() = all().groupBy {{ it.name.length }}.mapValues {{ (k, v) -> v.sumOf {{ it.id + k }} }}
    fun describe(x: Any): String = when (x) {{
        is Item{n} -> "${{x.name}} of ${{x.parts.size}}"
        is Int -> if (x > {file}) "big" else "small"
        is String -> x.uppercase().reversed()
        else -> x.toString()
    }}
}}
"""
        with open(f"{directory}/F{file}.kt", "w") as out:
            out.write(text)
    return directory


def java():
    """The java of the search path, with the links of its directory resolved."""
    home = os.environ.get("JAVA_HOME")
    return os.path.join(home, "bin/java") if home else shutil.which("java")


def run(command, log):
    """Wall and CPU seconds, and the exit code."""
    with open(log, "wb") as out:
        begun = time.monotonic()
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=out)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        return time.monotonic() - begun, usage.ru_utime + usage.ru_stime, child.returncode


def prepared(anrscope, work, arguments, into="/kept", options=()):
    """Runs `anrscope jvm` once. Returns the java command that it started, the directory it kept and the seconds it took."""
    home, kept, seen = work + "/home", work + into, work + "/java-commands"
    shutil.rmtree(kept, ignore_errors=True)
    os.makedirs(home + "/bin", exist_ok=True)
    real = java()
    # A java that logs its arguments.
    with open(home + "/bin/java", "w") as script:
        script.write(f'#!/bin/sh\nprintf "%s\\0" "$@" >>"{seen}"; printf "\\n\\0" >>"{seen}"\nexec "{real}" "$@"\n')
    os.chmod(home + "/bin/java", 0o755)
    if os.path.exists(seen):
        os.remove(seen)
    command = [anrscope, "jvm", *options, "--quiet", "--keep", kept, "--out", work + "/trace.pftrace", "--"] + arguments
    begun = time.monotonic()
    with open(work + "/jvm.log", "wb") as log:
        subprocess.run(command, env=dict(os.environ, JAVA_HOME=home), stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    seconds = time.monotonic() - begun
    with open(seen) as file:
        commands = [call.split("\0")[:-1] for call in file.read().split("\n\0")]
    # It also calls java for its version.
    started = [call for call in commands if any(word.startswith("-Danrscope.dir=") for word in call)]
    if not started:
        with open(work + "/jvm.log", errors="replace") as log:
            raise SystemExit(f"anrscope jvm started no traced program:\n{log.read()}")
    return started[-1], kept, seconds


def coverage(tool, kept, directory):
    """The recording of the last run in numbers."""
    file = [os.path.join(directory, name) for name in os.listdir(directory) if name.endswith(".anrscope")]
    if len(file) != 1:
        raise SystemExit(f"recordings: {file}")
    shown = subprocess.run([tool, file[0], "--method-map", kept + "/methodMapping.txt"], check=True, stdout=subprocess.PIPE)
    return json.loads(shown.stdout)


def jfr_samples(file, known):
    """Samples by thread's name, and by that and the innermost method that is also traced."""
    tool = os.path.join(os.path.dirname(os.path.realpath(java())), "jfr")
    text = subprocess.run([tool, "print", "--json", "--stack-depth", "64", "--events", "jdk.ExecutionSample", file], check=True,
                          stdout=subprocess.PIPE).stdout
    threads, methods = {}, {}
    for event in json.loads(text)["recording"]["events"]:
        values = event["values"]
        thread = (values.get("sampledThread") or {}).get("javaName") or "?"
        threads[thread] = threads.get(thread, 0) + 1
        for frame in (values.get("stackTrace") or {}).get("frames", []):
            method = frame["method"]
            name = method["type"]["name"].replace("/", ".") + "." + method["name"]
            if name in known:
                of_thread = methods.setdefault(thread, {})
                of_thread[name] = of_thread.get(name, 0) + 1
                break
    return threads, methods


def map_names(kept):
    """The names of the methods that are traced."""
    names = set()
    with open(kept + "/methodMapping.txt") as lines:
        for line in lines:
            fields = line.rstrip("\n").split(",", 2)
            if len(fields) == 3:
                words = fields[2].split(" ")
                names.add(words[0] + "." + words[1])
    return names


def ratios(times, way, at):
    return [pair[at] / plain[at] for pair, plain in zip(times[way], times["plain"])]


def show_threads(recorded):
    """The threads that matter, and the whole."""
    threads = [t for t in recorded["threads"] if t["first_ns"]]
    begun = min(t["started_ns"] or t["first_ns"] for t in threads)
    ended = max(t["last_ns"] for t in threads)
    print(f"  recording: first event to last {(ended - min(t['first_ns'] for t in threads)) / 1e9:.2f} s of {(ended - begun) / 1e9:.2f} s, "
          f"{sum(t['written'] for t in threads):,} words written, {sum(t['overwritten'] for t in threads):,} overwritten, "
          f"{recorded['dropped']:,} dropped, {sum(t['folded'] for t in threads):,} short calls counted")
    print(f"  {'thread':<32} {'lived':>9} {'in the record':>13} {'covered':>8} {'words':>10} {'overwritten':>12}")
    for t in sorted(threads, key=lambda t: -t["written"])[:8]:
        lived = t["last_ns"] - (t["started_ns"] or t["first_ns"])
        left = t["last_ns"] - t["first_ns"]
        print(f"  {(t['name'] or '?')[:32]:<32} {lived / 1e9:>7.2f} s {left / max(lived, 1):>12.1%} {t['covered_ns'] / max(lived, 1):>8.1%} "
              f"{t['written']:>10,} {t['overwritten']:>12,}")
    return sum(t["overwritten"] for t in threads) + recorded["dropped"]


def own_top(recorded, name):
    """Self time by method, of the threads of this name."""
    total = {}
    for thread in recorded["threads"]:
        for row in thread["top"] if thread["name"] == name else []:
            total[row["method"]] = total.get(row["method"], 0) + row["self_ns"]
    return total


def program(name, arguments, tools, data, work, pairs, ways):
    anrscope, tool = tools
    traced, kept, whole = prepared(anrscope, work, arguments)
    directory, log, sampled = work + "/recordings", work + "/run.log", work + "/run.jfr"
    # The recording of each run has an empty directory of its own.
    redirected = lambda command: [f"-Danrscope.dir={directory}" if word.startswith("-Danrscope.dir=") else word for word in command]
    traced = redirected(traced)
    # Matrix records no waits.
    if {"no waits", "Matrix's way"} & set(ways):
        without, kept_without, _ = prepared(anrscope, work, arguments, "/kept-without", ["--no-waits"])
    commands = {}
    for way in ways:
        if way == "plain":
            commands[way] = [java()] + arguments
        elif way == "JFR":
            commands[way] = [java(), f"-XX:StartFlightRecording:settings=profile,filename={sampled}"] + arguments
        elif way == "no waits":
            commands[way] = [java()] + redirected(without)
        elif way == "Matrix's way":
            boot = "-Xbootclasspath/a:"
            commands[way] = [java()] + [boot + work + "/matrix" if word.startswith(boot) else word for word in redirected(without)]
        else:
            # After the options of `anrscope jvm`, so that these win.
            at = next(n for n, word in enumerate(traced) if word.startswith("-Danrscope.mapId=")) + 1
            commands[way] = [java()] + traced[:at] + WAYS[way] + traced[at:]
    times = {way: [] for way in ways}
    recordings, codes = {}, {}
    for round in range(pairs):
        # Each round starts with the next variant, so that none always follows the same one.
        order = ways[round % len(ways):] + ways[:round % len(ways)]
        for way in order:
            shutil.rmtree(directory, ignore_errors=True)
            os.makedirs(directory)
            wall, cpu, code = run(commands[way], log)
            if codes.setdefault("all", code) != code:
                raise SystemExit(f"{name}, {way}: exit status {code}, not {codes['all']}; {log}")
            times[way].append((wall, cpu))
            if WAYS[way] is not None and way not in ("off", "Matrix's way"):
                recordings[way] = coverage(tool, kept_without if way == "no waits" else kept, directory)
    print(f"\n{name}: {pairs} rounds in turn; the whole `anrscope jvm` took {whole:.2f} s (instrumentation, run, export)")
    print(f"  {'way':<16} {'wall':>8} {'median':>7} {'worst':>6} {'CPU':>10} {'median':>7} {'worst':>6} {'words':>12} {'overwritten':>14}")
    missed = []
    for way in ways:
        wall, cpu = ratios(times, way, 0), ratios(times, way, 1)
        words = recordings.get(way)
        count = lambda key: f"{sum(t[key] for t in words['threads']):,}" if words else ""
        print(f"  {way:<16} {statistics.median(t[0] for t in times[way]):>6.2f} s {statistics.median(wall):>7.3f} {max(wall):>6.3f} "
              f"{statistics.median(t[1] for t in times[way]):>8.2f} s {statistics.median(cpu):>7.3f} {max(cpu):>6.3f} "
              f"{count('written'):>12} {count('overwritten'):>14}")
        if way == "traced" and (statistics.median(wall) > MEDIAN or max(wall) > WORST):
            missed.append(f"run time median {statistics.median(wall):.3f} (target {MEDIAN}), worst {max(wall):.3f} (target {WORST})")
    if "traced" in recordings:
        if show_threads(recordings["traced"]):
            missed.append("words overwritten or events dropped (target 0)")
        if "JFR" in ways:
            beside_jfr(sampled, kept, recordings["traced"])
    print(f"  {name}: " + ("MISSED: " + "; ".join(missed) if missed else "all targets met"))
    return not missed


def beside_jfr(sampled, kept, recorded):
    threads, methods = jfr_samples(sampled, map_names(kept))
    print(f"  JFR: {sum(threads.values()):,} samples on {len(threads)} threads: "
          + ", ".join(f"{name} {n}" for name, n in sorted(threads.items(), key=lambda item: -item[1])[:4]))
    # JFR samples no waiting threads, while here waiting methods are open: the thread that ran most is compared.
    busiest = max(threads, key=lambda name: threads[name])
    own, methods = own_top(recorded, busiest), methods.get(busiest, {})
    ours = sorted(own, key=lambda m: -own[m])[:10]
    theirs = sorted(methods, key=lambda m: -methods[m])[:10]
    print(f"  the ten methods with most self time of {busiest}: {len(set(ours) & set(theirs))} of 10 are in both lists; of JFR's ten "
          f"{len(set(theirs) & set(sorted(own, key=lambda m: -own[m])[:30]))} are in our first 30")
    total_own, total_theirs = sum(own.values()) or 1, sum(methods.values()) or 1
    for left, right in zip(ours + [""] * (10 - len(ours)), theirs + [""] * (10 - len(theirs))):
        cell = lambda m, of, total: f"{of[m] / total:>6.1%} {short(m):<52}" if m else " " * 59
        print(f"    {cell(left, own, total_own)} {cell(right, methods, total_theirs)}".rstrip())


def short(method):
    """Class and method without packages."""
    parts = method.split(".")
    return re.sub(r"^(.{49}).{4,}$", r"\1...", ".".join(parts[-2:]))


def main():
    anrscope, tool, data, work, *rest = sys.argv[1:]
    options = dict(zip(rest[::2], rest[1::2]))
    pairs = int(options.get("--pairs", "5"))
    ways = [way.strip() for way in options["--ways"].split(";")] if "--ways" in options else list(WAYS)
    wanted = options.get("--only", "").lower().split(",")
    good = True
    for name, arguments in programs(os.path.realpath(data), work):
        if any(word in name.lower() for word in wanted):
            good &= program(name, arguments, (anrscope, tool), data, work, pairs, ways)
    print("\nprograms: " + ("all targets met" if good else "NOT ALL TARGETS MET"))


main()
