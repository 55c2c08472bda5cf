//! Writes the source of a program piece by piece, with names, forms of tasks, depths and activities that differ from program to program.

use crate::chains::label::{Culprit, Fact, Label, Part, Program};
use test_support::random::Random;

const MAINS: [&str; 16] = [
    "Checkout", "Feed", "Player", "Inbox", "Gallery", "Search", "Profile", "Router", "Ledger", "Mapper",
    "Reader", "Studio", "Planner", "Wallet", "Lobby", "Console",
];
const NOUNS: [&str; 56] = [
    "Prices",
    "Images",
    "Orders",
    "Drafts",
    "Tiles",
    "Routes",
    "Tokens",
    "Scores",
    "Labels",
    "Events",
    "Friends",
    "Albums",
    "Offers",
    "Badges",
    "Fonts",
    "Themes",
    "Stations",
    "Trips",
    "Photos",
    "Comments",
    "Accounts",
    "Coupons",
    "Reviews",
    "Batches",
    "Invoices",
    "Chapters",
    "Playlists",
    "Contacts",
    "Signals",
    "Rooms",
    "Seats",
    "Tickets",
    "Widgets",
    "Colors",
    "Shapes",
    "Sounds",
    "Scenes",
    "Levels",
    "Quests",
    "Markers",
    "Layers",
    "Feeds",
    "Stories",
    "Banners",
    "Menus",
    "Recipes",
    "Workouts",
    "Alarms",
    "Notes",
    "Binders",
    "Stickers",
    "Ratings",
    "Lessons",
    "Vouchers",
    "Parcels",
    "Meters",
];
const STORES: [&str; 12] = [
    "Store", "Disk", "Net", "Index", "Parser", "Codec", "Vault", "Cache", "Archive", "Journal", "Mirror",
    "Catalog",
];
const STEPS: [&str; 10] =
    ["load", "fetch", "decode", "lookUp", "scan", "merge", "unpack", "verify", "resolve", "collect"];

/// The interface of a task.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Interface {
    Runnable,
    Callable,
    Supplier,
    /// Of an object, for a stage of a CompletableFuture.
    Function,
}

impl Interface {
    /// Its name in Java, its method's parameters, and the result.
    fn java(self) -> (&'static str, &'static str, &'static str, &'static str) {
        match self {
            Self::Runnable => ("Runnable", "run", "", "void"),
            Self::Callable => ("Callable<Object>", "call", "", "Object"),
            Self::Supplier => ("Supplier<Object>", "get", "", "Object"),
            Self::Function => ("Function<Object, Object>", "apply", "Object given", "Object"),
        }
    }
}

/// An executor: its field, and the names of its threads in the order in which they start.
#[derive(Clone, Debug)]
pub(crate) struct Pool {
    pub field: String,
    pub workers: Vec<String>,
}

/// A task.
#[derive(Clone, Debug)]
pub(crate) struct Task {
    /// An expression: the task, or the future that its submission gives.
    pub code: String,
    /// Class and method of its code.
    pub name: String,
    /// Stands for file and line of its submission.
    pub site: String,
}

impl Task {
    /// The culprit is this task, on this thread.
    pub(crate) fn on(&self, thread: &str) -> Culprit {
        Culprit {
            thread: Part::needed(thread),
            task: Part::needed(&self.name),
            site: Part::needed(&self.site),
        }
    }

    /// The culprit is this thread; that it runs this task may be said.
    pub(crate) fn owner(&self, thread: &str) -> Culprit {
        Culprit {
            thread: Part::needed(thread),
            task: Part::optional(&self.name),
            site: Part::optional(&self.site),
        }
    }

    /// The culprit is this task, which no thread runs.
    pub(crate) fn nowhere(&self) -> Culprit {
        Culprit { thread: Part::nothing(), task: Part::needed(&self.name), site: Part::needed(&self.site) }
    }
}

/// A call that takes a minute: a chain of methods that ends in an activity.
#[derive(Clone, Debug)]
pub(crate) struct Slow {
    pub call: String,
    pub frames: Vec<String>,
}

impl Slow {
    /// A task's code that is only this call.
    pub(crate) fn only(&self) -> &[String] {
        std::slice::from_ref(&self.call)
    }
}

/// A program that is being written.
pub(crate) struct Code {
    pub random: Random,
    package: String,
    pub main: String,
    /// The method in which main waits.
    pub entry: String,
    nouns: Vec<&'static str>,
    stores: Vec<&'static str>,
    fields: Vec<String>,
    methods: Vec<String>,
    others: Vec<(String, String)>,
    first: Vec<String>,
    body: Vec<String>,
    sites: usize,
    default_pools: usize,
    /// The next activity of [`Code::slow`].
    pub activity: usize,
    pub facts: Vec<Fact>,
    pub label: Label,
    /// Threads of decoys.
    decoys: Vec<String>,
    pub alone: bool,
}

impl Code {
    pub(crate) fn new(seed: u64, package: String) -> Self {
        let mut random = Random::new(seed);
        let main = MAINS[random.below(MAINS.len())].to_owned();
        let (mut nouns, mut stores) = (NOUNS.to_vec(), STORES.to_vec());
        random.shuffle(&mut nouns);
        random.shuffle(&mut stores);
        let entry = format!("show{}", nouns.pop().unwrap());
        Self {
            activity: random.below(6),
            random,
            package,
            main,
            entry,
            nouns,
            stores,
            fields: Vec::new(),
            methods: Vec::new(),
            others: Vec::new(),
            first: Vec::new(),
            body: Vec::new(),
            sites: 0,
            default_pools: 0,
            facts: Vec::new(),
            label: Label::default(),
            decoys: Vec::new(),
            alone: false,
        }
    }

    /// A word that no other part of the program has.
    pub(crate) fn noun(&mut self) -> &'static str {
        self.nouns.pop().expect("a noun is left")
    }

    /// A static field.
    pub(crate) fn field(&mut self, declaration: &str, name: &str, value: &str) {
        self.fields.push(format!("    static final {declaration} {name} = {value};"));
    }

    /// A field with a name of its own, which it returns.
    pub(crate) fn any_field(&mut self, declaration: &str, value: &str) -> String {
        let name = self.noun().to_uppercase();
        self.field(declaration, &name, value);
        name
    }

    /// A static method of the main class.
    pub(crate) fn method(&mut self, head: &str, body: &[String]) {
        self.methods.push(format!("    static {head} {{\n{}\n    }}", indented(body, 8)));
    }

    /// Another class of the package.
    pub(crate) fn class(&mut self, name: &str, text: &str) {
        if !self.others.iter().any(|(known, _)| known == name) {
            self.others.push((name.to_owned(), text.to_owned()));
        }
    }

    /// A statement of the method in which main waits.
    pub(crate) fn line(&mut self, statement: impl Into<String>) {
        self.body.push(statement.into());
    }

    /// Main's wait: the statement, what is waited for, and the methods of the JDK that the stack then has.
    pub(crate) fn wait(&mut self, statement: &str, waits_for: &[&'static str], frames: &[&str]) {
        self.line("Stage.hangs();");
        self.line(statement);
        self.label.waits_for = waits_for.to_vec();
        let own = format!("{}.{}", self.main, self.entry);
        let frames = frames.iter().map(|frame| (*frame).to_owned()).chain([own]).collect();
        self.facts.push(Fact { thread: "main".to_owned(), frames });
    }

    /// Where a thread is.
    pub(crate) fn fact(&mut self, thread: &str, frames: &[String]) {
        self.facts.push(Fact { thread: thread.to_owned(), frames: frames.to_vec() });
    }

    /// A place in the source: a comment for the end of the line, and what stands for file and line.
    pub(crate) fn site(&mut self) -> (String, String) {
        self.sites += 1;
        (format!(" /*@{}*/", self.sites), format!("@{}", self.sites))
    }

    /// An executor with `count` threads.
    pub(crate) fn pool(&mut self, count: usize) -> Pool {
        let form = self.random.below(4);
        self.pool_of(count, form)
    }

    fn pool_of(&mut self, count: usize, form: usize) -> Pool {
        let noun = self.noun();
        let field = format!("{}_POOL", noun.to_uppercase());
        let prefix = format!("{}-", noun.to_lowercase());
        let value = match form {
            0 => {
                self.names_class();
                format!("Executors.newFixedThreadPool({count}, new Names(\"{prefix}\"))")
            }
            1 => format!(
                "new ThreadPoolExecutor({count}, {count}, 1, TimeUnit.MINUTES, new LinkedBlockingQueue<>())"
            ),
            _ if count == 1 && form == 2 => "Executors.newSingleThreadExecutor()".to_owned(),
            _ => format!("Executors.newFixedThreadPool({count})"),
        };
        self.field("ExecutorService", &field, &value);
        let workers = if form == 0 {
            (1..=count).map(|n| format!("{prefix}{n}")).collect()
        } else {
            self.default_workers(count)
        };
        Pool { field, workers }
    }

    /// The names of the threads of an executor that was declared without a thread factory.
    pub(crate) fn default_workers(&mut self, count: usize) -> Vec<String> {
        self.default_pools += 1;
        (1..=count).map(|n| format!("pool-{}-thread-{n}", self.default_pools)).collect()
    }

    fn names_class(&mut self) {
        self.class(
            "Names",
            "final class Names implements ThreadFactory {\n    private final AtomicInteger next = new AtomicInteger();\n    \
             private final String prefix;\n\n    Names(String prefix) {\n        this.prefix = prefix;\n    }\n\n    \
             @Override\n    public Thread newThread(Runnable task) {\n        return new Thread(task, prefix + \
             next.incrementAndGet());\n    }\n}",
        );
    }

    /// A call that takes a minute: sleeps, reads, computes, or waits for a connection, below some methods.
    pub(crate) fn slow(&mut self) -> Slow {
        let class = self.stores.pop().expect("a store is left");
        let mut steps = STEPS.to_vec();
        self.random.shuffle(&mut steps);
        steps.truncate(1 + self.random.below(4));
        self.activity += 1;
        let activity = match self.activity % 12 {
            3 | 8 => 1,
            1 | 6 => 2,
            // A busy thread disturbs programs that run at the same time.
            11 => 3,
            _ => 0,
        };
        let (code, frame) = match activity {
            // A read of the console, or an accept, may be what the program is for: nobody owes an end.
            1 => (
                "try (java.io.PipedInputStream pipe = new java.io.PipedInputStream(new java.io.PipedOutputStream())) {\n                n += pipe.read();\n            }",
                "java.io.PipedInputStream.read",
            ),
            2 => (
                "try (java.net.ServerSocket silent = new java.net.ServerSocket(0);\n                    java.net.Socket peer = new java.net.Socket(silent.getInetAddress(), silent.getLocalPort())) {\n                n += peer.getInputStream().read();\n            }",
                "java.net.Socket$SocketInputStream.read",
            ),
            3 => (
                "for (long end = System.nanoTime() + 60_000_000_000L; System.nanoTime() < end; n++) {\n                n = n * 31 ^ n;\n            }",
                "",
            ),
            _ => ("Thread.sleep(60_000 + n);", "java.lang.Thread.sleep"),
        };
        let mut methods = Vec::new();
        for (at, step) in steps.iter().enumerate() {
            let body = match steps.get(at + 1) {
                Some(next) => format!("        return {next}(n + 1) + 1;"),
                None => format!(
                    "        try {{\n            {code}\n        }} catch (Exception e) {{\n            throw new IllegalStateException(e);\n        }}\n        return n;"
                ),
            };
            methods.push(format!("    static int {step}(int n) {{\n{body}\n    }}"));
        }
        self.class(class, &format!("final class {class} {{\n{}\n}}", methods.join("\n\n")));
        let mut frames: Vec<String> = steps.iter().map(|step| format!("{class}.{step}")).collect();
        if !frame.is_empty() {
            frames.push(frame.to_owned());
        }
        Slow { call: format!("{class}.{}({});", steps[0], self.random.below(50)), frames }
    }

    /// A task with this code, created in `enclosing`: a lambda, a method reference, or an object of a class.
    pub(crate) fn task(&mut self, of: Interface, enclosing: &str, body: &[String]) -> Task {
        let form = self.random.below(5);
        self.task_as(form, of, enclosing, body)
    }

    pub(crate) fn task_as(&mut self, form: usize, of: Interface, enclosing: &str, body: &[String]) -> Task {
        let (interface, method, parameter, result) = of.java();
        let main = self.main.clone();
        let mut body = body.to_vec();
        if result != "void" && !body.last().is_some_and(|last| last.starts_with("throw ")) {
            body.push("return \"done\";".to_owned());
        }
        let (text, noun) = (indented(&body, 16), self.noun());
        let whole = format!(
            "@Override\n            public {result} {method}({parameter}) {{\n{text}\n            }}"
        );
        let (code, name) = match form {
            0 | 1 => {
                let parameter = parameter.rsplit(' ').next().unwrap();
                (
                    format!("({parameter}) -> {{\n{text}\n            }}"),
                    format!("{main}.lambda${enclosing}$#"),
                )
            }
            2 => {
                self.method(&format!("{result} prepare{noun}({parameter})"), &body);
                (format!("{main}::prepare{noun}"), format!("{main}.prepare{noun}"))
            }
            3 if self.random.below(2) == 0 => {
                let fields = format!("import static {}.{main}.*;\n\n", self.package);
                self.class(
                    &format!("{noun}Task"),
                    &format!(
                        "{fields}final class {noun}Task implements {interface} {{\n            {whole}\n}}"
                    ),
                );
                (format!("new {noun}Task()"), format!("{noun}Task.{method}"))
            }
            3 => {
                self.methods.push(format!("    private static final class {noun}Task implements {interface} {{\n            {whole}\n    }}"));
                (format!("new {noun}Task()"), format!("{main}${noun}Task.{method}"))
            }
            _ => (
                format!("new {interface}() {{\n            {whole}\n            }}"),
                format!("{main}$#.{method}"),
            ),
        };
        Task { code, name, site: String::new() }
    }

    /// A task that is submitted in a method of its own; the code is a call of that method, which returns the future.
    pub(crate) fn submitted(&mut self, pool: &Pool, body: &[String]) -> Task {
        let of = if self.random.below(2) == 0 { Interface::Callable } else { Interface::Runnable };
        self.handed(pool, of, "submit", "", body)
    }

    /// As [`Code::submitted`], by a method of the executor and with its further arguments.
    pub(crate) fn handed(
        &mut self,
        pool: &Pool,
        of: Interface,
        by: &str,
        arguments: &str,
        body: &[String],
    ) -> Task {
        let start = format!("start{}", self.noun());
        let task = self.task(of, &start, body);
        self.handing(&pool.field, task, &start, by, arguments)
    }

    fn handing(&mut self, field: &str, task: Task, start: &str, by: &str, arguments: &str) -> Task {
        let (mark, site) = self.site();
        // The call's line is the first of the statement.
        let call = format!("{field}.{by}({}{arguments});", task.code);
        let (first, rest) = call.split_once('\n').map_or((call.as_str(), None), |(a, b)| (a, Some(b)));
        let call = rest.map_or_else(|| format!("{first}{mark}"), |rest| format!("{first}{mark}\n{rest}"));
        let line = if by == "execute" { call } else { format!("return {call}") };
        let result = match by {
            "execute" => "void",
            "schedule" => "ScheduledFuture<?>",
            "post" | "postAtFrontOfQueue" => "boolean",
            "scheduleDirect" => "io.reactivex.rxjava3.disposables.Disposable",
            _ => "Future<?>",
        };
        self.method(&format!("{result} {start}()"), &[line]);
        Task { code: format!("{start}()"), name: task.name, site }
    }

    /// A named thread that is constructed and started in a method of its own, which returns it.
    pub(crate) fn thread(&mut self, name: &str, body: &[String]) -> Task {
        let start = format!("start{}", self.noun());
        let task = self.task(Interface::Runnable, &start, body);
        let (mark, site) = self.site();
        let lines = [
            format!("Thread thread = new Thread({}, \"{name}\");", task.code),
            format!("thread.start();{mark}"),
            "return thread;".to_owned(),
        ];
        self.method(&format!("Thread {start}()"), &lines);
        Task { code: format!("{start}()"), name: task.name, site }
    }

    /// A name for a thread.
    pub(crate) fn thread_name(&mut self) -> String {
        let noun = self.noun().to_lowercase();
        match self.random.below(3) {
            0 => format!("{noun}-worker"),
            1 => format!("{noun} sync"),
            _ => noun,
        }
    }

    /// Other work of the process, which has nothing to do with the hang: busy executors, owned locks, waiting threads.
    pub(crate) fn decoys(&mut self, count: usize) {
        for _ in 0..count {
            let sleep = "Stage.did(\"decoy\");".to_owned();
            let nap = quiet(&["Thread.sleep(70_000);".to_owned()]);
            match self.random.below(4) {
                0 => {
                    let size = 1 + self.random.below(3);
                    let pool = self.pool(size);
                    let busy = self.submitted(&pool, &[sleep, nap]);
                    self.first.push(format!("{};", busy.code));
                    self.decoys.extend(pool.workers);
                }
                1 => {
                    let lock = self.any_field("ReentrantLock", "new ReentrantLock()");
                    let name = self.thread_name();
                    let owner = self.thread(&name, &[format!("{lock}.lock();"), sleep, nap]);
                    self.first.push(format!("{};", owner.code));
                    self.decoys.push(name);
                }
                2 => {
                    let latch = self.any_field("CountDownLatch", "new CountDownLatch(1)");
                    let name = self.thread_name();
                    let waiter = self.thread(&name, &[quiet(&[format!("{latch}.await();")])]);
                    self.first.push(format!("{};", waiter.code));
                    self.decoys.push(name);
                }
                _ => {
                    let pool = self.pool(1);
                    let done = self.submitted(&pool, &[sleep]);
                    self.first.push(format!("{}.get();", done.code));
                    self.decoys.extend(pool.workers);
                }
            }
        }
    }

    /// The program.
    pub(crate) fn finish(mut self, family: &'static str, number: usize) -> Program {
        let depth = 1 + self.random.below(3);
        let main = &self.main;
        let mut chain = Vec::new();
        for at in 1..depth {
            let next = if at + 1 == depth { self.entry.clone() } else { format!("step{}", at + 1) };
            chain.push(format!("    static void step{at}() throws Exception {{\n        {next}();\n    }}"));
        }
        let start = if depth == 1 { self.entry.clone() } else { "step1".to_owned() };
        let imports = "import chains.Stage;\nimport java.util.*;\nimport java.util.concurrent.*;\nimport java.util.concurrent.atomic.*;\n\
                       import java.util.concurrent.locks.*;\nimport java.util.function.*;\n\n";
        let text = format!(
            "public final class {main} {{\n{}\n\n    public static void main(String[] arguments) throws Exception {{\n{}        {start}();\n    }}\n\n{}\n\n    static void {}() throws Exception {{\n{}\n    }}\n\n{}\n}}\n",
            self.fields.join("\n"),
            self.first.iter().map(|line| format!("        {line}\n")).collect::<String>(),
            chain.join("\n\n"),
            self.entry,
            indented(&self.body, 8),
            self.methods.join("\n\n"),
        );
        let mut files = vec![(main.clone(), text)];
        files.extend(self.others);
        let path = self.package.replace('.', "/");
        let files: Vec<(String, String)> = files
            .into_iter()
            .map(|(class, text)| {
                (format!("{path}/{class}.java"), format!("package {};\n\n{imports}{text}\n", self.package))
            })
            .collect();
        let mut label = self.label;
        for part in label.culprits.iter_mut().flat_map(|one| [&mut one.task, &mut one.site]) {
            for value in &mut part.accepted {
                if value.starts_with('@') {
                    *value = place(&files, value);
                }
            }
        }
        Program {
            family,
            number,
            on_android: false,
            main: format!("{}.{main}", self.package),
            package: self.package,
            files,
            label,
            facts: self.facts,
            alone: self.alone.then_some(self.decoys),
        }
    }
}

/// File and line of a mark.
pub(crate) fn place(files: &[(String, String)], site: &str) -> String {
    let mark = format!("/*{site}*/");
    for (path, text) in files {
        if let Some(at) = text.lines().position(|line| line.contains(&mark)) {
            return format!("{}:{}", path.rsplit('/').next().unwrap(), at + 1);
        }
    }
    panic!("{site} is in no file");
}

/// The statements as one that throws no checked exception.
pub(crate) fn quiet(statements: &[String]) -> String {
    format!(
        "try {{\n    {}\n}} catch (Exception e) {{\n    throw new IllegalStateException(e);\n}}",
        statements.join("\n    ")
    )
}

fn indented(statements: &[String], by: usize) -> String {
    let space = " ".repeat(by);
    let lines = statements.iter().flat_map(|statement| statement.lines());
    lines
        .map(
            |line| if line.starts_with(' ') && by == 16 { line.to_owned() } else { format!("{space}{line}") },
        )
        .collect::<Vec<_>>()
        .join("\n")
}

/// Statements from texts.
pub(crate) fn lines<const N: usize>(all: [&str; N]) -> Vec<String> {
    all.map(str::to_owned).to_vec()
}
