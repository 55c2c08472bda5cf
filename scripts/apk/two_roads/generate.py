"""Java programs with everything that a rewriter of dex files can get wrong: exceptions in and out of locks, loops with labels, switches of
each kind, constructors that call before and after `super`, inner classes, lambdas, wide parameters, many registers, varargs, recursion.

generate(name, seed, package, lambdas, defaults) returns the source of a class `Main` whose output and calls depend on the seed alone.
"""
import random

TYPES = ["int", "long", "double", "String", "boolean", "int[]", "Object"]
LETTERS = "abcdefgh"


class Method:
    def __init__(self, owner, name, result, parameters, is_static, is_locked, is_varargs):
        self.owner, self.name, self.result, self.parameters = owner, name, result, parameters
        self.is_static, self.is_locked, self.is_varargs = is_static, is_locked, is_varargs


class Program:
    def __init__(self, seed, package, lambdas, defaults):
        self.random = random.Random(seed)
        self.package, self.lambdas, self.defaults = package, lambdas, defaults
        self.names = 0
        self.methods = []
        # How deep statements are nested, and what encloses them.
        self.level, self.loops, self.tries = 0, [], 0

    def chance(self, percent):
        return self.random.randrange(100) < percent

    def fresh(self, prefix):
        self.names += 1
        return "%s%d" % (prefix, self.names)

    # Expressions of a type out of the variables in scope.

    def of(self, kind, scope, depth=2):
        known = [name for name, of in scope if of == kind]
        if known and (depth <= 0 or self.chance(40)):
            return self.random.choice(known)
        if depth > 0 and self.chance(30):
            call = self.call(kind, scope, depth - 1)
            if call:
                return call
        return getattr(self, "of_" + {"int[]": "ints", "String": "text", "Object": "object"}.get(kind, kind))(scope, depth - 1)

    def of_int(self, scope, depth):
        r = self.random
        if depth <= 0:
            return r.choice(["0", "1", "7", "-3", "1000", "70000", "0x40000000", "d"])
        a, b = (lambda k="int": self.of(k, scope, depth)), None
        form = r.randrange(9)
        if form < 4:
            return "(%s %s %s)" % (a(), r.choice(["+", "-", "*", "^", "&", ">>", "<<"]), a())
        if form == 4:
            return "(%s / %s)" % (a(), a())
        if form == 5:
            return "(int) %s" % self.paren(a(r.choice(["long", "double"])))
        if form == 6:
            return "(%s ? %s : %s)" % (self.of("boolean", scope, depth), a(), a())
        if form == 7:
            return "Work.length(%s)" % a("String")
        return "Work.at(%s, %s)" % (a("int[]"), a())

    def of_long(self, scope, depth):
        if depth <= 0:
            return self.random.choice(["0L", "1L", "-5L", "0x123456789abcL", "(long) d"])
        form = self.random.randrange(4)
        if form == 0:
            return "(long) %s" % self.paren(self.of("int", scope, depth))
        if form == 1:
            return "(%s %% %s)" % (self.of("long", scope, depth), self.of("long", scope, depth))
        return "(%s %s %s)" % (self.of("long", scope, depth), self.random.choice(["+", "-", "*", "^"]), self.of("long", scope, depth))

    def of_double(self, scope, depth):
        if depth <= 0:
            return self.random.choice(["0.5", "-2.0", "1e9", "(double) d"])
        if self.chance(30):
            return "(double) %s" % self.paren(self.of("int", scope, depth))
        return "(%s %s %s)" % (self.of("double", scope, depth), self.random.choice(["+", "-", "*"]), self.of("double", scope, depth))

    def of_text(self, scope, depth):
        if depth <= 0:
            return '"%s"' % self.random.choice(["", "a", "bc", "key", "long text"])
        if self.chance(50):
            return 'Work.cut(%s + "-" + %s)' % (self.of("String", scope, depth), self.of(self.random.choice(["int", "long"]), scope, depth))
        return "String.valueOf(%s)" % self.of(self.random.choice(["int", "long", "boolean"]), scope, depth)

    def of_boolean(self, scope, depth):
        if depth <= 0:
            return self.random.choice(["true", "false", "d > 1", "(d & 1) == 0"])
        form = self.random.randrange(4)
        if form == 0:
            return "(%s && !%s)" % (self.of("boolean", scope, depth), self.paren(self.of("boolean", scope, depth)))
        if form == 1:
            return "%s.equals(%s)" % (self.paren(self.of("String", scope, depth)), self.of("String", scope, depth))
        return "(%s %s %s)" % (self.of("int", scope, depth), self.random.choice(["<", "==", ">=", "!="]), self.of("int", scope, depth))

    def of_ints(self, scope, depth):
        if depth <= 0:
            return self.random.choice(["new int[3]", "new int[] {1, 2, 3, d}"])
        return "new int[] {%s}" % ", ".join(self.of("int", scope, depth) for _ in range(self.random.randrange(1, 5)))

    def of_object(self, scope, depth):
        if depth <= 0:
            return self.random.choice(['"o"', "new Object[0]", "Integer.valueOf(d)", "null"])
        form = self.random.randrange(3)
        if form == 0:
            return "Long.valueOf(%s)" % self.of("long", scope, depth)
        if form == 1:
            return "(Object) %s" % self.of("int[]", scope, depth)
        return "(Object) %s" % self.of("String", scope, depth)

    @staticmethod
    def paren(text):
        return text if text.startswith("(") and text.endswith(")") and "(" not in text[1:] else "(%s)" % text

    def call(self, kind, scope, depth):
        """A call of a method with this result, with one less of the depth that ends all recursion."""
        fitting = [method for method in self.methods if method.result == kind]
        if not fitting:
            return None
        method = self.random.choice(fitting)
        arguments = ["d - 1"] + [self.of(of, scope, min(depth, 1)) for of in method.parameters]
        if method.is_varargs:
            arguments += [self.of("int", scope, 0) for _ in range(self.random.randrange(4))]
        return "%s.%s(%s)" % (method.owner if method.is_static else "Main.node(%s)" % self.of("int", scope, 0) if method.owner == "Node" else "Main.it",
                              method.name, ", ".join(arguments))

    # Statements.

    def block(self, scope, result, size):
        scope = list(scope)
        lines = []
        for _ in range(size):
            lines += self.statement(scope, result)
        return lines

    def nested(self, scope, result, size=2):
        self.level += 1
        lines = ["    " + line for line in self.block(scope, result, self.random.randrange(1, size + 1) if self.level < 4 else 1)]
        self.level -= 1
        return lines

    def statement(self, scope, result):
        simple = [self.declare, self.declare, self.assign, self.mix, self.mix]
        compound = [self.choose, self.count, self.repeat, self.attempt, self.attempt, self.clean, self.lock, self.switch_int,
                    self.switch_text, self.switch_enum, self.leave, self.throw, self.anonymous]
        if self.lambdas:
            compound += [self.lambda_, self.lambda_]
        forms = simple + compound if self.level < 3 else simple
        return self.random.choice(forms)(scope, result)

    def declare(self, scope, result):
        kind, name = self.random.choice(TYPES), self.fresh("v")
        line = "%s %s = %s;" % (kind, name, self.of(kind, scope))
        scope.append((name, kind))
        return [line]

    def assign(self, scope, result):
        mutable = [(name, kind) for name, kind in scope if name.startswith("v")]
        if not mutable:
            return self.mix(scope, result)
        name, kind = self.random.choice(mutable)
        return ["%s = %s;" % (name, self.of(kind, scope))]

    def mix(self, scope, result):
        return ["Work.mix(%s);" % self.of(self.random.choice(TYPES), scope)]

    def choose(self, scope, result):
        lines = ["if (%s) {" % self.of("boolean", scope)] + self.nested(scope, result)
        if self.chance(60):
            lines += ["} else {"] + self.nested(scope, result)
        return lines + ["}"]

    def count(self, scope, result):
        n, label = self.fresh("n"), self.fresh("loop")
        self.loops.append(label)
        body = self.nested(scope + [(n, "int")], result)
        if self.chance(50):
            body += ["    if (%s) {" % self.of("boolean", scope + [(n, "int")]),
                     "        %s %s;" % (self.random.choice(["break", "continue"]), self.random.choice(self.loops)), "    }"]
        self.loops.pop()
        return ["%s:" % label, "for (int %s = 0; %s < %d; %s++) {" % (n, n, self.random.randrange(1, 4), n)] + body + ["}"]

    def repeat(self, scope, result):
        n = self.fresh("w")
        loops, self.loops = self.loops, []
        body = self.nested(scope + [(n, "int")], result)
        self.loops = loops
        if self.chance(50):
            return ["int %s = 0;" % n, "while (%s++ < 3 && %s) {" % (n, self.of("boolean", scope))] + body + ["}"]
        return ["int %s = 0;" % n, "do {"] + body + ["} while (%s++ < 2 && %s);" % (n, self.of("boolean", scope))]

    def attempt(self, scope, result):
        e = self.fresh("e")
        kind = self.random.choice(["RuntimeException", "Failed", "ArithmeticException", "ArrayIndexOutOfBoundsException | Failed"])
        lines = ["try {"] + self.nested(scope, result, 3) + ["} catch (%s %s) {" % (kind, e), "    Work.mix(Work.text(%s));" % e]
        lines += self.nested(scope, result)
        if kind == "Failed" and self.chance(40):
            lines += ["} catch (RuntimeException %s) {" % e, "    Work.mix(2);"]
        if self.chance(30):
            lines += ["} finally {"] + self.quiet(scope)
        return lines + ["}"]

    def quiet(self, scope):
        """A block that neither leaves nor throws on purpose."""
        return ["    Work.mix(%s);" % self.of("int", scope, 0), "    Work.mix(Work.length(%s));" % self.of("String", scope, 0)]

    def clean(self, scope, result):
        return ["try {"] + self.nested(scope, result, 3) + ["} finally {"] + self.quiet(scope) + ["}"]

    def lock(self, scope, result):
        return ["synchronized (Main.LOCK) {"] + self.nested(scope, result) + ["}"]

    def switch_int(self, scope, result):
        dense = self.chance(50)
        values = list(range(4)) if dense else [-100, 3, 5000, 123456789]
        lines = ["switch (%s) {" % (self.paren(self.of("int", scope)) + " & 7" if dense else self.of("int", scope))]
        for value in values:
            lines += ["    case %d: {" % value] + ["    " + line for line in self.nested(scope, result)] + ["    }"]
            if self.chance(60):
                lines += ["    if (Work.yes()) {", "        break;", "    }"]
        return lines + ["    default:", "        Work.mix(%s);" % self.of("long", scope, 1), "}"]

    def switch_text(self, scope, result):
        lines = ["switch (%s) {" % self.of("String", scope)]
        for value in ["a", "key", "Aa", "BB"]:
            lines += ["    case \"%s\":" % value, "        Work.mix(%s);" % self.of("int", scope, 1), "        break;"]
        return lines + ["    default:", "}"]

    def switch_enum(self, scope, result):
        return ["switch (Colour.of(%s)) {" % self.of("int", scope, 1), "    case RED:", "        Work.mix(%s);" % self.of("int", scope, 1), "        break;",
                "    case BLUE:", "        Work.mix(%s);" % self.of("String", scope, 1), "    default:", "        Work.mix(0);", "}"]

    def leave(self, scope, result):
        return ["if (%s) {" % self.of("boolean", scope), "    return %s;" % self.of(result, scope, 1), "}"] if result else self.mix(scope, result)

    def throw(self, scope, result):
        kind = self.random.choice(["Failed(%s)", "IllegalStateException(String.valueOf(%s))", "Failed(%s)"]) % self.of("int", scope, 1)
        return ["if (%s) {" % self.of("boolean", scope), "    throw new %s;" % kind, "}"]

    def anonymous(self, scope, result):
        name, kept = self.fresh("a"), self.fresh("k")
        loops, self.loops = self.loops, []
        lines = ["final int %s = %s;" % (kept, self.of("int", scope, 1)), "Step %s = new Step() {" % name,
                 "    public int take(int d, long by) {"]
        inner = [(kept, "int"), ("by", "long")]
        lines += ["        " + line for line in self.nested(inner, "int")]
        self.loops = loops
        scope.append((kept, "int"))
        return lines + ["        return (int) by + %s;" % kept, "    }", "};", "Work.mix(%s.take(d - 1, %s));" % (name, self.of("long", scope, 1))]

    def lambda_(self, scope, result):
        name, kept = self.fresh("f"), self.fresh("k")
        form = self.random.randrange(4)
        if form == 0:
            return ["Step %s = Work::step;" % name, "Work.mix(%s.take(d - 1, %s));" % (name, self.of("long", scope, 1))]
        if form == 1:
            return ["Step %s = Main.it::own;" % name, "Work.mix(%s.take(d - 1, %s));" % (name, self.of("long", scope, 1))]
        loops, self.loops = self.loops, []
        by = self.fresh("by")
        lines = ["final int %s = %s;" % (kept, self.of("int", scope, 1)), "final int %sd = d;" % name,
                 "Step %s = (%sx, %s) -> {" % (name, name, by), "    Work.mix(Work.length(String.valueOf(%sx)));" % name]
        # The lambda's own depth has another name.
        body = self.nested([(kept, "int"), (by, "long")], "int")
        self.loops = loops
        import re
        lines += [re.sub(r"\bd\b", name + "d", line) for line in body]
        scope.append((kept, "int"))
        return lines + ["    return (int) %s ^ %s;" % (by, kept), "};", "Work.mix(%s.take(d - 1, %s));" % (name, self.of("long", scope, 1))]

    # Members.

    def method(self, method):
        names = ["p%d" % n for n in range(len(method.parameters))]
        scope = list(zip(names, method.parameters))
        parameters = ["int d"] + ["%s %s" % (kind, name) for name, kind in scope]
        if method.is_varargs:
            parameters.append("int... more")
            scope.append(("more", "int[]"))
        words = [word for word, is_set in (("static", method.is_static), ("synchronized", method.is_locked)) if is_set]
        lines = [" ".join(words + [method.result, method.name]) + "(" + ", ".join(parameters) + ") {"]
        lines += ["    if (d <= 0 || !Work.allowed()) {", "        return %s;" % self.of(method.result, scope, 0), "    }"]
        self.level = 1
        lines += ["    " + line for line in self.block(scope, method.result, self.random.randrange(3, 8))]
        return lines + ["    return %s;" % self.of(method.result, scope), "}", ""]

    def source(self):
        r = self.random
        for n in range(14):
            kinds = [r.choice(TYPES) for _ in range(r.choice([0, 1, 2, 3, 5, 9, 17]))]
            owner = r.choice(["Main", "Main", "Node", "Work"])
            is_static = owner == "Work" or owner == "Main" and self.chance(50)
            self.methods.append(Method(owner, "m%d" % n, r.choice(TYPES), kinds, is_static, self.chance(20), self.chance(15)))
        members = {owner: [] for owner in ("Main", "Node", "Work")}
        for method in self.methods:
            members[method.owner] += ["    " + line if line else "" for line in self.method(method)]
        step_default = ["    default int twice(int d, long by) {", "        return take(d, by) + take(d, by + Long.bitCount(by));", "    }"] if self.defaults else []
        twice = "Work.mix(new Leaf(3, 4L).twice(2, 5L));" if self.defaults else ""
        calls = []
        for method in self.methods:
            calls += ["        try {", "            Work.mix(%s);" % self.call_top(method), "        } catch (RuntimeException e) {",
                      "            Work.mix(Work.text(e));", "        }"]
        return TEMPLATE % {
            "package": self.package, "main": "\n".join(members["Main"]), "node": "\n".join(members["Node"]), "work": "\n".join(members["Work"]),
            "calls": "\n".join(calls), "default": "\n".join(step_default), "twice": twice,
            "runnable": "Main::all" if self.lambdas else "new Runnable() {\n            public void run() {\n                all();\n            }\n        }",
        }

    def call_top(self, method):
        scope = []
        self.level = 0
        text = "%s.%s(%s)" % ("Main.node(1)" if method.owner == "Node" else "Main.it" if not method.is_static else method.owner, method.name,
                              ", ".join(["4"] + [self.of(kind, scope, 0).replace("d > 1", "true").replace("(d & 1) == 0", "false") for kind in method.parameters]))
        import re
        return re.sub(r"\bd\b", "4", text)


TEMPLATE = """package %(package)s;

import java.util.ArrayList;
import java.util.List;

public final class Main {
    static final Object LOCK = new Object();
    static final Main it = new Main();

    static Node node(int n) {
        return (n & 1) == 0 ? new Leaf(n, n * 3L) : new Branch(n);
    }

    int own(int d, long by) {
        return Work.length(String.valueOf(by)) + d;
    }

%(main)s
    static void all() {
%(calls)s
        %(twice)s
    }

    public static void main(String[] arguments) throws InterruptedException {
        all();
        Thread worker = new Thread(%(runnable)s, "worker");
        worker.start();
        worker.join();
        for (Node node : Node.made()) {
            Work.mix(node.toString());
        }
        System.out.println(Work.sum + " of " + Work.mixed);
    }
}

interface Step {
    int take(int d, long by);
%(default)s
}

enum Colour {
    RED(1), GREEN(2) {
        @Override
        String shown() {
            return "green".concat(String.valueOf(number));
        }
    }, BLUE(3);

    final int number;

    Colour(int number) {
        this.number = Math.abs(number);
    }

    String shown() {
        return name().toLowerCase();
    }

    static Colour of(int n) {
        Colour found = values()[Math.floorMod(n, 3)];
        Work.mix(found.shown());
        return found;
    }
}

final class Failed extends RuntimeException {
    Failed(int number) {
        super(String.valueOf(number));
    }
}

abstract class Node implements Comparable<Node> {
    private static final List<Node> MADE = new ArrayList<>();
    static int made;
    final int number;
    private final Inner inner;

    {
        made++;
        Work.mix(String.valueOf(made));
    }

    Node(int number) {
        this.number = Work.checked(number);
        inner = new Inner(number + 1L);
        if (made < 40) {
            MADE.add(this);
        }
    }

    static List<Node> made() {
        return new ArrayList<>(MADE);
    }

    abstract long weight(long a, double b, long c);

    @Override
    public int compareTo(Node other) {
        return Long.compare(weight(1, 2, 3), other.weight(1, 2, 3));
    }

    @Override
    public String toString() {
        return getClass().getSimpleName() + number + inner.shown() + compareTo(this);
    }

    class Inner {
        private final long value;

        Inner(long value) {
            this.value = value + number;
        }

        private String shown() {
            return "<" + value + Node.this.number + ">";
        }
    }

%(node)s
}

class Leaf extends Node implements Step {
    private final long value;

    Leaf(int number, long value) {
        super(Work.length(String.valueOf(value)) + number);
        this.value = value;
        Work.mix(weight(value, number, 1L));
    }

    @Override
    long weight(long a, double b, long c) {
        return a + Math.round(b) * c + value;
    }

    @Override
    public int take(int d, long by) {
        return d + Long.bitCount(by ^ value);
    }
}

final class Branch extends Node {
    private final Node[] children;

    Branch(int number) {
        this(number, new Leaf(number, 2L), number > 3 ? null : new Leaf(number + 1, Work.checked(number)));
    }

    private Branch(int number, Node... children) {
        super(number);
        this.children = children;
    }

    @Override
    long weight(long a, double b, long c) {
        long sum = 0;
        for (Node child : children) {
            try {
                sum += child.weight(a, b, c + 1);
            } catch (NullPointerException e) {
                sum -= Work.length(String.valueOf(c));
            }
        }
        return sum;
    }
}

final class Work {
    /** Calls that are left: each program ends. */
    private static int left = 4000;
    static long sum;
    static int mixed;

    static boolean allowed() {
        return left-- > 0;
    }

    static boolean yes() {
        return (sum & 3) != 0;
    }

    static int checked(int number) {
        if (number > 1 << 20) {
            throw new Failed(number);
        }
        return Math.abs(number);
    }

    static int length(String text) {
        return text == null ? -1 : text.length();
    }

    static String cut(String text) {
        return text.length() > 40 ? text.substring(0, 40) : text;
    }

    static int at(int[] array, int n) {
        return array[n & 7];
    }

    static int step(int d, long by) {
        return Long.bitCount(by) + Integer.bitCount(d);
    }

    static String text(RuntimeException e) {
        return e.getClass().getSimpleName() + (e instanceof Failed ? e.getMessage() : "");
    }

    static void mix(long value) {
        mixed++;
        sum = sum * 31 + value;
    }

    static void mix(double value) {
        mix(Double.doubleToLongBits(value));
    }

    static void mix(boolean value) {
        mix(value ? 1L : 0L);
    }

    static void mix(Object value) {
        mix(value instanceof int[] ? ((int[]) value).length : value instanceof Object[] ? 1 : value == null ? -1 : value.hashCode());
    }

%(work)s
}
"""


def generate(seed, package, lambdas, defaults):
    return Program(seed, package, lambdas, defaults).source()


if __name__ == "__main__":
    import sys
    print(generate(int(sys.argv[1]), "made", True, True))
