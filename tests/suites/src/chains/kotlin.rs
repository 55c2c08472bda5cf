//! Writes programs in Kotlin, whose main thread waits for coroutines.

use crate::chains::code::{Code, place};
use crate::chains::label::{Culprit, Fact, Part, Program};

/// A dispatcher: an expression, and the names of its threads.
#[derive(Clone, Debug)]
pub(crate) struct Dispatcher {
    pub code: String,
    pub threads: String,
}

/// The body of a coroutine.
#[derive(Clone, Debug)]
pub(crate) struct Body {
    /// Class and method of its code.
    pub name: String,
    /// Stands for file and line of the call that takes it.
    pub site: String,
}

impl Body {
    pub(crate) fn on(&self, thread: &str) -> Culprit {
        Culprit { thread: Part::needed(thread), ..self.nowhere() }
    }

    /// It waits, and no thread runs it.
    pub(crate) fn nowhere(&self) -> Culprit {
        Culprit { thread: Part::nothing(), task: Part::needed(&self.name), site: Part::needed(&self.site) }
    }
}

/// A call that takes a minute.
pub(crate) struct Slow {
    pub call: String,
    pub frame: String,
}

/// A program that is being written: the parts that do not depend on the language are those of [`Code`].
pub(crate) struct Kotlin {
    pub code: Code,
    package: String,
    members: Vec<String>,
    objects: Vec<String>,
    first: Vec<String>,
    body: Vec<String>,
}

impl Kotlin {
    pub(crate) fn new(seed: u64, package: String) -> Self {
        let code = Code::new(seed, package.clone());
        Self { code, package, members: vec![], objects: vec![], first: vec![], body: vec![] }
    }

    /// A member of the main object.
    pub(crate) fn member(&mut self, text: impl Into<String>) {
        self.members.push(text.into());
    }

    /// A value with a name of its own.
    pub(crate) fn value(&mut self, code: &str) -> String {
        let name = self.code.noun().to_lowercase();
        self.member(format!("val {name} = {code}"));
        name
    }

    pub(crate) fn line(&mut self, statement: impl Into<String>) {
        self.body.push(statement.into());
    }

    /// Marks the end of a line, whose place is that of the body that starts there.
    pub(crate) fn mark(&mut self) -> (String, String) {
        self.code.site()
    }

    /// One of the dispatchers that an app uses.
    pub(crate) fn dispatcher(&mut self, form: usize) -> Dispatcher {
        let shared = "DefaultDispatcher-worker-#".to_owned();
        match form % 5 {
            0 => Dispatcher { code: "Dispatchers.IO".to_owned(), threads: shared },
            1 => Dispatcher { code: "Dispatchers.Default".to_owned(), threads: shared },
            2 => {
                let name = self.code.noun().to_lowercase();
                let value = self.value(&format!("newFixedThreadPoolContext(2, \"{name}\")"));
                Dispatcher { code: value, threads: format!("{name}-#") }
            }
            3 => self.single(0),
            _ => {
                let value = self.value("Dispatchers.IO.limitedParallelism(2)");
                Dispatcher { code: value, threads: shared }
            }
        }
    }

    /// A dispatcher with one thread.
    pub(crate) fn single(&mut self, form: usize) -> Dispatcher {
        if form.is_multiple_of(2) {
            let value = self
                .value("java.util.concurrent.Executors.newSingleThreadExecutor().asCoroutineDispatcher()");
            return Dispatcher { code: value, threads: "pool-#-thread-1".to_owned() };
        }
        let name = format!("{}-loop", self.code.noun().to_lowercase());
        let value = self.value(&format!("newSingleThreadContext(\"{name}\")"));
        Dispatcher { code: value, threads: name }
    }

    /// A scope for coroutines that main starts.
    pub(crate) fn scope(&mut self) -> String {
        self.value("CoroutineScope(SupervisorJob())")
    }

    /// A call that takes a minute, below another method.
    pub(crate) fn slow(&mut self) -> Slow {
        let class = format!("{}Store", self.code.noun());
        let code = match self.code.random.below(4) {
            0 => {
                "java.net.ServerSocket(0).use { java.net.Socket(it.inetAddress, it.localPort).getInputStream().read() }"
            }
            1 => "java.util.concurrent.locks.LockSupport.parkNanos(60_000_000_000L)",
            _ => "Thread.sleep(60_000L + n)",
        };
        self.objects.push(format!(
            "object {class} {{\n    fun open(n: Int): Int = read(n + 1) + 1\n\n    private fun read(n: Int): Int {{\n        {code}\n        return n\n    }}\n}}"
        ));
        Slow { call: format!("{class}.open({})", self.code.random.below(50)), frame: format!("{class}.read") }
    }

    /// A coroutine that a method of its own starts in a scope. The statement is a call, which returns the job.
    pub(crate) fn launched(&mut self, scope: &str, on: &str, by: &str, body: &[String]) -> (String, Body) {
        let start = format!("start{}", self.code.noun());
        let (mark, site) = self.mark();
        self.member(format!("fun {start}() = {scope}.{by}({on}) {{{mark}\n{}\n    }}", indented(body, 8)));
        let name = format!("{}${start}$#.invokeSuspend", self.code.main);
        (format!("{start}()"), Body { name, site })
    }

    /// Other coroutines, which have nothing to do with the hang.
    pub(crate) fn decoys(&mut self, count: usize) {
        for at in 0..count {
            let scope = self.scope();
            let (on, code) = match at {
                0 => ("Dispatchers.Default", "delay(70_000)"),
                1 => ("Dispatchers.IO", "Thread.sleep(70_000)"),
                _ => ("Dispatchers.IO", "delay(2)"),
            };
            let body = [code.to_owned(), "chains.Stage.did(\"decoy\")".to_owned()];
            let (call, _) = self.launched(&scope, on, "launch", &body);
            self.first.push(call);
        }
    }

    /// Main's wait: what is in `runBlocking`.
    pub(crate) fn run_blocking(&mut self, on: &str, body: &[String], mark: &str) {
        self.line("chains.Stage.hangs()");
        let on = if on.is_empty() { String::new() } else { format!("({on})") };
        self.line(format!("runBlocking{on} {{{mark}\n{}\n}}", indented(body, 4)));
        self.code.label.waits_for = vec!["coroutine"];
        let frames = ["kotlinx.coroutines.BlockingCoroutine.joinBlocking".to_owned(), self.own()];
        self.code.facts.push(Fact { thread: "main".to_owned(), frames: frames.to_vec() });
    }

    /// The method in which main waits.
    pub(crate) fn own(&self) -> String {
        format!("{}.{}", self.code.main, self.code.entry)
    }

    /// A body `depth` blocks inside of the method in which main waits.
    pub(crate) fn inner(&self, depth: usize, site: String) -> Body {
        let (main, entry) = (&self.code.main, &self.code.entry);
        Body { name: format!("{main}${entry}{}.invokeSuspend", "$#".repeat(depth)), site }
    }

    /// The thread is in the slow call of this body.
    pub(crate) fn runs(&mut self, thread: &str, body: &Body, slow: &Slow) {
        self.code.fact(thread, &[slow.frame.clone(), body.name.clone()]);
    }

    pub(crate) fn finish(self, family: &'static str, number: usize) -> Program {
        let Self { code, package, members, objects, first, body } = self;
        let main = code.main.clone();
        let text = format!(
            "package {package}\n\nimport kotlinx.coroutines.*\nimport kotlinx.coroutines.channels.Channel\nimport kotlinx.coroutines.sync.Mutex\nimport kotlinx.coroutines.sync.withLock\n\n{}\n\nobject {main} {{\n{}\n\n    @JvmStatic\n    fun main(arguments: Array<String>) {{\n{}\n        {}()\n    }}\n\n    fun {}() {{\n{}\n    }}\n}}\n",
            objects.join("\n\n"),
            indented(&members, 4),
            indented(&first, 8),
            code.entry,
            code.entry,
            indented(&body, 8),
        );
        let files = vec![(format!("{}/{main}.kt", package.replace('.', "/")), text)];
        let mut label = code.label;
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
            main: format!("{package}.{main}"),
            package,
            files,
            label,
            facts: code.facts,
            alone: None,
        }
    }
}

fn indented(statements: &[String], by: usize) -> String {
    let space = " ".repeat(by);
    let lines = statements.iter().flat_map(|statement| statement.lines());
    lines.map(|line| format!("{space}{line}")).collect::<Vec<_>>().join("\n")
}
