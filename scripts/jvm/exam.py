#!/usr/bin/env python3
"""Runs the labelled programs of tests/exam, asks anrscope in four ways what hangs, and compares the answers with the labels.

exam.py [--again | --recorded] ARCHIVE JAVA-HOME OUT [NAME...]

ARCHIVE has programs in Java, and in Kotlin: those with libraries (coroutines, RxJava) get the jars of the test data.

Each program runs twice, two programs at a time: once under `anrscope jvm`, ended as its label says, and once plain. Of the plain run, 5.5 s
after `hang begins` (12 s after `ready` if it is healthy), jstack and kill -3 give a dump each, and `anrscope attach` records a second. OUT
receives what each way printed, and results.jsonl; a table of the figures and a line for each wrong answer go to the output.

With --recorded only the first of the two runs is made. With --again nothing runs: report and dump are asked once more about the
recordings and dumps in OUT.
"""
import collections, concurrent.futures, contextlib, json, os, re, shlex, signal, subprocess, sys, tarfile, tempfile, threading, time

PROGRAM = os.environ["ANRSCOPE_PROGRAM"]
WAYS = ("recording", "attach", "kill-3", "jstack")
# Seconds from `hang begins` to the questions, and to the signal that ends the run; of a healthy program from `ready`.
ASKED, ENDED, HEALTHY_ASKED, HEALTHY_ENDED = 5.5, 9.0, 12.0, 15.0
# A program that prints neither in this time is broken.
PATIENCE = 60.0
AT_ONCE = 2


def jar(name):
    return f"{os.environ['ANRSCOPE_TEST_DATA']}/instrument/{name}.jar"


# What the programs with libraries use, and what compiles those in Kotlin: scripts/install-test-needs fetches them.
LIBRARIES = [jar(name) for name in ("kotlin-stdlib", "kotlin-coroutines", "rxjava", "reactive-streams", "guava")]
KOTLIN = ("compiler", "stdlib", "script", "reflect", "coroutines", "daemon", "annotations")

# The causes of anrscope that are an answer for a label's kind.
CAUSES = {
    "barrier-wait": {"future-wait"},
    "busy": {"busy-method", "yield-spin"},
    "child-process": {"process-wait"},
    "class-init": {"class-loading", "lock-wait", "deadlock", "pool-deadlock", "self-made-deadlock"},
    "console": {"console-read"},
    "cpu-starved": {"cpu-starvation", "cpu-own-threads", "cpu-other-processes", "cpu-limit"},
    "deadlock": {"deadlock", "deadlock-elsewhere", "self-made-deadlock", "pool-deadlock"},
    "disk": {"disk-io", "fsync", "uninterruptible-io"},
    "file-io": {"disk-io", "fsync", "uninterruptible-io"},
    "file-lock": {"disk-io"},
    "exception-storm": {"busy-method", "exception-storm"},
    "future-wait": {"future-wait", "run-blocking"},
    "gc": {"gc", "memory-pressure"},
    "hash-collision": {"busy-method"},
    "infinite-loop": {"busy-method", "yield-spin"},
    "io": {"disk-io", "fsync", "uninterruptible-io"},
    "join-wait": {"thread-join"},
    "latch-wait": {"future-wait", "latch-never-counted-down"},
    "lock-convoy": {"lock-wait"},
    "lock-wait": {"lock-wait"},
    "memory": {"gc", "memory-pressure"},
    "network": {"network-io"},
    "object-wait": {"object-wait", "lost-wake-up"},
    "park": {"future-wait", "park", "lost-wake-up"},
    "permit-wait": {"permit-wait", "future-wait"},
    "pool-exhausted": {"pool-exhausted", "self-made-deadlock"},
    # Authors call a wait for the end of a pool so (`awaitTermination`), or a wait for a thread of one.
    "pool-wait": {"future-wait", "pool-exhausted", "self-made-deadlock"},
    "queue-wait": {"future-wait"},
    "sleep": {"sleep"},
}
# What no page calls a hang.
NO_HANG = {"no-hang", "recovered"}


def says_hang(answer, of_time):
    """True if a page says that something hangs. A dump of a moment, not of a time, cannot know: without certainty it claims nothing."""
    claims = answer["hung"] and not answer.get("if_due") and (of_time or answer["confidence"] == "high")
    return claims and answer["cause"] != "idle"


class Label:
    """The head of a program."""

    def __init__(self, path):
        with open(path, encoding="utf-8") as source:
            heads = re.findall(r"^// (\w+): *(.*?) *$", source.read().split("\nimport ")[0], re.M)
        self.values = dict(heads)
        self.name = os.path.basename(path).rsplit(".", 1)[0]
        self.family = os.path.basename(os.path.dirname(path))
        self.path = path
        self.is_kotlin = path.endswith(".kt")

    def __getitem__(self, key):
        value = self.values.get(key, "-")
        return "" if value == "-" else value

    @property
    def hangs(self):
        return self["label"] == "hang"

    @property
    def causes(self):
        kinds = [kind.strip() for kind in [self["kind"], *self["also"].split(",")]]
        return set().union(*(CAUSES[kind] for kind in kinds if kind))

    @property
    def methods(self):
        """Where a good engineer would look: the label's method, and others that are as right."""
        return [simple(method.strip()) for method in [self["method"], *self["or"].split(",")] if method.strip()]

    @property
    def threads(self):
        return [thread.strip() for thread in self["thread"].split(",") if thread.strip()]

    @property
    def culprits(self):
        return [thread.strip() for thread in self["culprit"].split(",") if thread.strip() not in ("", *self.threads)]


class Run:
    """A run of a program, with its output and the time of each of its marks."""

    def __init__(self, command, work, environment=None):
        self.marks, self.lines, self.marked = {}, [], threading.Condition()
        # The signals that end it may be ignored here, as by nohup; its console is open; and a stack on stderr must not tear a mark.
        begin = lambda: [signal.signal(number, signal.SIG_DFL) for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM)]
        self.process = subprocess.Popen(command, cwd=work, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                                        errors="replace", preexec_fn=begin, start_new_session=True, env=environment)
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            with self.marked:
                self.lines.append(line)
                if line.strip() in ("ready", "hang begins", "hang ends"):
                    self.marks.setdefault(line.strip(), time.monotonic())
                self.marked.notify_all()
        with self.marked:
            self.marks["end"] = time.monotonic()
            self.marked.notify_all()

    def wait_for(self, mark):
        """Whether the mark came before the program's end."""
        with self.marked:
            self.marked.wait_for(lambda: mark in self.marks or "end" in self.marks, PATIENCE)
            return mark in self.marks

    def sleep_until(self, mark, seconds):
        """Waits until so long after the mark. Returns whether the program still runs."""
        end = self.marks[mark] + seconds
        with self.marked:
            self.marked.wait_for(lambda: "end" in self.marks, max(0, end - time.monotonic()))
            return "end" not in self.marks

    def end(self, how, pid):
        if how == "exit" and self.finished(PATIENCE):
            return
        below = children(self.process.pid)
        os.kill(pid, getattr(signal, "SIG" + ("KILL" if how == "exit" else how)))
        if not self.finished(30):
            for left in [*below, self.process.pid]:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(left, signal.SIGKILL)
            self.finished(30)

    def finished(self, seconds):
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        self.reader.join(10)
        return True


def children(pid):
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                with open(f"/proc/{entry}/stat") as stat:
                    if int(stat.read().rsplit(")", 1)[1].split()[1]) == pid:
                        found.append(int(entry))
            except (OSError, ValueError):
                pass
    return found


def jvm_below(pid):
    """The JVM that `anrscope jvm` started: the first of its children whose program is java."""
    for child in children(pid):
        try:
            if os.path.basename(os.readlink(f"/proc/{child}/exe")) == "java":
                return child
        except OSError:
            pass
    return pid


def answer_of(text):
    """The answer of a page in JSON."""
    document = json.loads(text)
    pages = document.get("reports") or document.get("files") or [document]
    page = next((page for page in pages if page["answer"]["verdict"] not in NO_HANG), pages[0])
    # A page without a hang answers for the thread that hung if the end of its wait was due.
    hung = page["answer"]["verdict"] not in NO_HANG
    answer = page["answer"] if hung or not page.get("if_due") else page["if_due"]
    root = answer["root"] or {}
    return {
        "hung": hung or answer is not page["answer"],
        "if_due": answer is not page["answer"],
        "cause": answer["cause"]["id"],
        "confidence": answer["cause"]["confidence"],
        "thread": (answer.get("thread") or {}).get("name"),
        "root": root.get("name"),
        "line": root.get("line"),
        "mostly": (answer["mostly"] or answer["around"] or {}).get("name"),
        "owner_in": next(((owner["root"] or {}).get("name") for owner in answer["owners"]), None),
        "duration_ms": (answer["duration_ns"] or 0) // 1_000_000,
        "says_why": bool(answer["not_shown"] or page.get("idle")),
    }


# Causes by their names, as the pages write them.
with open(os.path.dirname(os.path.abspath(__file__)) + "/../../docs/causes.md", encoding="utf-8") as causes:
    NAMES = {name.lower(): cause for cause, name in re.findall(r"^\| `([\w-]+)` \| ([^|]+?) \|", causes.read(), re.M)}


def attached(printed):
    """The answer of `anrscope attach`, which has no JSON."""
    cause = re.search(r"^\s+Cause +(.+?) \((\w+) confidence\)", printed, re.M)
    root = re.search(r"^\s+In +(\S+)", printed, re.M)
    thread = re.search(r"^anrscope: (?:no call began (?:while it was recorded|in a traced class); )?(?:no thread hangs, unless this wait was to end; )?(.+?)(?:, by a thread dump:| did not come on in | hung for | when the recording began, by a)", printed, re.M)
    mostly = re.search(r"^\s+In .+, (?:mostly|again and again in) (\S+)", printed, re.M)
    owner = re.search(r"^\s+Lock owner .+ owns .+: (\S+) \(", printed, re.M)
    unseen = re.search(r"^\s+Not shown ", printed, re.M)
    if_due = "unless this wait was to end" in printed
    name = cause.group(1).strip() if cause else None
    return {
        "hung": bool(cause),
        "cause": NAMES.get(name.lower(), name) if name else None,
        "confidence": cause.group(2) if cause else None,
        "thread": thread.group(1) if thread else None,
        "root": root.group(1) if root else None,
        "mostly": mostly.group(1) if mostly else None,
        "owner_in": owner.group(1) if owner else None,
        "if_due": if_due,
        "says_why": bool(unseen) or if_due,
    }


def anrscope(*arguments, timeout=120):
    return subprocess.run([PROGRAM, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace", timeout=timeout)


def asked_of_file(out, name, *arguments):
    done = anrscope(*arguments, "--json")
    with open(f"{out}/{name}.json", "w") as file:
        file.write(done.stdout)
    if done.returncode != 0:
        return {"error": done.stderr.strip()[-300:]}
    return answer_of(done.stdout)


class Examined:
    """A program and its answers, one for each way."""

    def __init__(self, label, home, classes, out):
        self.label, self.home = label, home
        self.out = f"{out}/{label.own}"
        self.answers, self.note = {}, ""
        os.makedirs(self.out, exist_ok=True)
        main = label.name + "Kt" if label.is_kotlin else label.name
        self.java = [home + "/bin/java", *shlex.split(label["options"]), "-cp", ":".join([f"{classes}/{label.directory}", *LIBRARIES]), main]

    def mark(self):
        return ("hang begins", ASKED, ENDED) if self.label.hangs else ("ready", HEALTHY_ASKED, HEALTHY_ENDED)

    def run(self, mode):
        try:
            if mode == "--again":
                self.ask_again()
            else:
                self.run_recorded()
                if mode != "--recorded":
                    self.run_plain()
        except Exception as failed:
            self.note = f"{type(failed).__name__}: {failed}"
        return self

    def ask_again(self):
        self.ask_of_recording()
        if os.path.exists(self.out + "/jstack.txt"):
            self.ask_of_dumps()
            with open(self.out + "/attach.txt") as file:
                self.answers["attach"] = attached(file.read())

    def ask_of_recording(self):
        self.answers["recording"] = asked_of_file(self.out, "report", "report", self.out + "/run.anrscope")

    def ask_of_dumps(self):
        for way in ("kill-3", "jstack"):
            self.answers[way] = asked_of_file(self.out, way, "dump", f"{self.out}/{way}.txt")

    def run_recorded(self):
        trace = self.out + "/run.pftrace"
        run = Run([PROGRAM, "jvm", "--out", trace, "--", *self.java], self.out)
        mark, _, ended = self.mark()
        if run.wait_for(mark):
            pid = jvm_below(run.process.pid)
            if self.label["ends"] == "exit" or run.sleep_until(mark, ended):
                run.end(self.label["ends"] or "exit", pid)
        run.end("exit", run.process.pid)
        self.keep("run.txt", run)
        self.ask_of_recording()

    def run_plain(self):
        run = Run(self.java, self.out)
        mark, asked, ended = self.mark()
        pid = run.process.pid
        if run.wait_for(mark) and run.sleep_until(mark, asked):
            with open(self.out + "/jstack.txt", "w") as file:
                subprocess.run([self.home + "/bin/jstack", "-l", str(pid)], stdout=file, stderr=subprocess.STDOUT, timeout=30)
            before = len(run.lines)
            os.kill(pid, signal.SIGQUIT)
            time.sleep(0.4)
            with open(self.out + "/kill-3.txt", "w") as file:
                file.writelines(run.lines[before:])
            done = anrscope("attach", str(pid), "--for", "1s", "-o", self.out + "/attach.pftrace")
            with open(self.out + "/attach.txt", "w") as file:
                file.write(done.stdout + done.stderr)
            self.ask_of_dumps()
            self.answers["attach"] = attached(done.stderr) if done.returncode == 0 else {"error": done.stderr.strip()[-300:]}
            if self.label["ends"] == "exit" or run.sleep_until(mark, ended):
                run.end(self.label["ends"] or "exit", pid)
        run.end("exit", pid)
        self.keep("plain.txt", run)

    def keep(self, name, run):
        with open(f"{self.out}/{name}", "w") as file:
            file.writelines(run.lines)

    def grade(self, way):
        """right, if due (right if the wait was to end, which the page leaves open), vague (the cause without thread or root), unknown,
        wrong, missed; of a healthy program right or hung."""
        answer = self.answers.get(way)
        if answer is None or "error" in answer:
            return "failed"
        if not self.label.hangs:
            return "hung" if says_hang(answer, way == "recording") else "right"
        if not answer["hung"]:
            return "missed"
        if answer.get("if_due"):
            return "if due" if answer["cause"] in self.causes_of(way) and self.names_place(answer) else "missed"
        if answer["cause"] == "unknown":
            return "unknown"
        if answer["cause"] not in self.causes_of(way):
            return "wrong"
        return "right" if self.names_place(answer) else "vague"

    def causes_of(self, way):
        # No dump has a coroutine that is suspended.
        return self.label.causes | ({"run-blocking"} if way != "recording" and self.label["suspended"] else set())

    def agree(self):
        """Whether all ways give one cause; `says_why` if they do but for those that say what they cannot see."""
        answers = [self.answers.get(way) or {} for way in WAYS]
        if len({answer.get("cause") for answer in answers}) == 1:
            return "agree"
        certain = {answer.get("cause") for answer in answers if not answer.get("says_why")}
        return "says_why" if len(certain) <= 1 else "differ"

    def names_place(self, answer):
        """Whether the answer names a method of the label, or for an answer without a root one of its threads."""
        methods, root = self.label.methods, answer.get("root")
        first, *others = self.label.threads or ["*"]
        # Of several threads a label has the method of the first one; and of a culprit, which has others wait, it has none.
        others = [thread for thread in others if not fits(first, thread)] + self.label.culprits
        is_other = any(fits(thread, answer.get("thread")) for thread in others)
        if methods and root and not is_other:
            # Of a loop pages name the call that lasts and the one that it mostly is in, or the one that repeats what throws; of a
            # lock also where its owner is.
            named = (root, answer.get("mostly"), answer.get("owner_in"))
            return any(simple(name) in methods for name in named if name)
        return is_other or fits(first, answer.get("thread"))


def simple(method):
    """`a.b.Order$Book.lambda$run$0` is `run`'s, of Book."""
    method = re.sub(r"lambda\$(\w+)\$\d+", r"\1", method)
    parts = re.split(r"[.$]", method)
    return ".".join(parts[-2:])


def fits(wanted, thread):
    return thread is not None and re.fullmatch(re.escape(wanted).replace(r"\*", ".*"), thread) is not None


def able_to_run(labels, home):
    version = int(re.search(r'"(\d+)', subprocess.run([home + "/bin/java", "-version"], stderr=subprocess.PIPE, text=True).stderr).group(1))
    return [label for label in labels if int(label["java"] or 17) <= version]


def compile_all(labels, home, classes):
    """Compiles each program in Java by itself, since two may have a class of one name, and those in Kotlin together: that is slow."""
    compile_of = lambda directory: compile_into(f"{classes}/{directory}", [each for each in labels if each.directory == directory], home)
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(compile_of, sorted({label.directory for label in labels})))


def compile_into(classes, labels, home):
    os.makedirs(classes)
    in_java = [label.path for label in labels if not label.is_kotlin]
    in_kotlin = [label.path for label in labels if label.is_kotlin]
    path = ":".join(LIBRARIES)
    if in_java:
        subprocess.run([home + "/bin/javac", "-g", "-nowarn", "-cp", path, "-d", classes, *in_java], check=True, stderr=subprocess.DEVNULL)
    if in_kotlin:
        compiler = ":".join(jar("kotlin-" + part) for part in KOTLIN)
        kotlinc = ["-cp", compiler, "org.jetbrains.kotlin.cli.jvm.K2JVMCompiler", "-no-stdlib", "-no-reflect", "-nowarn"]
        subprocess.run([home + "/bin/java", "-Xss4m", *kotlinc, "-cp", path, "-d", classes, *in_kotlin], check=True, stderr=subprocess.DEVNULL)


def table(done):
    hangs = [each for each in done if each.label.hangs]
    healthy = [each for each in done if not each.label.hangs]
    grades = ("right", "if due", "vague", "unknown", "wrong", "missed", "failed")
    lines = [f"| {len(hangs)} hangs | " + " | ".join(grades) + " | wrong, high | healthy called hung |", "| --- |" + " ---: |" * 9]
    for way in WAYS:
        count = collections.Counter(each.grade(way) for each in hangs)
        high = sum(each.grade(way) == "wrong" and each.answers[way]["confidence"] == "high" for each in hangs)
        # One that has ended before it was asked says nothing.
        of_healthy = [each.grade(way) for each in healthy if each.grade(way) != "failed"]
        hung = f"{of_healthy.count('hung')} of {len(of_healthy)}"
        lines.append(f"| {way} | " + " | ".join(str(count[grade]) for grade in grades) + f" | {high} | {hung} |")
    agree = collections.Counter(each.agree() for each in hangs)
    lines.append(f"\nThe four ways give one cause in {agree['agree']} of {len(hangs)}; in {agree['says_why']} more those that differ say what "
                 "they cannot see.")
    return "\n".join(lines)


def main():
    arguments = sys.argv[1:]
    mode = arguments.pop(0) if arguments[0] in ("--again", "--recorded") else ""
    archive, home, out, *names = arguments
    os.makedirs(out, exist_ok=True)
    with tempfile.TemporaryDirectory() as work:
        with tarfile.open(archive) as packed:
            packed.extractall(work, filter="data")
        paths = sorted(os.path.join(at, file) for at, _, files in os.walk(work) for file in files if file.endswith((".java", ".kt")))
        labels = [label for label in map(Label, paths) if not names or label.name in names]
        # Of two programs with one name the second one is by itself.
        known = set()
        for label in labels:
            label.own = f"{label.family}-{label.name}" if label.name in known else label.name
            label.directory = "kotlin" if label.is_kotlin and label.name not in known else label.own
            known.add(label.name)
        if not labels:
            return
        able = able_to_run(labels, home)
        if mode != "--again":
            compile_all(able, home, work + "/classes")
        if len(able) < len(labels):
            print(f"{len(labels) - len(able)} programs need a newer javac and are left out", file=sys.stderr)
        done = []
        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool, open(out + "/results.jsonl", "w") as results:
            for each in pool.map(lambda label: Examined(label, home, work + "/classes", out).run(mode), able):
                done.append(each)
                grades = {way: each.grade(way) for way in WAYS}
                results.write(json.dumps({"name": each.label.name, "family": each.label.family, "label": each.label.values, "grades": grades,
                                          "answers": each.answers, "note": each.note}) + "\n")
                results.flush()
                if sys.stderr.isatty():
                    print(f"\r{len(done)} of {len(able)}", end="", file=sys.stderr)
                for way, grade in grades.items():
                    if grade not in ("right", "if due") and way in each.answers:
                        print(f"{each.label.family}/{each.label.name} {way}: {grade}: {json.dumps(each.answers.get(way))} {each.note}", flush=True)
        print("\n" + table(done))


if __name__ == "__main__":
    main()
