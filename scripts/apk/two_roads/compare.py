"""Compares the calls of a program that was traced as class files and as dex files.

The ids agree through the base map. These differ, because D8 makes other methods of those in the source:

* It moves the code of an interface's default, static and private methods to a class NAME$-CC, for API levels below 24.
* It appends the class's name to the name of a lambda's body that it makes callable, and puts the object before its arguments.
* Its own methods: backports, bridges to lambdas and accessors of nests.

Such methods are matched by the name that they have in the source.
"""
import collections, re

# Methods that stand in no source: D8 writes them.
MADE = re.compile(r"\$\$ExternalSynthetic|-\$\$Lambda\$|\.\$r8\$|\.-\$\$Nest\$")


def read_map(path):
    """Names of methods by id: `class.name`, and the descriptor."""
    names = {}
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            if line[:1].isdigit():
                number, _, rest = line.rstrip("\n").split(",", 2)
                owner, name, descriptor = (rest.split(" ") + ["", ""])[:3]
                names[int(number)] = (owner.replace("/", "."), name, descriptor)
    return names


def read_events(path):
    """For each thread its calls, in the words of MethodBeat.java."""
    threads = collections.defaultdict(list)
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            name, _, calls = line.rstrip("\n").partition("\t")
            threads[name].append(calls.split())
    return threads


def in_source(owner, name, descriptor):
    """The method's name in the source, and whether D8 has renamed it."""
    if owner.endswith("$-CC"):
        owner = owner[:-len("$-CC")]
        for prefix in "$default$", "$private$":
            name = name[len(prefix):] if name.startswith(prefix) else name
        return "%s.%s" % (owner, name), True
    suffix = "$" + owner.replace(".", "-")
    if name.startswith("lambda$") and name.endswith(suffix):
        return "%s.%s" % (owner, name[:-len(suffix)]), True
    return "%s.%s" % (owner, name), False


def id_of(call):
    """The id in a call of i, o or c; None in one that has none."""
    if call[0] in "io":
        return int(call[1:])
    return int(re.split("[.+-]", call)[2]) if call[0] == "c" else None


def in_words(names, call):
    """The call with the method's name in the source, and whether D8 has renamed the method."""
    number = id_of(call)
    if number is None:
        # In class files a wait has no object that is below more than four arguments.
        return (call.rstrip("+-") if call[0] in "be" else call), False
    if number not in names:
        return call, False
    name, renamed = in_source(*names[number])
    if call[0] == "c":
        return "%s %s" % (re.sub(r"\.\d+([+-]+)$", r"\1", call), name), renamed
    return "%s %s" % (call[0], name), renamed


class Result:
    def __init__(self):
        self.events = self.same_ids = self.renamed = self.made = 0
        self.differences = []


def compare(class_map, class_events, dex_map, dex_events):
    """Compares two runs. Events of methods that D8 has made are counted and left out."""
    result = Result()
    class_names, dex_names = read_map(class_map), read_map(dex_map)
    class_threads, dex_threads = read_events(class_events), read_events(dex_events)
    if sorted(class_threads) != sorted(dex_threads):
        result.differences.append("threads %s, and %s of dex" % (sorted(class_threads), sorted(dex_threads)))
        return result

    for thread, of_class in class_threads.items():
        of_dex = []
        for calls in dex_threads[thread]:
            kept = []
            for call in calls:
                names_of = dex_names.get(id_of(call), ("", "", ""))
                if MADE.search("%s.%s" % names_of[:2]):
                    result.made += 1
                else:
                    kept.append(call)
            of_dex.append(kept)
        # Threads of one name start in any order.
        key = lambda names: (lambda calls: [in_words(names, call)[0] for call in calls])
        for one, other in zip(sorted(of_class, key=key(class_names)), sorted(of_dex, key=key(dex_names))):
            for at in range(max(len(one), len(other))):
                left = in_words(class_names, one[at])[0] if at < len(one) else "the end"
                right, renamed = in_words(dex_names, other[at]) if at < len(other) else ("the end", False)
                if left != right:
                    result.differences.append("%s, call %d: %s, and %s of dex" % (thread, at, left, right))
                    break
                result.events += 1
                if id_of(one[at]) == id_of(other[at]):
                    result.same_ids += 1
                else:
                    result.renamed += 1
                    if not renamed:
                        result.differences.append("%s, call %d: another id for %s" % (thread, at, left))
                        break
        if len(of_class) != len(of_dex):
            result.differences.append("%d threads %s, and %d of dex" % (len(of_class), thread, len(of_dex)))
    return result
