"""Generates methods with each form of inserted call, and compares their outcomes plain and traced (brim.py)."""
import collections, math, os, random, re, shutil
from programs import HERE, write

SEED = 37
# Outermost methods, and those in a class. With their helpers, constructors and lambdas they are more than twice as many.
METHODS, IN_CLASS = 96, 16
# Classes whose static initializers run near the end of the stack, each in one descent.
INITIALIZERS = 40
# Ints in the log for a method.
ROOM = 256
RECORDER = "the recorder"
# What makes methods of the plain program need more stack, as inserted calls do: nothing, calls with so many arguments, and so many frames where a method begins. A method
# that takes locks, for example, asks for room there, so that it overflows before it holds one.
ARGUMENTS = 1, 2, 4, 8, 12, 16
FRAMES = 1, 2, 4, 8, 12, 20, 30
# How many of the methods of a build.
SHARES = 0.05, 0.2, 0.5
# The plain program is compiled in each of these ways. A traced method is longer, so that it is inlined elsewhere, and its calls meet the end of the stack elsewhere.
PADDED = "-XX:CompileCommand=quiet", "-XX:CompileCommand=dontinline,Shared.pad", "-XX:CompileCommand=dontinline,Shared.descend"
COMPILED = [], ["-XX:-Inline"], ["-XX:TieredStopAtLevel=1"], ["-XX:MaxInlineSize=20", "-XX:FreqInlineSize=80"]

RETURNS = {"int": ("v", "v + 1"), "long": ("(int) v", "v + 2L"), "float": ("(int) v", "v + 3f"), "double": ("(int) v", "v + 4d"), "Object": ("v == Shared.REFERENCE ? 5 : 6", "Shared.REFERENCE"),
           "int[]": ("v[0]", "Shared.ARRAY"), "void": (None, None)}


class Source:
    """One build of the methods. `padding` makes their frames larger, as inserted calls do, and `control` adds a call that throws on purpose after each lock is taken."""

    def __init__(self, padding=0, control=False):
        self.random, self.padding, self.control = random.Random(SEED), random.Random(padding) if padding else None, control
        self.share = SHARES[padding % len(SHARES)]
        self.owners = collections.defaultdict(list)
        self.members, self.names, self.number, self.method, self.rare = [], 0, 0, 0, collections.Counter()
        self.monitors = []

    # What a method uses: each use has an object of its own, created before each descent.
    def slot(self, kind):
        self.owners[kind].append(self.method)
        return "Shared.%s[%d]" % (kind, len(self.owners[kind]) - 1)

    def name(self, prefix):
        self.names += 1
        return "%s%d" % (prefix, self.names)

    def log(self):
        self.number += 1
        return ["Shared.log[Shared.at++] = %d;" % self.number]

    def value(self, expression):
        name = self.name("v")
        return ["int %s = %s;" % (name, expression), "Shared.log[Shared.at++] = %s;" % name]

    def pad(self):
        if not self.padding or self.padding.random() > self.share:
            return ""
        # A compiler drops local variables that nothing reads, and keeps room for the arguments of a call.
        return self.padding.choice(["Shared.pad(%s);" % ", ".join(["0L"] * self.padding.choice(ARGUMENTS)), "Shared.descend(%d);" % self.padding.choice(FRAMES)])

    def body(self, depth, retried, most=3):
        lines = []
        for _ in range(self.random.randint(1, most)):
            lines += self.statement(depth, retried)
        return lines

    def guarded(self, before, inside, after):
        return [before + (" dev.anrscope.Inserted.call();" if self.control else ""), "try {", *inside, "} finally {", after, *self.log(), "}"]

    def seldom(self, what, most):
        """What waits a millisecond or starts a thread stands in few methods."""
        self.rare[what] += 1
        return self.rare[what] <= most

    def statement(self, depth, retried):
        leaf = [self.log, self.call_helper, self.queue, self.constructor, self.waits, self.waits, self.tasks, self.tasks, self.future]
        nested = [self.lock, self.lock, self.lock, self.semaphore, self.read_write, self.stamped, self.monitor, self.condition, self.catches, self.fails, self.loop, self.branch]
        choice = self.random.choice(leaf if depth <= 0 else leaf + nested * 2)
        return choice() if choice in leaf else choice(depth - 1, retried)

    def lock(self, depth, retried):
        lock, inside, form = self.slot("lock"), self.body(depth, retried), self.random.randrange(4)
        after = lock + ".unlock();"
        if form == 0:
            return self.guarded(lock + ".lock();", inside, after)
        if form == 1:
            return self.guarded(lock + ".lockInterruptibly();", inside, after)
        call = "tryLock()" if form == 2 else "tryLock(1, TimeUnit.NANOSECONDS)"
        return ["if (%s.%s) {" % (lock, call), "try {", *inside, "} finally {", after, "}", "}"]

    def semaphore(self, depth, retried):
        semaphore, inside = self.slot("semaphore"), self.body(depth, retried)
        take, give = self.random.choice([("acquire()", "release()"), ("acquireUninterruptibly()", "release()"), ("acquire(2)", "release(2)"), ("tryAcquire()", "release()")])
        return self.guarded("%s.%s;" % (semaphore, take), inside, "%s.%s;" % (semaphore, give))

    def read_write(self, depth, retried):
        lock = "%s.%sLock()" % (self.slot("readWrite"), self.random.choice(["read", "write"]))
        return self.guarded(lock + ".lock();", self.body(depth, retried), lock + ".unlock();")

    def stamped(self, depth, retried):
        lock, stamp, form = self.slot("stamped"), self.name("stamp"), self.random.choice(["Write", "Read"])
        # It is not reentrant: what took it and overflowed cannot take it again.
        inside = self.guarded("long %s = %s.try%sLock();" % (stamp, lock, form) if retried else "long %s = %s.%sLock();" % (stamp, lock, form.lower()), self.body(depth, retried),
                              "if (%s != 0) { %s.unlock%s(%s); }" % (stamp, lock, form, stamp))
        return ["{", *inside, "}"]

    def monitor(self, depth, retried):
        return ["synchronized (%s) {" % self.slot("monitor"), *self.body(depth, retried), "}"]

    def condition(self, depth, retried):
        lock = self.slot("lock")
        return self.guarded(lock + ".lock();", ["%s.signalAll();" % lock.replace("lock[", "condition["), *self.body(depth, retried)], lock + ".unlock();")

    def catches(self, depth, retried):
        kind, error = self.random.choice(["StackOverflowError", "VirtualMachineError", "Throwable"]), self.name("e")
        end = ["} finally {", *self.log(), "}"] if self.random.random() < 0.4 else ["}"]
        again = self.random.choice([self.log, self.call_helper])()
        return ["try {", *self.body(depth, True), "} catch (%s %s) {" % (kind, error), "if (Shared.caught[%d] == null) { Shared.caught[%d] = %s; }" % (self.method, self.method, error),
                *self.log(), *again, *end]

    def fails(self, depth, retried):
        """An exception that passes a helper and a finally block."""
        helper = self.name("fail")
        self.members.append(["static void %s(int a) throws Exception {" % helper + self.pad(), *self.body(min(depth, 1), retried, 2), "throw Shared.FAILURE;", "}"])
        return ["try {", "%s(1);" % helper, "} catch (Shared.Failure expected) {", *self.log(), "} finally {", *self.log(), "}"]

    def loop(self, depth, retried):
        name = self.name("k")
        return ["for (int %s = 0; %s < 2; %s++) {" % (name, name, name), *self.body(min(depth, 1), True, 2), "}"]

    def branch(self, depth, retried):
        return ["switch (Shared.at & 1) {", "case 0:", *["{"], *self.body(depth, retried, 2), "}", "break;", "default:", *self.log(), "break;", "}"]

    def call_helper(self):
        """A helper of each type, kind of method and number of arguments; its call stands in the middle of an expression."""
        kind, name = self.random.choice(list(RETURNS)), self.name("help")
        shown, result = RETURNS[kind]
        form = self.random.choice(["static", "static synchronized", "", "synchronized"])
        parameters, arguments = self.random.choice([("", ""), ("int a", "1"), ("long a, int b", "2L, 3"), ("double a, Object b, float c", "1d, null, 2f")])
        declared = {"int": "int v = 1;", "long": "long v = 2;", "float": "float v = 3;", "double": "double v = 4;"}.get(kind, "")
        inner = [*self.body(0, True, 2)] if self.random.random() < 0.8 else self.log()
        method = ["%s %s %s(%s) throws Exception {%s" % (form, kind, name, parameters, declared + self.pad()), *inner, "return %s;" % result if result else "", "}"]
        if form == "static":
            self.members.append(method)
            call = "%s(%s)" % (name, arguments)
        else:
            holder = self.name("Holder")
            self.members.append(["static final class %s {" % holder, *method, "}"])
            if "static" in form:
                self.monitors.append((self.method, holder))
                call = "%s.%s(%s)" % (holder, name, arguments)
            else:
                slot = self.slot("instance")
                self.instances.append(holder)
                call = "((%s) %s).%s(%s)" % (holder, slot, name, arguments)
        if kind == "void":
            return [call + ";", *self.log()]
        temporary = self.name("t")
        # The types that can stand beside others on the operand stack do.
        if kind in ("int", "long", "float", "double"):
            return self.value("(int) (Shared.three + %s * 2 + Shared.ARRAY[0])" % call)
        return ["%s %s = %s;" % (kind, temporary, call), *self.value(re.sub(r"\bv\b", temporary, shown))]

    def queue(self):
        queue = self.slot("queue")
        call = self.random.choice(["%s.take()", "%s.poll(1, TimeUnit.NANOSECONDS)", "%s.poll()"]) % queue
        if self.random.random() < 0.3:
            return ["%s.put(7);" % queue, *self.log()]
        return self.value("Shared.ARRAY[0] + (Integer) %s * 3" % call)

    def constructor(self):
        """Arguments that wait, a super constructor that logs, and `this(...)`."""
        base, name, lock, queue = self.name("Base"), self.name("Made"), self.slot("lock"), self.slot("queue")
        self.members.append(["static class %s {" % base, "final int base;", "%s(int a) throws Exception {" % base + self.pad(), *self.body(0, True, 2), "base = a;", "}", "}",
                             "static final class %s extends %s {" % (name, base), "int more;", "%s(int a, long b) throws Exception {" % name, "super(%s(a));" % ("side" + name), self.pad(),
                             *self.body(1, True, 2), "more = (int) b;", "}", "%s(boolean a, Object b) throws Exception {" % name, "this(a ? 1 : 2, (Integer) b);", *self.log(), "}",
                             "static int side%s(int a) {" % name + self.pad(), *self.log(), "return a + 1;", "}", "}"])
        made = self.name("made")
        return ["try {", "%s %s = new %s(%s.tryLock(), %s.take());" % (name, made, name, lock, queue), *self.value("%s.base + %s.more" % (made, made)),
                "} finally {", "if (%s.isHeldByCurrentThread()) {" % lock, "%s.unlock();" % lock, "}", "}"]

    def waits(self):
        form = self.random.choice(["park", "join", "latch", "get", "timed get", "offer", "sleep", "wait", "thread"])
        if form == "wait" and self.seldom("wait", 3):
            monitor = self.slot("monitor")
            return ["synchronized (%s) {" % monitor, "%s.wait(1);" % monitor, *self.log(), "}"]
        if form == "thread" and self.seldom("thread", 3):
            name = self.name("thread")
            return ["Thread %s = new Thread(Shared::nothing);" % name, "%s.start();" % name, "%s.join();" % name, *self.log()]
        if form == "sleep" and self.seldom("sleep", 2):
            return ["Thread.sleep(1);", *self.log()]
        if form == "park" and self.seldom("park", 8):
            return ["LockSupport.parkNanos(1);", *self.log()]
        lines = {"join": "Shared.ENDED.join();", "latch": "Shared.OPEN.await();", "get": "Shared.READY.get();",
                 "timed get": "Shared.READY.get(1, TimeUnit.NANOSECONDS);", "offer": "%s.offer(3);" % self.slot("queue")}
        return [lines.get(form, "Thread.yield();"), *self.log()]

    def tasks(self):
        body = self.pad() + " " + " ".join(self.log())
        return [self.random.choice(["Shared.DIRECT.execute(() -> { %s });", "Shared.DIRECT.submit(() -> { %s });", "Shared.run(() -> { %s });"]) % body, *self.log()]

    def future(self):
        form = self.random.choice(["CompletableFuture.completedFuture(4).thenApply(x -> x + 2).get()", "CompletableFuture.supplyAsync(() -> 5, Shared.DIRECT).join()",
                                   "Shared.DIRECT.submit(() -> 6).get()"])
        return self.value(form)

    def classes(self):
        """The sources by their file's name."""
        files, self.instances = {}, []
        heads = "import java.util.concurrent.*;\nimport java.util.concurrent.locks.*;\n\n"
        for first in range(0, METHODS, IN_CLASS):
            text, run = [], []
            for self.method in range(first, first + IN_CLASS):
                self.number, self.members = 0, []
                body = self.body(2, False, 3)
                text += ["static void m%d() throws Exception {%s" % (self.method, self.pad()), *body, *self.log(), "}"]
                for member in self.members:
                    text += member
                run += ["Shared.at = %d;" % (self.method * ROOM), "try {", "m%d();" % self.method, "Shared.thrown[%d] = null;" % self.method, "} catch (Throwable thrown) {",
                        "Shared.thrown[%d] = thrown;" % self.method, "}", "Shared.end[%d] = Shared.at;" % self.method]
            name = "Group%d" % (first // IN_CLASS)
            files[name] = heads + "final class %s {\n%s\nstatic void run() {\n%s\n}\n}\n" % (name, "\n".join(text), "\n".join(run))
        self.method = METHODS
        for at in range(INITIALIZERS):
            self.number = 0
            files["Initialized%d" % at] = heads + "final class Initialized%d {\nstatic int value;\nstatic {\n%s\n}\n}\n" % (
                at, "\n".join([*self.log(), "Shared.initializing.lock();", "try {", *self.log(), "value = Shared.at;", "} finally {", "Shared.initializing.unlock();", "}", *self.log()]))
        files["Shared"] = heads + self.shared()
        return files

    def shared(self):
        kinds = {"lock": "ReentrantLock", "semaphore": "Semaphore", "readWrite": "ReentrantReadWriteLock", "stamped": "StampedLock", "monitor": "Object", "queue": "BlockingQueue<Object>",
                 "instance": "Object"}
        made = {"lock": "new ReentrantLock()", "semaphore": "new Semaphore(8)", "readWrite": "new ReentrantReadWriteLock()", "stamped": "new StampedLock()", "monitor": "new Object()"}
        is_held = {"lock": "lock[i].isLocked()", "semaphore": "semaphore[i].availablePermits() != 8", "readWrite": "readWrite[i].getReadLockCount() != 0 || readWrite[i].isWriteLocked()",
                   "stamped": "stamped[i].isReadLocked() || stamped[i].isWriteLocked()", "monitor": "Thread.holdsLock(monitor[i])", "instance": "Thread.holdsLock(instance[i])"}
        groups = METHODS // IN_CLASS
        owners = "\n".join("static final int[] %sOwner = {%s};" % (kind, ", ".join(map(str, self.owners[kind]))) for kind in is_held)
        fields = "\n".join("static final %s[] %s = new %s[%d];" % (kinds[kind], kind, kinds[kind].replace("<Object>", ""), len(self.owners[kind])) for kind in kinds)
        fresh = "\n".join("for (int i = 0; i < %s.length; i++) { %s[i] = %s; }" % (kind, kind, made[kind]) for kind in made)
        instances = "\n".join("instance[%d] = new Group%d.%s();" % (at, self.owners["instance"][at] // IN_CLASS, holder) for at, holder in enumerate(self.instances))
        held = "\n".join("for (int i = 0; i < %s.length; i++) { if (%sOwner[i] == method && (%s)) { text.append(\" %s\").append(i); } }" % (kind, kind, test, kind)
                         for kind, test in is_held.items())
        held_classes = "\n".join("if (method == %d && Thread.holdsLock(Group%d.%s.class)) { text.append(\" %s\"); }" % (method, method // IN_CLASS, holder, holder)
                                 for method, holder in self.monitors)
        chunks = [instances.splitlines()[at:at + 200] for at in range(0, len(self.instances), 200)]
        return """final class Shared {
static final class Failure extends Exception { Failure() { super("expected", null, false, false); } }
static final Failure FAILURE = new Failure();
static final Object REFERENCE = new Object();
static final int[] ARRAY = {9};
static final CountDownLatch OPEN = new CountDownLatch(0);
static final Thread ENDED = new Thread(Shared::nothing);
static final Future<Object> READY = CompletableFuture.completedFuture((Object) 1);
/** Runs what it is given at once: a pool's own state would not survive an overflow. */
static final class Direct extends AbstractExecutorService {
    public void execute(Runnable task) { task.run(); }
    public void shutdown() {}
    public java.util.List<Runnable> shutdownNow() { return null; }
    public boolean isShutdown() { return false; }
    public boolean isTerminated() { return false; }
    public boolean awaitTermination(long time, TimeUnit unit) { return true; }
}
static final Direct DIRECT = new Direct();
static final int COUNT = %(count)d, ROOM = %(room)d;
static final int[] log = new int[COUNT * ROOM];
static int at;
/** Stands on the operand stack below a call. */
static int three = 3;
static int descent;
static final int[] end = new int[COUNT];
static final Throwable[] thrown = new Throwable[COUNT];
static final Throwable[] caught = new Throwable[COUNT];
static ReentrantLock initializing;
static final Condition[] condition = new Condition[%(locks)d];
%(fields)s
%(owners)s
static void nothing() {}
%(pads)s
static void descend(int frames) { if (frames > 1) { descend(frames - 1); } }
static void run(Runnable task) { task.run(); }
static void load() throws Exception {
    ENDED.start();
    ENDED.join();
    for (int i = 0; i < %(initializers)d; i++) { Class.forName("Initialized" + i, false, Shared.class.getClassLoader()); }
}
@SuppressWarnings("unchecked")
static void fresh(int number) {
    descent = number;
    initializing = new ReentrantLock();
    java.util.Arrays.fill(end, -1);
    java.util.Arrays.fill(thrown, null);
    java.util.Arrays.fill(caught, null);
%(fresh)s
    for (int i = 0; i < condition.length; i++) { condition[i] = lock[i].newCondition(); }
    for (int i = 0; i < queue.length; i++) { queue[i] = new ArrayBlockingQueue<Object>(16, false, java.util.Arrays.asList(1, 2, 3, 4, 5, 6, 7, 8)); }
%(instances)s
}
%(makers)s
static String held(int method) {
    StringBuilder text = new StringBuilder();
    if (method == COUNT - 1 && initializing.isLocked()) { text.append(" initializing"); }
%(held)s
%(held_classes)s
    return text.toString();
}
static void initialize() {
    at = (COUNT - 1) * ROOM;
    if (descent < 0 || descent >= %(initializers)d) { return; }
    try {
        switch (descent) {
%(cases)s
        }
    } catch (Throwable error) { thrown[COUNT - 1] = error; }
    end[COUNT - 1] = at;
}
static void all() {
%(groups)s
    try { initialize(); } catch (Throwable tooDeep) { caught[COUNT - 1] = null; }
    if (end[COUNT - 1] < 0) { end[COUNT - 1] = descent < 0 || descent >= %(initializers)d ? (COUNT - 1) * ROOM : -1; }
}
static void allOfThem() {
    all();
}
}
""" % {"count": METHODS + 1, "room": ROOM, "locks": len(self.owners["lock"]), "fields": fields, "owners": owners, "fresh": fresh, "initializers": INITIALIZERS,
       "instances": "\n".join("make%d();" % at for at in range(len(chunks))), "pads": "\n".join("static void pad(%s) {}" % ", ".join("long p%d" % at for at in range(size)) for size in ARGUMENTS), "makers": "\n".join("static void make%d() {\n%s\n}" % (at, "\n".join(chunk)) for at, chunk in enumerate(chunks)),
       "held": held, "held_classes": held_classes, "cases": "\n".join("case %d: Initialized%d.value++; break;" % (at, at) for at in range(INITIALIZERS)),
       "groups": "\n".join("try { Group%d.run(); } catch (Throwable tooDeep) { thrown[%d] = null; }" % (group, group * IN_CLASS) for group in range(groups))}


def sources(directory, **how):
    """Writes a build's sources, and returns their names and the number of methods in them."""
    files = Source(**how).classes()
    methods = sum(len(re.findall(r"throws Exception \{|static \{|\(\) -> \{", text)) for text in files.values())
    return [write("%s/%s.java" % (directory, name), text) for name, text in files.items()] + [HERE + "/src/brim/Dive.java", HERE + "/src/brim/Methods.java"], methods


def steps(outcome):
    """What a method does in an outcome: the step after each that it logs, the error that leaves it, and the kind of each lock that it leaves held."""
    method, log, thrown, held, error = re.fullmatch(r"(\d+): log([ \d-]*); threw (\S+?)(?:; holds((?: \w+)+))?(?:[,;] (error from .*))?", outcome).groups()
    log = ["its start", *log.split(), "nothing more" if thrown == "nothing" else thrown]
    yield from ("%s: %s after %s" % (method, after, before) for before, after in zip(log, log[1:]))
    yield from ("holds a %s after an %s" % (re.sub(r"\d+$", "", lock), re.sub(r"line \d+", "the program", error)) for lock in (held or "").split())
    if error and not held:
        yield "%s: %s" % (method, error)


def steps_of(out, examples):
    """How often each step came; `examples` gets an outcome that has it, rather one whose error passes the recorder."""
    found = collections.Counter()
    for times, outcome, origin in re.findall(r"^outcome (\d+) (.*)\t(.*)$", out, re.M):
        for step in steps(outcome) if outcome[0].isdigit() else [outcome]:
            found[step] += int(times)
            if examples.get(step, ("", ""))[1] != RECORDER:
                examples[step] = outcome[-300:], origin
    return found


def compare(programs, javas, findings, modes, forms, each, quick, *control):
    """Two runs seldom have the same outcome where a method catches one overflow after another, so they are compared step by step: whether the plain program, too, goes
    from here to there, or leaves such a lock held. A value that a method logs is a step as well.

    Each run has some steps that no other has, since where an overflow meets a call depends on the size of every frame. So a traced run has a finding if a step of its own
    follows an error that passes the recorder, or if it has more steps of its own than every plain run has beside all other plain ones, by three standard deviations."""
    variants, more = (3, 3) if quick else (6, 8)
    mixes, rounds, warm_up = ("2", "2", "100") if quick else ("4", "6", "500")
    builds, examples = {}, {}

    def build(padding):
        if padding not in builds:
            builds[padding] = programs.compile("methods-%d" % padding, sources("%s/methods-%d" % (programs.work, padding), padding=padding)[0])
        return builds[padding]

    first, methods = sources(programs.work + "/methods-c", control=bool(control))
    changed = programs.compile("methods-control", first + list(control))
    ways = {"stack": (mixes, ["-XX:MaxJavaStackTraceDepth=48"]), "heap": (rounds, ["-Xmx32m", "-XX:+UseSerialGC"])}

    def run(java, form, mode, way, classes, seed=11, compiled=0):
        amount, options = ways[way]
        more = COMPILED[compiled % len(COMPILED)] if mode == "compiled" else []
        out = programs.run("plain" if form == "control" else form, java, classes, [*options, *modes[mode], *more, *PADDED],
                           ["Methods", way, amount, "0" if mode == "interpreted" else warm_up, str(seed)])
        found = steps_of(out, {} if form == "plain" else examples)
        if not found or "NOT ALL METHODS" in out or "HANGS" in out or "ENDED WITH" in out:
            findings.say("Methods with %s, %s, %s, %s: %s" % (java[0], form, mode, way, out[-600:]))
        return found

    total = 0
    for version, java in javas:
        for way in ways:
            examples.clear()
            plain_runs = [(java, "plain", mode, way, build(padding), 11, padding) for mode in modes for padding in range(variants if way == "stack" else 2)]
            traced_runs = [(java, form, mode, way, changed) for form in forms for mode in modes]
            results = each([lambda r=r: run(*r) for r in plain_runs + traced_runs])
            plain = [(mode, found) for (_, _, mode, *_), found in zip(plain_runs, results)]
            traced = dict(zip([(form, mode) for _, form, mode, _, _ in traced_runs], results[len(plain_runs):]))
            for extra in range(more):
                if set().union(*traced.values()) <= set().union(*(found for _, found in plain)):
                    break
                classes = build(variants + extra)
                plain += zip(modes, each([lambda mode=mode: run(java, "plain", mode, way, classes, 100 + extra, extra) for mode in modes]))
            known = sum((found for _, found in plain), collections.Counter())
            # Steps of one plain run alone.
            runs_with = collections.Counter(step for _, found in plain for step in found)
            chance = {mode: max(sum(runs_with[step] == 1 for step in found) for of, found in plain if of == mode) for mode in modes}
            for (form, mode), found in traced.items():
                new = collections.Counter({step: times for step, times in found.items() if step not in known})
                total += sum(found.values())
                recorders = sum(examples[step][1] == RECORDER for step in new)
                print("| generated | %s | %s | %s | %s | %d steps | %d different, plain %d | %d of its own, %d of them through the recorder, a plain run up to %d |"
                      % (version, form, mode, way, sum(found.values()), len(found), len(known), len(new), recorders, chance[mode]), flush=True)
                if recorders or len(new) > chance[mode] + 3 * math.sqrt(chance[mode] + 1):
                    shown = sorted(new.items(), key=lambda pair: (examples[pair[0]][1] != RECORDER, -pair[1]))[:6]
                    findings.say("Java %s, %s, %s, %s: %d steps of its own, such as\n%s"
                                 % (version, form, mode, way, len(new), "\n".join("        %d times %s (%s; first error from %s)" % (times, step, *examples[step]) for step, times in shown)))
    return "%d steps of %d generated methods" % (total, methods)

