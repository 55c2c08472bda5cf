"""Checks traced methods in what dexdump lists: apart from the rewriter, and from its verifier, which knows types only.

In a method that calls `i`, each `return` must stand directly behind a call of `o`, and each call of the method's own that comes after `i` must be in a
try range that catches everything: else an end of the method could be missing in the recording. The second is not asked of a constructor that branches or
catches before `i`, that is, before its call of super: what stands behind `i` may then run before it.

The other inserted calls must lose the errors that they throw: each is a range of its own, whose first two clauses take these errors
to its end, or behind the move of a result.
"""
import collections, re

ENTER, EXIT = b"Ldev/anrscope/MethodBeat;.i:(I)V", b"Ldev/anrscope/MethodBeat;.o:(I)V"
OTHERS = re.compile(rb"Ldev/anrscope/MethodBeat;\.(?:wb|we|wr|wt|c):")
CLAUSE = re.compile(rb"^\s+(\S+) -> 0x([0-9a-f]+)")
ERRORS = [b"Ljava/lang/StackOverflowError;", b"Ljava/lang/OutOfMemoryError;"]
INSTRUCTION = re.compile(rb"\|([0-9a-f]{4,}): (\S+)")
NAME = re.compile(rb"^\s+name\s+: '(.*)'")
RANGE = re.compile(rb"^\s+0x([0-9a-f]+) - 0x([0-9a-f]+)$")
BRANCHES = (b"if-", b"goto", b"packed-switch", b"sparse-switch")


class Listing:
    """Reads the lines of `dexdump -d`, as bytes. `calls` is the number of calls of `i`, `wrong` counts what is missing by its kind."""

    def __init__(self):
        self.calls, self.wrong = 0, collections.Counter()
        self._start()

    def _start(self):
        # Where `i` is called, and whether the code up to there is one straight line.
        self.enter, self.straight = None, True
        self.after_exit, self.invokes, self.inserted, self.ranges, self.caught = False, [], [], [], []
        # The starts of ranges that lose the errors, and the errors that the next clauses of the last range must take.
        self.lost, self.awaited = set(), []

    def line(self, line):
        instruction = INSTRUCTION.search(line)
        if instruction:
            self._instruction(int(instruction[1], 16), instruction[2], line)
        elif NAME.match(line):
            self.end()
        elif self.enter is not None:
            found = RANGE.match(line)
            clause = CLAUSE.match(line)
            if found:
                self.ranges.append((int(found[1], 16), int(found[2], 16)))
                self.awaited = list(ERRORS)
            elif clause and self.awaited[:1] == [clause[1]] and int(clause[2], 16) - self.ranges[-1][1] in (0, 1):
                self.awaited.pop(0)
                if not self.awaited:
                    self.lost.add(self.ranges[-1][0])
            else:
                self.awaited = []
                if b"<any> ->" in line:
                    self.caught.append(self.ranges[-1])

    def _instruction(self, at, name, line):
        if ENTER in line:
            self.calls += 1
            self.enter = at
        elif self.enter is None:
            self.straight &= not name.startswith(BRANCHES)
        elif name.startswith(b"return") and not self.after_exit:
            self.wrong["a return without o"] += 1
        elif OTHERS.search(line):
            self.inserted.append(at)
        elif name.startswith(b"invoke") and EXIT not in line:
            self.invokes.append(at)
        self.after_exit = EXIT in line

    def end(self):
        """The last line of a method was read."""
        if self.straight and not any(start < self.enter for start, _ in self.ranges):
            uncovered = [at for at in self.invokes if at not in self.lost and not any(start <= at < end for start, end in self.caught)]
            self.wrong["a call that no handler covers"] += len(uncovered)
        self.wrong["an inserted call that can throw"] += sum(at not in self.lost for at in self.inserted)
        self._start()
