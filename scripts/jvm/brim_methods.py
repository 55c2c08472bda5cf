"""Generates methods with each form of inserted call, and judges what they do near the end of the stack and with a full heap (brim.py).

What the program may do is known from its source. It is compiled once more with a call before and after each of its own calls (`woven`), and these fail at random, many
thousand times in each method: what comes after what in its log then is all that an error in one of its own calls can lead to. What a run near the end of the stack
does must be among that, with the recorder and without."""
import collections, contextlib, glob, os, random, re, subprocess
from brim_callers import ended_callers
from programs import HERE, javac, write

SEED = 37
# Outermost methods, and those in a class. With their helpers, constructors and lambdas they are more than twice as many.
METHODS, IN_CLASS = 96, 16
# Classes whose static initializers run near the end of the stack, each in one descent.
INITIALIZERS = 40
# Ints in the log for a method, and errors of one that are kept.
ROOM, ERRORS = 512, 32
# A traced method is inlined elsewhere, so the plain program is compiled in each of these ways. It only checks what is known from the source.
COMPILED = [], ["-XX:-Inline"], ["-XX:TieredStopAtLevel=1"]
# From Java 9 on HotSpot lets a method of the JDK that takes a lock end when the stack overflows in it, and throws at its return: the lock is held, and its caller is on
# top of the error, as if an inserted call had failed. Not here.
AT_ONCE = "-XX:+IgnoreUnrecognizedVMOptions", "-XX:StackReservedPages=0"
# C2 leaves out the allocation of an object that does not escape. If its code is dropped while such an object lives, the object is made then, and if there is no memory,
# HotSpot drops all frames of that code without running their handlers, and throws in their caller (`pop_frames_failed_reallocs` in its deoptimization.cpp). So a plain
# program skips its own `finally` blocks, and leaves their locks held. Not here.
NO_ESCAPE_ANALYSIS = "-XX:+IgnoreUnrecognizedVMOptions", "-XX:-DoEscapeAnalysis"
TRACES = "-XX:MaxJavaStackTraceDepth=48"
HEAD = re.compile(r"throws Exception \{$|^static (int \w+\(int a\) )?\{$")
# What is wrong on purpose in a control: a call that fails behind each lock, one before each release whose error is swallowed, a value that is another one.
CONTROLS = "fails", "swallows", "alters"

RETURNS = {"int": ("v", "v + 1"), "long": ("(int) v", "v + 2L"), "float": ("(int) v", "v + 3f"), "double": ("(int) v", "v + 4d"), "Object": ("v == Shared.REFERENCE ? 5 : 6", "Shared.REFERENCE"),
           "int[]": ("v[0]", "Shared.ARRAY"), "void": (None, None)}


QUEUED = range(1, 9)
# Without a call: that would need stack where the program may have none.
KEEP = "if (Shared.errorsAt[%(method)d] < Shared.ERRORS) { Shared.errors[%(method)d * Shared.ERRORS + Shared.errorsAt[%(method)d]++] = %(error)s; }"
MAY = "Shared.may();"
TAKES = r"\.(lock|lockInterruptibly|tryLock|acquire\w*|tryAcquire|writeLock|readLock|tryWriteLock|tryReadLock)\("
GIVES = r"\.unlock\w*\(|\.release\(|isHeldByCurrentThread\("
# With a full heap only these fail: lambdas and what takes them, a thread's start and the waits whose code differs from Java to Java. All else allocates nothing here, since
# nobody contends for a lock, nothing that is awaited is missing, and each number is one of those that the JDK keeps boxed.
ALLOCATES = r"\bnew |->|CompletableFuture|DIRECT|Thread |thread\d+\.|\.sleep|\.wait\(|parkNanos"
LOCK_SLOT = r"\b(lock|semaphore|readWrite|stamped)\[(\d+)\]"
# A method whose code is in a trace, as it is declared.
DECLARED = re.compile(r"^ *(?:[\w\[\]]+ )*((?:m|help|fail|sideMade|Base|Made)\d+)\([^;=]*\{$|^static \{$", re.M)


class Source:
    """The methods. With `woven` each of their own calls may fail, by the error of this name; with `control` they have something wrong on purpose."""

    def __init__(self, woven=None, control=None):
        self.random, self.woven, self.control = random.Random(SEED), woven, control
        self.owners = collections.defaultdict(list)
        self.members, self.names, self.number, self.method, self.rare = [], 0, 0, 0, collections.Counter()
        self.monitors = []
        # The methods in which each method is called, from the outermost on, and the values that may be logged, by method and number.
        self.chain, self.chains, self.values = [], {}, {}
        # The locks in the order in which they are made, and those that each encloses.
        self.locks, self.inner = [], {}

    # What a method uses: each use has an object of its own, created before each descent.
    def slot(self, kind):
        self.owners[kind].append(self.method)
        slot = "%s[%d]" % (kind, len(self.owners[kind]) - 1)
        # A monitor is never left held.
        self.locks += map("".join, re.findall(LOCK_SLOT, slot))
        return "Shared." + slot

    def name(self, prefix):
        self.names += 1
        return "%s%d" % (prefix, self.names)

    def log(self):
        self.number += 1
        return ["Shared.log[Shared.at++] = %d000;" % self.number]

    def value(self, expression, *allowed):
        name = self.name("v")
        self.number += 1
        self.values[self.method, self.number] = set(allowed)
        altered = " + Shared.descent % 7 / 6" if self.control == "alters" else ""
        return ["int %s = %s%s;" % (name, expression, altered), "Shared.log[Shared.at++] = %d000 + %s;" % (self.number, name)]

    def body(self, depth, retried, most=3):
        lines = []
        for _ in range(self.random.randint(1, most)):
            lines += self.statement(depth, retried)
        return lines

    def encloses(self, text):
        """Notes that the locks that were made since the one in `text` are taken while it is held."""
        [slot] = {"".join(found) for found in re.findall(LOCK_SLOT, text)}
        self.inner[slot] = self.locks[self.locks.index(slot) + 1:]

    def guarded(self, before, inside, after):
        self.encloses(before)
        if self.control == "fails":
            before += " dev.anrscope.Inserted.call();"
        if self.control == "swallows":
            after = "try { dev.anrscope.Inserted.call(); %s } catch (VirtualMachineError swallowed) {}" % after
        return [before, "try {", *inside, "} finally {", after, *self.log(), "}"]

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
        self.encloses(lock)
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
                              "if (%s != 0) {\n%s.unlock%s(%s);\n}" % (stamp, lock, form, stamp))
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
        return ["try {", *self.body(depth, True), "} catch (%s %s) {" % (kind, error), KEEP % {"method": self.method, "error": error},
                *self.log(), *again, *end]

    def fails(self, depth, retried):
        """An exception that passes a helper and a finally block."""
        helper = self.name("fail")
        with self.inside(helper):
            self.members.append(["static void %s(int a) throws Exception {" % helper, *self.body(min(depth, 1), retried, 2), "throw Shared.FAILURE;", "}"])
        return ["try {", "%s(1);" % helper, "} catch (Shared.Failure expected) {", *self.log(), "} finally {", *self.log(), "}"]

    def loop(self, depth, retried):
        name = self.name("k")
        return ["for (int %s = 0; %s < 2; %s++) {" % (name, name, name), *self.value(name, 0, 1), *self.body(min(depth, 1), True, 2), "}"]

    def branch(self, depth, retried):
        return ["switch (Shared.at & 1) {", "case 0:", *["{"], *self.body(depth, retried, 2), "}", "break;", "default:", *self.log(), "break;", "}"]

    def call_helper(self):
        """A helper of each type, kind of method and number of arguments; its call stands in the middle of an expression."""
        kind, name = self.random.choice(list(RETURNS)), self.name("help")
        shown, result = RETURNS[kind]
        form = self.random.choice(["static", "static synchronized", "", "synchronized"])
        parameters, arguments = self.random.choice([("", ""), ("int a", "1"), ("long a, int b", "2L, 3"), ("double a, Object b, float c", "1d, null, 2f")])
        declared = {"int": "int v = 1;", "long": "long v = 2;", "float": "float v = 3;", "double": "double v = 4;"}.get(kind, "")
        with self.inside(name):
            inner = [*self.body(0, True, 2)] if self.random.random() < 0.8 else self.log()
        method = ["%s %s %s(%s) throws Exception {" % (form, kind, name, parameters), *([declared] if declared else []), *inner, "return %s;" % result if result else "", "}"]
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
            returned = {"int": 2, "long": 4, "float": 6, "double": 8}[kind]
            return self.value("(int) (Shared.three + %s * 2 + Shared.ARRAY[0])" % call, 3 + returned * 2 + 9)
        return ["%s %s = %s;" % (kind, temporary, call), *self.value(re.sub(r"\bv\b", temporary, shown), 5 if kind == "Object" else 9)]

    def queue(self):
        queue = self.slot("queue")
        call = self.random.choice(["%s.take()", "%s.poll(1, TimeUnit.NANOSECONDS)", "%s.poll()"]) % queue
        if self.random.random() < 0.3:
            return ["%s.put(7);" % queue, *self.log()]
        return self.value("Shared.ARRAY[0] + (Integer) %s * 3" % call, *(9 + element * 3 for element in QUEUED))

    def constructor(self):
        """Arguments that wait, a super constructor that logs, and `this(...)`."""
        base, name, lock, queue = self.name("Base"), self.name("Made"), self.slot("lock"), self.slot("queue")
        self.members.append(["static class %s {" % base, "final int base;", "%s(int a) throws Exception {" % base, MAY if self.woven == "StackOverflowError" else "", *self.body(0, True, 2), "base = a;", "}", "}",
                             "static final class %s extends %s {" % (name, base), "int more;", "%s(int a, long b) throws Exception {" % name, "super(%s(a));" % ("side" + name),
                             *self.body(1, True, 2), "more = (int) b;", "}", "%s(boolean a, Object b) throws Exception {" % name, "this(a ? 1 : 2, (Integer) b);", *self.log(), "}",
                             "static int side%s(int a) {" % name, *self.log(), "return a + 1;", "}", "}"])
        self.encloses(lock)
        made = self.name("made")
        return ["try {", "%s %s = new %s(%s.tryLock(), %s.take());" % (name, made, name, lock, queue), *self.value("%s.base + %s.more" % (made, made), *(base + element for base in (2, 3) for element in QUEUED)),
                "} finally {", "if (%s.isHeldByCurrentThread()) {" % lock, "%s.unlock();" % lock, "}", "}"]

    def waits(self):
        form = self.random.choice(["park", "join", "timed join", "latch", "timed latch", "get", "timed get", "offer", "timed offer", "sleep", "wait", "thread"])
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
                 "timed get": "Shared.READY.get(1, TimeUnit.NANOSECONDS);", "timed join": "Shared.ENDED.join(1);", "timed latch": "Shared.OPEN.await(1, TimeUnit.NANOSECONDS);",
                 "offer": "%s.offer(3);" % self.slot("queue"), "timed offer": "%s.offer(3, 1, TimeUnit.NANOSECONDS);" % self.slot("queue")}
        return [lines.get(form, "Thread.yield();"), *self.log()]

    def tasks(self):
        body = " ".join(self.log())
        return [self.random.choice(["Shared.DIRECT.execute(() -> { %s });", "Shared.DIRECT.submit(() -> { %s });", "Shared.run(() -> { %s });"]) % body, *self.log()]

    def future(self):
        form, value = self.random.choice([("CompletableFuture.completedFuture(4).thenApply(x -> x + 2).get()", 6), ("CompletableFuture.supplyAsync(() -> 5, Shared.DIRECT).join()", 5),
                                          ("Shared.DIRECT.submit(() -> 6).get()", 6)])
        return self.value(form, value)

    @contextlib.contextmanager
    def inside(self, name):
        self.chains[name] = {*self.chain}
        self.chain.append(name)
        yield
        self.chain.pop()

    def classes(self):
        """The sources by their file's name."""
        files, self.instances = {}, []
        heads = "import java.util.concurrent.*;\nimport java.util.concurrent.locks.*;\n\n"
        for first in range(0, METHODS, IN_CLASS):
            text, run = [], []
            for self.method in range(first, first + IN_CLASS):
                self.number, self.members = 0, []
                with self.inside("m%d" % self.method):
                    body = self.body(2, False, 3)
                text += ["static void m%d() throws Exception {" % self.method, *body, *self.log(), "}"]
                for member in self.members:
                    text += member
                run += ["Shared.at = %d;" % (self.method * ROOM), "try {", "m%d();" % self.method, "Shared.thrown[%d] = null;" % self.method, "} catch (Throwable thrown) {",
                        "Shared.thrown[%d] = thrown;" % self.method, "}", "Shared.end[%d] = Shared.at;" % self.method]
            name = "Group%d" % (first // IN_CLASS)
            files[name] = heads + "final class %s {\n%s\nstatic void run() {\n%s\n}\n}\n" % (name, "\n".join(text), "\n".join(run))
        self.method = METHODS
        for at in range(INITIALIZERS):
            self.number = 0
            # A class is initialized once in a run, a woven one as often as its method is called.
            head = "static void run() throws Exception {" if self.woven else "static {"
            files["Initialized%d" % at] = heads + "final class Initialized%d {\nstatic int value;\n%s\n%s\n}\n}\n" % (
                at, head, "\n".join([*self.log(), "Shared.initializing.lock();", "try {", *self.log(), "value = Shared.at;", "} finally {", "Shared.initializing.unlock();", "}", *self.log()]))
        if self.woven:
            files = {name: "\n".join(self.weave(line) for line in text.split("\n")) for name, text in files.items()}
        files["Shared"] = heads + self.shared()
        return files

    def weave(self, line):
        """A line whose calls may fail. An own method may fail where it is entered, but not when it has ended; with a full heap neither."""
        if not re.search(r"\w\(", line) or re.match(r"import |final class|static |.* throws Exception \{", line):
            return line
        if self.woven == "OutOfMemoryError" and not re.search(ALLOCATES, line):
            return line
        if re.search(r"Thread\.sleep|parkNanos|\.wait\(1\)|Thread thread|thread\d+\.", line):
            # These only wait, which takes milliseconds on a busy machine, in each of 40,000 rounds.
            return MAY + " " + MAY
        is_own = re.search(r"\b(help|fail)\d+\(|^m\d+\(", line)
        # What is given to an executor or a future fails there.
        line = re.sub(r"\(\) -> \{ ", "() -> { " + MAY + " ", line)
        line = re.sub(r"(\(\)|x) -> (\d|x \+ 2)", r"\1 -> Shared.might() ? \2 : 0", line)
        before = MAY + " "
        if " -> " in line:
            # Its first call links it. Java 8 wraps what fails there, each Java does for some errors.
            before = "Shared.mayLink(); "
        if line.startswith("if ("):
            return before + re.sub(r"\) \{$", " & Shared.might()) {", line)
        if line.startswith(("super(", "this(")):
            return line
        return before + line + ("" if is_own or " new Made" in line else " " + MAY)

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
        keep = KEEP % {"method": METHODS, "error": "error"}
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
static final int COUNT = %(count)d, ROOM = %(room)d, ERRORS = %(errors)d;
static final int[] log = new int[COUNT * ROOM];
static int at;
/** Stands on the operand stack below a call. */
static int three = 3;
static int descent;
static final int[] end = new int[COUNT];
static final Throwable[] thrown = new Throwable[COUNT];
/** The errors that a method caught. */
static final Throwable[] errors = new Throwable[COUNT * ERRORS];
static final int[] errorsAt = new int[COUNT];
/** How often of 1024 times an own call fails. */
static int odds;
static int random = 1;
static final Error FAILING = new %(failing)s();
static void may() {
    random ^= random << 13;
    random ^= random >>> 17;
    random ^= random << 5;
    if ((random & 1023) < odds) { throw FAILING; }
}
static boolean might() { may(); return true; }
static void mayLink() {
    may();
    if ((random >>> 10 & 1023) < odds / 4) { throw new BootstrapMethodError(); }
}
static ReentrantLock initializing;
static final Condition[] condition = new Condition[%(locks)d];
%(fields)s
%(owners)s
static void nothing() {}
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
    java.util.Arrays.fill(errors, null);
    java.util.Arrays.fill(errorsAt, 0);
%(fresh)s
    for (int i = 0; i < condition.length; i++) { condition[i] = lock[i].newCondition(); }
    for (int i = 0; i < queue.length; i++) { queue[i] = new ArrayBlockingQueue<Object>(16, false, java.util.Arrays.asList(%(queued)s)); }
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
    try { initialize(); } catch (Throwable error) { %(keep)s }
    if (end[COUNT - 1] < 0) { end[COUNT - 1] = descent < 0 || descent >= %(initializers)d ? (COUNT - 1) * ROOM : -1; }
}
static void allOfThem() {
    all();
}
}
""" % {"count": METHODS + 1, "room": ROOM, "locks": len(self.owners["lock"]), "fields": fields, "owners": owners, "fresh": fresh, "initializers": INITIALIZERS,
       "instances": "\n".join("make%d();" % at for at in range(len(chunks))), "errors": ERRORS, "failing": self.woven or "StackOverflowError", "queued": ", ".join(map(str, QUEUED)), "keep": keep,
       "makers": "\n".join("static void make%d() {\n%s\n}" % (at, "\n".join(chunk)) for at, chunk in enumerate(chunks)),
       "held": held, "held_classes": held_classes, "cases": "\n".join("case %d: %s; break;" % (at, ("%s Initialized%d.run()" % (MAY, at) if self.woven else "Initialized%d.value++" % at)) for at in range(INITIALIZERS)),
       "groups": "\n".join("try { Group%d.run(); } catch (Throwable error) { %s }" % (group, keep) for group in range(groups))}


# The recorder's methods that may overflow where a method begins, which is as if its frame were larger: none of its code has run.
ROOMS = {"dev.anrscope.MethodBeat.wb", "dev.anrscope.MethodBeat.leaveRoom"}


def begins(lines):
    """The numbers of the lines with the first code of each method."""
    for at, line in enumerate(lines):
        if HEAD.search(line):
            yield next(number for number, text in enumerate(lines[at + 1:], at + 2) if text not in ("", "{", "try {"))


class Methods:
    """The compiled methods, and what is known of them."""

    def __init__(self, programs, control):
        self.programs, self.source = programs, Source(control=control)
        self.files = self.source.classes()
        self.lines = {name + ".java": text.split("\n") for name, text in self.files.items()}
        self.begins = {"%s:%d" % (file, line) for file, lines in self.lines.items() for line in begins(lines)}
        self.count = sum(len(DECLARED.findall(text)) for text in self.files.values())
        self.name = "methods" + ("-" + control if control else "")
        more = [HERE + "/src/brim/Inserted.java"] if control in ("fails", "swallows") else []
        self.classes = programs.compile(self.name, self.written(self.name, self.files) + more, programs.RULES + "exclude class Methods\n")
        self.after = {way: self.model(error) for way, error in (("stack", "StackOverflowError"), ("heap", "OutOfMemoryError"))}

    def written(self, directory, files):
        return [write("%s/%s-source/%s.java" % (self.programs.work, directory, name), text) for name, text in files.items()] + [HERE + "/src/brim/Dive.java", HERE + "/src/brim/Methods.java"]

    def model(self, error):
        """What comes after what in the log of each method, if its own calls fail by this error."""
        out = self.programs.work + "/methods-woven-" + error
        steps = out + ".steps"
        # A control has the same source but for what is wrong with it.
        if not os.path.exists(steps):
            javac(out, self.written("methods-woven-" + error, Source(woven=error).classes()))
            write(steps, subprocess.run(["java", "-XX:+UseSerialGC", "-cp", out, "Methods", "model", "40000", "1"], check=True, capture_output=True, text=True).stdout)
        with open(steps, encoding="utf-8") as file:
            text = file.read()
        return set(re.findall(r"^step \d+ (\d+ \S+ \S+)", text, re.M))

    def excuses(self, origin, mode):
        """Yields the locks that an error from here can leave held in the plain program: the JDK's code overflowed where that lock is taken, or it was not given back. Compiled
        code checks for an overflow before it has a frame, so the program's own frame may be on top of the latter (see LockPlaces in brim.py). That error may be the last of
        several, each at the release of a lock around the one before it, so then it excuses all that its lock encloses."""
        above, text = self.line(origin)
        gives = bool(re.search(GIVES, text))
        if above == "jdk" and (gives or re.search(TAKES, text)) or above == "own" and gives and mode != "interpreted":
            for slot in {"".join(found) for found in re.findall(LOCK_SLOT, text)} | ({"initializing"} if "Shared.initializing" in text else set()):
                yield slot
                if gives:
                    yield from self.source.inner.get(slot, ())

    def traced(self, method_map):
        """The number of declared methods that have an id in this method map."""
        with open(method_map, encoding="utf-8") as file:
            names = [line.split(",", 2)[2].split(" ")[:2] for line in file if line.count(",") > 1]
        return len([name for owner, name in names if re.fullmatch(r"(m|help|fail|sideMade)\d+", name) or name == "<init>" and re.search(r"\$(Made|Base)\d+$", owner)
                    or name == "<clinit>" and owner.startswith("Initialized")])

    def is_room(self, origin):
        """Whether an error comes from the room that a method asks for where it begins."""
        above, place = self.line(origin)[0], origin.partition(":")[2]
        return all("dev.anrscope.MethodBeat." + name in ROOMS for name in above.split("<")) and place in self.begins

    def line(self, origin):
        """What is above the program in an error from here, and the text of the line."""
        above, _, place = origin.partition(":")
        file, _, line = place.partition(":")
        return above, self.lines[file][int(line) - 1] if file in self.lines else ""

    def faults(self, out, mode, way):
        """What a run does that the program cannot do by itself: the rule and the fault."""
        for line in out.splitlines():
            words, _, example = line.partition("\t")
            kind, *words = words.split(" ")
            times, method = words[0] if words else "", words[1] if len(words) > 1 else ""
            if kind == "step" and " ".join(words[1:]) not in self.after[way]:
                yield kind, "%s times method %s goes from %s to %s:%s" % (times, *words[1:], example)
            # What is not logged as a value is 0.
            elif kind == "value" and int(words[3]) not in self.source.values.get((int(method), int(words[2])), (0,)):
                yield kind, "%s times method %s logs %s at %s" % (times, method, words[3], words[2])
            # None of these methods waits for a condition: an IllegalMonitorStateException says that a lock was given back twice.
            elif kind == "error" and ("IllegalMonitorState" in words[2] or self.line(words[3])[0] not in ("own", "jdk", "untraced") and not self.is_room(words[3])):
                yield kind, "%s times method %s sees a %s from %s" % (times, method, *words[2:])
            elif kind == "held":
                locks, origins = " ".join(words[2:]).split(";")
                excused = {slot for origin in origins.split() for slot in self.excuses(origin, mode)}
                if way == "heap" or not excused.issuperset(locks.split()):
                    yield kind, "%s times method %s holds %s after errors from %s" % (times, method, locks, origins or "nowhere")
            elif kind == "missing" and way == "heap":
                yield kind, "%s times method %s did not run" % (times, method)
            elif kind == "full" or kind.rstrip(":").isupper():
                yield "ends", line


def own_name(name):
    """The name of a method of which there is one, by its call in a trace."""
    found = re.search(r"\.((?:m|help|fail)\d+)$", name)
    return found.group(1) if found else None


def compare(programs, javas, findings, modes, forms, each, quick, control=None):
    """Runs the methods, plain and in these forms. The plain program has no finding: what it does shows that all is known."""
    methods = Methods(programs, control)
    if methods.count < 500:
        findings.say("only %d methods are generated" % methods.count)
    amounts = {"stack": ("1", "100") if quick else ("1", "500"), "heap": ("5", "100") if quick else ("8", "500")}
    options = {"stack": [TRACES, *AT_ONCE], "heap": ["-Xmx32m", "-XX:+UseSerialGC", *NO_ESCAPE_ANALYSIS]}
    runs = [(version, java, form, mode, way, compiled) for version, java in javas for way in options for form in ([] if control else ["plain"]) + list(forms) for mode in modes
            for compiled in (COMPILED if (form, mode, way) == ("plain", "compiled", "stack") else COMPILED[:1])]

    def run(version, java, form, mode, way, compiled):
        amount, warm_up = amounts[way]
        # C2 compiles what was called as often as its option says.
        warm_up = {"interpreted": "0", "C2": "500"}.get(mode, warm_up)
        is_traced = form in ("agent", "instrument")
        out = programs.run("plain" if form == "control" else form, java, methods.classes, [*options[way], *modes[mode], *compiled],
                           ["Methods", way, amount, warm_up, "11"], keep=is_traced)
        faults, calls = [], 0
        if is_traced:
            out, kept = out
            mapped = methods.traced((glob.glob(kept + "/methodMapping.txt") or [methods.classes + ".map"])[0])
            wrong, calls = programs.traced(kept, methods.classes, lambda trace: ended_callers(trace, methods.source.chains, own_name))
            faults += [("caller", "%d times the trace has %s below %s" % (times, *names)) for names, times in wrong.items()]
            if calls <= (200 if quick else 500):
                faults.append(("ends", "the trace has %d calls" % calls))
            # The agent sees only the initializers of classes that are used.
            if not methods.count - (INITIALIZERS if form == "agent" else 0) <= mapped <= methods.count:
                faults.append(("ends", "%d of %d methods are traced" % (mapped, methods.count)))
        steps = re.findall(r"^step (\d+) (\d+) \S+ (\S+)", out, re.M)
        faults += methods.faults(out, mode, way)
        if not re.search(r"^(descents|rounds) \d+$", out, re.M) or not steps:
            faults.append(("ends", "it did not end: " + out[-600:]))
        ran, left = {method for _, method, _ in steps}, {method for _, method, after in steps if "Error" in after}
        if len(ran) <= METHODS:
            faults.append(("ends", "only %d methods ran" % len(ran)))
        return sum(int(times) for times, _, _ in steps), sum(int(times) for times, _, after in steps if "Error" in after), len(left), calls, faults

    total = 0
    for (version, _, form, mode, way, compiled), (steps, errors, left, calls, faults) in zip(runs, each([lambda r=r: run(*r) for r in runs])):
        print("| generated | %s | %s | %s | %s | %d steps | %d errors left %d methods | %d calls in the trace | %d that the program cannot do |"
              % (version, form, " ".join([mode, *compiled]), way, steps, errors, left, calls, len(faults)), flush=True)
        total += steps
        if not errors:
            faults.append(("ends", "no error left a method"))
        if faults:
            by_rule = collections.defaultdict(list)
            for rule, fault in faults:
                by_rule[rule].append(fault)
            findings.say("Java %s, %s, %s, %s: %d faults, such as\n%s"
                         % (version, form, mode, way, len(faults), "\n".join("        " + fault for found in by_rule.values() for fault in found[:4])))
    return "%d steps of %d generated methods" % (total, methods.count)
