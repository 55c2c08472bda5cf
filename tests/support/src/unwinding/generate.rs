//! Writes programs of random functions that call each other, and themselves through libraries, tables, signals and exceptions.

use std::fmt::Write as _;

/// The language of a program.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Language {
    /// C.
    C,
    /// C++.
    Cpp,
    /// Rust.
    Rust,
}

impl Language {
    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::C => "C",
            Self::Cpp => "C++",
            Self::Rust => "Rust",
        }
    }
}

/// Functions of a program; the last few end each chain that gets there.
const FUNCTIONS: usize = 64;

/// A random generator: splitmix64.
pub struct Random(u64);

impl Random {
    /// With this seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Below `n`.
    pub fn below(&mut self, n: usize) -> usize {
        usize::try_from(self.next() % n as u64).expect("below a usize")
    }

    /// One of these.
    pub fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }
}

/// How a function is called.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shape {
    Plain,
    Many,
    Doubles,
    Variadic,
    Struct,
    /// By a sort or a search of a library.
    Comparator,
    /// Through a table of virtual functions.
    Virtual,
    /// It throws, and calls nothing.
    Thrower,
}

/// A program in this language. `tails`: the compiler turns a call at the end of a function into a jump.
pub fn program(language: Language, tails: bool, seed: u64) -> String {
    let mut random = Random::new(seed);
    let mut shapes = vec![Shape::Plain; FUNCTIONS + 1];
    for (i, shape) in shapes.iter_mut().enumerate().skip(2) {
        *shape = match (language, random.below(16)) {
            (_, 0 | 1) => Shape::Comparator,
            (Language::C | Language::Cpp, 2) => Shape::Many,
            (Language::C | Language::Cpp, 3) => Shape::Doubles,
            (Language::C | Language::Cpp, 4) => Shape::Variadic,
            (Language::C | Language::Cpp, 5) => Shape::Struct,
            (Language::Cpp, 6 | 7) | (Language::Rust, 2..=4) => Shape::Virtual,
            (Language::Cpp | Language::Rust, 8) if i > 4 => Shape::Thrower,
            _ => Shape::Plain,
        };
    }
    let mut program = Program { language, tails, random, shapes, out: String::new() };
    if language == Language::Rust {
        program.rust()
    } else {
        program.c()
    }
    program.out
}

struct Program {
    language: Language,
    tails: bool,
    random: Random,
    shapes: Vec<Shape>,
    out: String,
}

/// A way from a function to the next one.
struct Step {
    /// Statements that leave their result in `r`.
    code: String,
    /// It works where a signal may interrupt anything.
    safe: bool,
}

impl Program {
    /// A function behind `from`, not far, that is not a thrower; of this shape, if there is one.
    fn target(&mut self, from: usize, shape: Option<Shape>) -> Option<usize> {
        let behind = FUNCTIONS.min(from + if shape.is_some() { 9 } else { 3 });
        let fits = |i: &usize| match shape {
            Some(shape) => self.shapes[*i] == shape,
            None => self.shapes[*i] != Shape::Thrower && self.shapes[*i] != Shape::Comparator,
        };
        let found: Vec<_> = (from + 1..=behind).filter(fits).collect();
        (!found.is_empty()).then(|| self.random.of(&found))
    }

    fn prototype(&self, i: usize) -> String {
        match self.shapes[i] {
            Shape::Plain | Shape::Virtual => format!("long f_{i}(int left, long a)"),
            Shape::Many => {
                format!(
                    "long f_{i}(int left, long a, long b, long c, long d, long e, long f, long g, long h, long i)"
                )
            }
            Shape::Doubles => format!("long f_{i}(int left, double a, double b, float c)"),
            Shape::Variadic => format!("long f_{i}(int left, ...)"),
            Shape::Struct => format!("struct tr_large f_{i}(int left, struct tr_large all)"),
            Shape::Comparator => format!("int f_{i}(const void *one, const void *other)"),
            Shape::Thrower => format!("long f_{i}(int left)"),
        }
    }

    /// A call in C of what is no comparator.
    fn call(&mut self, i: usize) -> String {
        match self.shapes[i] {
            Shape::Plain => format!("f_{i}(left - 1, r)"),
            Shape::Many => format!("f_{i}(left - 1, r, r + 1, r + 2, a, a + 1, a - r, 3, 4, r * 3)"),
            Shape::Doubles => format!("f_{i}(left - 1, (double)r, 1.5, 2.5f)"),
            Shape::Variadic => {
                format!("f_{i}(left - 1, {}, r, 2.5, r + 1, a, 3L, 4L, 5L)", self.random.below(3))
            }
            Shape::Struct => format!("(large.words[1] = r, f_{i}(left - 1, large).words[2])"),
            Shape::Virtual => format!("tr_objects[{i}]->go(left - 1, r)"),
            Shape::Comparator | Shape::Thrower => unreachable!("never a target of a plain call"),
        }
    }

    fn c_steps(&mut self, from: usize) -> Vec<Step> {
        let cpp = self.language == Language::Cpp;
        let mut steps = Vec::new();
        for _ in 0..5 {
            let Some(direct) = self.target(from, None) else { break };
            let call = self.call(direct);
            let plain = self.target(from, Some(Shape::Plain));
            let comparator = self.target(from, Some(Shape::Comparator));
            let thrower = self.target(from, Some(Shape::Thrower));
            let (code, safe) = match (
                self.random.below(if cpp { 15 } else { 10 }),
                plain,
                comparator,
                thrower,
            ) {
                (0, Some(plain), ..) => {
                    (format!("{{ long (*volatile to)(int, long) = f_{plain}; r += to(left - 1, r); }}"), true)
                }
                (1 | 2, _, Some(comparator), _) => {
                    let n = 2 + self.random.below(30);
                    (
                        format!(
                            "{{ long words[{n}]; for (int k = 0; k < {n}; k++) words[k] = (r * (k + 3)) % 17; tr_left = left - 1; tr_descend = 1; \
                             tr_push(TR_LIBRARY, 0); qsort(words, {n}, sizeof *words, f_{comparator}); tr_pop(); tr_descend = 0; r += words[0]; }}"
                        ),
                        true,
                    )
                }
                (3, _, Some(comparator), _) => (
                    format!(
                        "{{ long words[3] = {{1, 2, 3}}, key = r % 5; tr_left = left - 1; tr_descend = 1; tr_push(TR_MAYBE, 0); \
                         r += bsearch(&key, words, 3, sizeof *words, f_{comparator}) != 0; tr_pop(); tr_descend = 0; }}"
                    ),
                    true,
                ),
                (4, _, Some(comparator), _) => (
                    format!(
                        "{{ void *tree = 0; long one = 1, two = 2; tsearch(&one, &tree, f_{comparator}); tr_left = left - 1; tr_descend = 1; \
                         tr_push(TR_LIBRARY, 0); tsearch(&two, &tree, f_{comparator}); tr_pop(); tr_descend = 0; \
                         tdelete(&two, &tree, f_{comparator}); tdelete(&one, &tree, f_{comparator}); }}"
                    ),
                    false,
                ),
                (5, Some(plain), ..) => {
                    (format!("{{ tr_next = f_{plain}; tr_left = left - 1; raise(SIGUSR1); }}"), false)
                }
                (6, ..) if self.shapes[from] == Shape::Plain => {
                    (format!("r += f_{from}(left - 1, r + 1);"), false)
                }
                (10 | 11, Some(plain), _, Some(thrower)) => (
                    format!(
                        "try {{ r += f_{thrower}(left); }} catch (Thrown &thrown) {{ r += f_{plain}(left - 1, r) + thrown.left; }}"
                    ),
                    false,
                ),
                (12, Some(plain), _, Some(thrower)) => (
                    format!(
                        "try {{ Cleaner<f_{plain}> cleaner(left - 1); r += f_{thrower}(left); }} catch (...) {{ r += 2; }}"
                    ),
                    false,
                ),
                (13, Some(plain), ..) => (
                    format!(
                        "{{ long c = r; std::function<long(int)> to = [c](int left) {{ return f_{plain}(left, c); }}; \
                         tr_push(TR_MAYBE, 0); r += to(left - 1); tr_pop(); }}"
                    ),
                    true,
                ),
                (14, Some(plain), ..) => (
                    format!(
                        "{{ std::vector<long> words = {{5, r % 7, 3, 9}}; int once = 1; tr_push(TR_MAYBE, 0); \
                         std::sort(words.begin(), words.end(), [&](long one, long other) {{ \
                         if (once) {{ once = 0; r += f_{plain}(left - 1, one); }} return one < other; }}); tr_pop(); r += words[0]; }}"
                    ),
                    false,
                ),
                _ => (format!("r += {call};"), true),
            };
            steps.push(Step { code, safe });
        }
        // What is safe comes first.
        steps.sort_by_key(|step| !step.safe);
        if steps.first().is_some_and(|step| !step.safe) {
            let direct = self.target(from, None).expect("a target was found before");
            let code = format!("r += {};", self.call(direct));
            steps.insert(0, Step { code, safe: true });
        }
        steps
    }

    /// The locals of a function: where its frame is large, of variable size, or aligned.
    fn c_locals(&mut self) -> (String, String) {
        let size = self.random.of(&[1, 16, 33, 64, 200, 700]);
        let (declared, name) = match self.random.below(16) {
            0 => (format!("char *memory = (char *)alloca({size} + tr_random() % 200);"), "memory"),
            1 => {
                // Variable length in C; alloca in a branch in C++.
                if self.language == Language::C {
                    (format!("char memory[{size} + tr_random() % 300];"), "memory")
                } else {
                    (
                        format!(
                            "char few[{size}]; char *memory = tr_random() % 2 ? (char *)alloca({size} + tr_random() % 64) : few;"
                        ),
                        "memory",
                    )
                }
            }
            2 => (format!("char memory[{size}] __attribute__((aligned(32)));"), "memory"),
            3 => (format!("char memory[{}];", self.random.of(&[1_500, 3_000, 5_000])), "memory"),
            4 => {
                (format!("volatile double doubles[4] = {{1, 2, 3, a * 0.5}}; char memory[{size}];"), "memory")
            }
            _ => (format!("char memory[{size}];"), "memory"),
        };
        (declared, format!("r = tr_work(r, {name}, {size});"))
    }

    fn c(&mut self) {
        let cpp = self.language == Language::Cpp;
        self.out.push_str("#include \"snapshot.h\"\n");
        if cpp {
            self.out.push_str(
                "#include <algorithm>\n#include <functional>\n#include <vector>\n\
                 struct Thrown { long left; ~Thrown() {} };\n\
                 struct Entered {\n    __attribute__((always_inline)) Entered(uint64_t id, void *address) { tr_push(id, address); }\n    \
                 __attribute__((always_inline)) ~Entered() { tr_pop(); }\n};\n\
                 template <long (*to)(int, long)> struct Cleaner {\n    int left;\n    \
                 __attribute__((always_inline)) Cleaner(int left) : left(left) {}\n    \
                 __attribute__((always_inline)) ~Cleaner() noexcept(false) { tr_sink = tr_sink + to(left, 1); }\n};\n\
                 struct Base { virtual long go(int left, long a) = 0; };\nextern Base *tr_objects[];\nextern \"C\" {\n",
            );
        }
        for i in 1..=FUNCTIONS {
            if self.shapes[i] != Shape::Virtual {
                let prototype = self.prototype(i);
                let _ = writeln!(self.out, "{prototype};");
            }
        }
        if cpp {
            self.out.push_str("}\n");
            for i in 1..=FUNCTIONS {
                if self.shapes[i] == Shape::Virtual {
                    let _ = writeln!(
                        self.out,
                        "struct Object{i} : Base {{ long words[{}]; TR_NOINLINE long go(int left, long a) override __asm__(\"f_{i}\"); }} object{i};",
                        1 + i % 4
                    );
                }
            }
            self.out.push_str("Base *tr_objects[] = {");
            for i in 0..=FUNCTIONS {
                let object =
                    if self.shapes[i] == Shape::Virtual { format!("&object{i}, ") } else { "0, ".into() };
                self.out.push_str(&object);
            }
            self.out.push_str("};\n");
        }
        for i in 1..=FUNCTIONS {
            self.c_function(i);
        }
    }

    fn c_function(&mut self, i: usize) {
        let cpp = self.language == Language::Cpp;
        let shape = self.shapes[i];
        let head = if shape == Shape::Virtual {
            format!("long Object{i}::go(int left, long a)")
        } else {
            format!("{}TR_NOINLINE {}", if cpp { "extern \"C\" " } else { "" }, self.prototype(i))
        };
        let _ = writeln!(self.out, "{head} {{");
        let (locals, work) = self.c_locals();
        let steps = self.c_steps(i);
        let throws = shape == Shape::Thrower
            || steps.iter().any(|step| step.code.contains("try "))
            || self.random.below(3) == 0;
        let raii = cpp && throws;
        let (enter, leave) = if raii {
            (format!("Entered entered({i}, __builtin_return_address(0));"), "")
        } else {
            (format!("TR_ENTER({i});"), "tr_pop();")
        };
        if shape == Shape::Thrower {
            let _ = writeln!(
                self.out,
                "    {enter}\n    char memory[40];\n    long a = left, r = a;\n    {{ r = tr_work(r, memory, 40); }}\n    \
                 if (r != 0x123456789) throw Thrown{{r}};\n    return r;\n}}"
            );
            return;
        }
        // A tail call: this function is gone when the next one runs.
        let tail = self.target(i, Some(Shape::Plain)).filter(|_| {
            self.tails
                && !raii
                && matches!(shape, Shape::Plain | Shape::Virtual)
                && self.random.below(5) == 0
                && i > 1
        });
        if let Some(tail) = tail {
            let _ = writeln!(
                self.out,
                "    {enter}\n    long r = a;\n    for (int k = 0; k < {}; k++) r += tr_random() % 7;\n    tr_sink = r;\n    \
                 if (left <= 0) {{ r += tr_leaf(); {leave} return r; }}\n    {leave}\n    return f_{tail}(left - 1, r);\n}}",
                2 + i % 20
            );
            return;
        }
        let _ = writeln!(self.out, "    {enter}");
        let first = match shape {
            Shape::Many => "long r = a + b + c + d + e + f + g + h + i;".to_owned(),
            Shape::Doubles => "long r = (long)(a + b + c);".to_owned(),
            Shape::Variadic => "va_list list; va_start(list, left); long a = va_arg(list, int); long r = a + va_arg(list, long); \
                                r += (long)va_arg(list, double); va_end(list);"
                .to_owned(),
            Shape::Struct => "long a = all.words[1]; long r = a + all.words[8];".to_owned(),
            Shape::Comparator => format!(
                "long a = *(const long *)one, r = a - *(const long *)other;\n    \
                 if (!tr_descend) {{ {leave} return (int)r; }}\n    tr_descend = 0;\n    int left = tr_left;"
            ),
            _ => "long r = a;".to_owned(),
        };
        let _ = writeln!(
            self.out,
            "    {first}\n    struct tr_large large = {{{{r, 2, 3}}}};\n    {locals}\n    {work}"
        );
        // Values that live across the calls: in saved registers, as many as there are.
        let live = self.random.below(7);
        for k in 0..live {
            let _ = writeln!(self.out, "    long live{k} = tr_random() + r * {};", k + 2);
        }
        let doubles = self.random.below(4) / 3 * 3;
        for k in 0..doubles {
            let _ = writeln!(self.out, "    double real{k} = (double)(tr_random() & 255) * 0.5;");
        }
        self.out.push_str("    if (left <= 0) {\n        r += tr_leaf();\n    } else {\n");
        let safe = steps.iter().filter(|step| step.safe).count();
        match steps.len() {
            0 => self.out.push_str("        r += tr_leaf();\n"),
            all => {
                let _ = writeln!(self.out, "        switch (tr_choose({safe}, {all})) {{");
                for (k, step) in steps.iter().enumerate() {
                    let label = if k + 1 == all { "default".to_owned() } else { format!("case {k}") };
                    let _ = writeln!(self.out, "        {label}: {} break;", step.code);
                }
                self.out.push_str("        }\n");
            }
        }
        self.out.push_str("    }\n");
        let sum: String = (0..live)
            .map(|k| format!(" + live{k}"))
            .chain((0..doubles).map(|k| format!(" + (long)real{k}")))
            .collect();
        let result = match shape {
            Shape::Struct => "large.words[2] = r; large.words[3] = a; ",
            _ => "",
        };
        let value = match shape {
            Shape::Struct => "large",
            Shape::Comparator => "(int)(r % 3)",
            _ => "r",
        };
        let _ = writeln!(
            self.out,
            "    r += memory[0]{sum} + large.words[0];\n    tr_sink = r;\n    {result}{leave}\n    return {value};\n}}"
        );
    }

    fn rust(&mut self) {
        self.out.push_str(RUST_HEAD);
        let objects: Vec<_> = (1..=FUNCTIONS).filter(|i| self.shapes[*i] == Shape::Virtual).collect();
        for i in &objects {
            let _ = writeln!(
                self.out,
                "struct Object{i}([i64; {}]);\nimpl Go for Object{i} {{\n    #[inline(always)]\n    fn go(&self, left: i32, a: i64) -> i64 {{ f_{i}(left, a + self.0[0]) }}\n}}",
                1 + i % 4
            );
        }
        for i in 1..=FUNCTIONS {
            self.rust_function(i);
        }
    }

    fn rust_function(&mut self, i: usize) {
        let shape = self.shapes[i];
        let (head, first) = match shape {
            Shape::Comparator => (
                format!("pub extern \"C-unwind\" fn f_{i}(one: *const c_void, other: *const c_void) -> i32"),
                "let a = unsafe { *one.cast::<i64>() };\n    let mut r = a - unsafe { *other.cast::<i64>() };\n    \
                 if get(&raw const tr_descend) == 0 { pop(); return r as i32; }\n    set(&raw mut tr_descend, 0);\n    let left = get(&raw const tr_left);",
            ),
            _ => (format!("pub extern \"C-unwind\" fn f_{i}(left: i32, a: i64) -> i64"), "let mut r = a;"),
        };
        let _ = writeln!(self.out, "#[inline(never)]\n#[unsafe(no_mangle)]\n{head} {{");
        if shape == Shape::Thrower {
            let _ = writeln!(
                self.out,
                "    let _entered = Entered::new({i});\n    if black_box(a) != 0x1234567 {{ std::panic::resume_unwind(Box::new(left)); }}\n    a\n}}"
            );
            return;
        }
        let mut steps = Vec::new();
        for _ in 0..5 {
            let Some(direct) = self.target(i, None) else { break };
            let call = match self.shapes[direct] {
                Shape::Virtual => format!(
                    "{{ let to: Box<dyn Go> = black_box(Box::new(Object{direct}([1; {}]))); push(MAYBE); let x = to.go(left - 1, r); pop(); x }}",
                    1 + direct % 4
                ),
                _ => format!("f_{direct}(left - 1, r)"),
            };
            // A box is in the allocator, which a handler must not enter.
            let safe_call = self.shapes[direct] != Shape::Virtual;
            let plain = self.target(i, Some(Shape::Plain));
            let comparator = self.target(i, Some(Shape::Comparator));
            let thrower = self.target(i, Some(Shape::Thrower));
            let (code, safe) = match (self.random.below(12), plain, comparator, thrower) {
                (0, Some(plain), ..) => (
                    format!(
                        "let to: extern \"C-unwind\" fn(i32, i64) -> i64 = black_box(f_{plain}); r += to(left - 1, r);"
                    ),
                    true,
                ),
                (1 | 2, _, Some(comparator), _) => (
                    format!(
                        "let mut words = [r % 5, 3, 1, 2, r % 3]; set(&raw mut tr_left, left - 1); set(&raw mut tr_descend, 1); push(LIBRARY); \
                         unsafe {{ qsort(words.as_mut_ptr().cast(), 5, 8, f_{comparator}) }}; pop(); set(&raw mut tr_descend, 0); r += words[0];"
                    ),
                    true,
                ),
                (3, Some(plain), ..) => (
                    format!(
                        "let mut words = vec![5, r % 7, 3, 9]; let mut once = true; push(MAYBE); words.sort_by(|one, other| {{ \
                         if once {{ once = false; r += f_{plain}(left - 1, *one); }} one.cmp(other) }}); pop(); r += words[0];"
                    ),
                    false,
                ),
                (4, Some(plain), ..) => (
                    format!(
                        "let to: Box<dyn Fn(i32) -> i64> = black_box(Box::new(move |left| f_{plain}(left, r))); push(MAYBE); r += to(left - 1); pop();"
                    ),
                    false,
                ),
                (5, Some(plain), ..) => (
                    format!(
                        "set(&raw mut tr_next, f_{plain}); set(&raw mut tr_left, left - 1); push(MAYBE); unsafe {{ tr_raise_next() }}; pop();"
                    ),
                    false,
                ),
                (6 | 7, Some(plain), _, Some(thrower)) => (
                    format!(
                        "let depth = get(&raw const tr_depth); push(MAYBE); let failed = std::panic::catch_unwind(|| f_{thrower}(left, r)).is_err(); \
                         set(&raw mut tr_depth, depth); if failed {{ r += f_{plain}(left - 1, r); }}"
                    ),
                    false,
                ),
                (8, Some(plain), _, Some(thrower)) => (
                    format!(
                        "let depth = get(&raw const tr_depth); push(MAYBE); let failed = std::panic::catch_unwind(|| {{ \
                         let _cleaner = Cleaner(left - 1, f_{plain}); f_{thrower}(left, r) }}).is_err(); \
                         set(&raw mut tr_depth, depth); r += i64::from(failed);"
                    ),
                    false,
                ),
                (9, _, _, _) if shape == Shape::Plain => (format!("r += f_{i}(left - 1, r + 1);"), false),
                (10, Some(plain), ..) => (
                    format!(
                        "push(MAYBE); r += (0..black_box(1)).map(|k| f_{plain}(left - 1, k + a)).sum::<i64>(); pop();"
                    ),
                    true,
                ),
                _ => (format!("r += {call};"), safe_call),
            };
            steps.push((code, safe));
        }
        steps.sort_by_key(|(_, safe)| !safe);
        if steps.first().is_some_and(|(_, safe)| !safe) {
            let all: Vec<_> =
                (i + 1..=FUNCTIONS).filter(|i| self.shapes[*i] == Shape::Plain).take(3).collect();
            let code = if all.is_empty() {
                "r += unsafe { f_1000(left - 1, r) };".to_owned()
            } else {
                format!("r += f_{}(left - 1, r);", self.random.of(&all))
            };
            steps.insert(0, (code, true));
        }
        let size = self.random.of(&[1, 16, 33, 64, 200, 700, 3_000]);
        let _ = writeln!(
            self.out,
            "    enter({i});\n    {first}\n    let mut memory = [a as u8; {size}];\n    black_box(&mut memory);\n    \
             let live = [(); {}].map(|()| random() as i64);\n    if left <= 0 {{\n        r += {};\n    }} else {{",
            1 + self.random.below(6),
            self.random.of(&["unsafe { f_1000(0, r) }", "rust_leaf(r)"]),
        );
        let safe = steps.iter().filter(|(_, safe)| *safe).count();
        if steps.is_empty() {
            self.out.push_str("        r += unsafe { f_1000(0, r) };\n");
        } else {
            let _ = writeln!(self.out, "        match choose({safe}, {}) {{", steps.len());
            for (k, (code, _)) in steps.iter().enumerate() {
                let label = if k + 1 == steps.len() { "_".to_owned() } else { k.to_string() };
                let _ = writeln!(self.out, "            {label} => {{ {code} }}");
            }
            self.out.push_str("        }\n");
        }
        let value = if shape == Shape::Comparator { "(r % 3) as i32" } else { "r" };
        let _ = writeln!(
            self.out,
            "    }}\n    r = r.wrapping_add(i64::from(memory[0])).wrapping_add(live.iter().fold(0, |x, y| x ^ y)) & 0xffff;\n    black_box(&memory);\n    pop();\n    {value}\n}}"
        );
    }
}

const RUST_HEAD: &str = r#"#![no_main]
use std::ffi::c_void;
use std::hint::black_box;
#[repr(C)]
struct Entry { id: u64, address: u64 }
unsafe extern "C-unwind" {
    static mut tr_depth: u32;
    static mut tr_entries: [Entry; 1024];
    static mut tr_kind: i32;
    static mut tr_anywhere: i32;
    static mut tr_captured: i32;
    static mut tr_left: i32;
    static mut tr_descend: i32;
    static mut tr_next: extern "C-unwind" fn(i32, i64) -> i64;
    static mut tr_state: u64;
    static tr_pipe: [i32; 2];
    static tr_signal: i32;
    fn tr_arm(signal: i32, nanoseconds: i64);
    fn tr_raise_next();
    fn f_1000(left: i32, a: i64) -> i64;
    fn qsort(base: *mut c_void, n: usize, size: usize, compare: extern "C-unwind" fn(*const c_void, *const c_void) -> i32);
}
const LIBRARY: u64 = 1 << 32;
const MAYBE: u64 = 2 << 32;
#[inline(always)]
fn get<T: Copy>(at: *const T) -> T { unsafe { at.read_volatile() } }
#[inline(always)]
fn set<T>(at: *mut T, value: T) { unsafe { at.write_volatile(value) } }
// Without a call, also where nothing is optimised: a function that is interrupted in here has not stored its number yet.
#[inline(always)]
fn push(id: u64) {
    unsafe {
        let depth = tr_depth;
        tr_entries[depth as usize] = Entry { id, address: 0 };
        std::arch::asm!("");
        tr_depth = depth + 1;
        std::arch::asm!("");
    }
}
#[inline(always)]
fn pop() {
    unsafe {
        std::arch::asm!("");
        tr_depth = tr_depth - 1;
        std::arch::asm!("");
    }
}
#[inline(always)]
fn enter(id: u64) { push(id) }
#[inline(always)]
fn random() -> u32 {
    let mut x = get(&raw const tr_state);
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    set(&raw mut tr_state, x);
    (x >> 24) as u32
}
#[inline(always)]
fn choose(safe: u32, all: u32) -> u32 {
    (random() & 0xffff) % (if get(&raw const tr_anywhere) != 0 { safe } else { all })
}
struct Entered;
impl Entered {
    #[inline(always)]
    fn new(id: u64) -> Self { push(id); Entered }
}
impl Drop for Entered {
    #[inline(always)]
    fn drop(&mut self) { pop() }
}
struct Cleaner(i32, extern "C-unwind" fn(i32, i64) -> i64);
impl Drop for Cleaner {
    fn drop(&mut self) { black_box(self.1(self.0, 1)); }
}
trait Go { fn go(&self, left: i32, a: i64) -> i64; }
// The end of a chain in Rust: in a loop, in a system call of the standard library, or as C does it.
#[inline(always)]
fn rust_leaf(r: i64) -> i64 {
    let before = get(&raw const tr_captured);
    match get(&raw const tr_kind) {
        8 => {
            unsafe { tr_arm(tr_signal, 30_000 + i64::from(random() % 60_000)) };
            let mut x = r;
            while get(&raw const tr_captured) == before {
                x = x.wrapping_mul(31) ^ i64::from(random());
            }
            x & 7
        }
        3 => {
            unsafe { tr_arm(tr_signal, 200_000) };
            std::thread::sleep(std::time::Duration::from_millis(1));
            r
        }
        2 => {
            use std::io::Read;
            use std::os::fd::FromRawFd;
            let mut byte = [0];
            let mut file = std::mem::ManuallyDrop::new(unsafe { std::fs::File::from_raw_fd(tr_pipe[0]) });
            unsafe { tr_arm(tr_signal, 200_000) };
            while !matches!(file.read(&mut byte), Ok(1)) {}
            r
        }
        _ => unsafe { f_1000(0, r) },
    }
}
"#;
