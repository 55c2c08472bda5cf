//! The calls from a message down to the loop, as Java and as the label has them.

use std::collections::BTreeMap;

use test_support::random::Random;

const CLASSES: [&str; 12] = [
    "Feed", "Cart", "Session", "Profile", "Catalog", "Router", "Prices", "Images", "Cache", "Model", "Index",
    "Screen",
];
const METHODS: [&str; 10] =
    ["refresh", "update", "resume", "load", "open", "bind", "apply", "build", "show", "sync"];

/// How a message reaches the app.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Entry {
    /// A Runnable of a class of its own.
    Runnable,
    /// A Handler's `handleMessage`.
    Handler,
    /// A lambda.
    Lambda,
}

impl Entry {
    pub(crate) const ALL: [Self; 3] = [Self::Runnable, Self::Handler, Self::Lambda];

    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Runnable => "runnable",
            Self::Handler => "handler",
            Self::Lambda => "lambda",
        }
    }

    /// What the message's name has in it, and its first method, without the package.
    fn label(self) -> (&'static str, &'static str) {
        match self {
            Self::Runnable => ("SyncTask", "SyncTask.run"),
            Self::Handler => ("WorkHandler", "WorkHandler.handleMessage"),
            Self::Lambda => ("Start$$Lambda", "Start.lambda$post$0"),
        }
    }

    /// `Start`, whose `post` the app is begun by; the message calls `first`.
    fn source(self, first: &str) -> String {
        let body = format!("BusyTime.begin();\n        BusyTime.keep({first}(1));");
        match self {
            Self::Runnable => format!(
                "public final class Start {{
    public static void post() {{
        new Handler().post(new SyncTask());
    }}
}}

final class SyncTask implements Runnable {{
    @Override
    public void run() {{
        {body}
    }}
}}
"
            ),
            Self::Handler => format!(
                "public final class Start {{
    public static void post() {{
        WorkHandler handler = new WorkHandler();
        handler.sendMessage(handler.obtainMessage(7));
    }}
}}

final class WorkHandler extends Handler {{
    @Override
    public void handleMessage(android.os.Message message) {{
        {body}
    }}
}}
"
            ),
            Self::Lambda => format!(
                "public final class Start {{
    public static void post() {{
        new Handler().post(() -> {{
        {body}
        }});
    }}
}}
"
            ),
        }
    }
}

/// Files and what the label says of them; names without the package.
pub(crate) struct Chain {
    /// Source files: name without extension, text without the package's line.
    pub files: Vec<(String, String)>,
    /// What the message's name has in it.
    pub message: String,
    /// Outermost first.
    pub methods: Vec<String>,
}

/// A chain of `depth` methods, the message's own among them, whose last calls `end`.
pub(crate) fn chain(random: &mut Random, entry: Entry, depth: usize, end: &str) -> Chain {
    let mut all: Vec<(usize, usize)> =
        (0..CLASSES.len()).flat_map(|class| (0..METHODS.len()).map(move |method| (class, method))).collect();
    random.shuffle(&mut all);
    let mut lambdas = [false; CLASSES.len()];
    let mut bodies: BTreeMap<&str, String> = BTreeMap::new();
    let (message, first) = entry.label();
    let mut methods = vec![first.to_owned()];
    // Methods of the chain that are named here; a lambda adds one.
    let mut named = Vec::new();
    let mut left = depth.saturating_sub(1);
    for (class, method) in all {
        if left == 0 {
            break;
        }
        let form = match random.below(7) {
            // javac numbers lambdas within their class: one in each keeps that simple.
            6 if left < 2 || std::mem::replace(&mut lambdas[class], true) => 0,
            form => form,
        };
        left -= if form == 6 { 2 } else { 1 };
        named.push((CLASSES[class], METHODS[method], form));
    }
    for (at, (class, method, form)) in named.iter().enumerate() {
        let next = match named.get(at + 1) {
            Some((class, method, form)) => format!("{}.{method}", receiver(class, *form)),
            None => end.to_owned(),
        };
        bodies.entry(class).or_default().push_str(&body(method, *form, &next));
        methods.push(format!("{class}.{method}"));
        if *form == 6 {
            methods.push(format!("{class}.lambda${method}$0"));
        }
    }
    let first =
        named.first().map_or(end.to_owned(), |(c, method, form)| format!("{}.{method}", receiver(c, *form)));
    let mut files = vec![(
        "Start".to_owned(),
        format!("import android.os.Handler;\nimport dev.anrscope.BusyTime;\n\n{}", entry.source(&first)),
    )];
    for (class, body) in bodies {
        let text = format!(
            "import java.util.function.IntUnaryOperator;

final class {class} {{
    private int state;
{body}
    private static int mix(int x) {{
        return Integer.rotateLeft(x, 5) ^ Math.abs(x);
    }}
}}
"
        );
        files.push((class.to_owned(), text));
    }
    Chain { files, message: message.to_owned(), methods }
}

/// Methods of an object are called on a new one.
fn receiver(class: &str, form: usize) -> String {
    if form < 2 { format!("new {class}()") } else { class.to_owned() }
}

/// A method that calls `next` once.
fn body(method: &str, form: usize, next: &str) -> String {
    let (head, lines) = match form {
        0 => (
            "int",
            format!(
                "state = mix(x);\n        try {{\n            return {next}(x + 1) + state;\n        }} finally {{\n            state--;\n        }}"
            ),
        ),
        1 => (
            "synchronized int",
            format!("state += x;\n        int result = {next}(state);\n        return mix(result) + state;"),
        ),
        2 => (
            "static int",
            format!(
                "int before = mix(x);\n        int result = {next}(before & 7);\n        return result + mix(before);"
            ),
        ),
        // It does nothing but call the next.
        3 => ("static int", format!("return {next}(x);")),
        // Others were called before, which took a moment.
        4 => (
            "static int",
            format!(
                "int sum = 0;\n        for (int n = 0; n < 2_000; n++) {{\n            sum += mix(n);\n        }}\n        return sum + {next}(x);"
            ),
        ),
        // A loop of one round.
        5 => (
            "static int",
            format!(
                "int sum = 0;\n        for (int part : new int[] {{x}}) {{\n            sum += mix(part);\n            sum += {next}(part);\n        }}\n        return sum;"
            ),
        ),
        _ => (
            "static int",
            format!(
                "IntUnaryOperator rest = n -> {next}(n) + 1;\n        return rest.applyAsInt(x) + mix(x);"
            ),
        ),
    };
    format!("\n    {head} {method}(int x) {{\n        {lines}\n    }}\n")
}
