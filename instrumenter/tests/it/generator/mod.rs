//! Random classes that verify: structured code over locals that are all set from the start, so that every frame has
//! the same locals.

mod body;
mod statements;

use crate::assembler::Assembler;
use body::{DOUBLE, INT_A, INT_B, LONG, Method, OBJECT, Random, Refs};

/// Builds a class `name` with `public static int run(int, long, Object)`.
pub(crate) fn class(name: &str, seed: u64) -> Vec<u8> {
    let mut random = Random::new(seed);
    let mut class = Assembler::new(name);
    let this_class = class.this_class();
    let count = 2 + random.below(3) as usize;
    let names: Vec<String> =
        (0..count).map(|n| if n == 0 { "run".into() } else { format!("m{n}") }).collect();
    let statics: Vec<bool> = (0..count).map(|n| n == 0 || random.below(3) > 0).collect();
    const DESCRIPTOR: &str = "(IJLjava/lang/Object;)I";
    let methods = names
        .iter()
        .zip(&statics)
        .map(|(method, &is)| (class.method_ref(name, method, DESCRIPTOR), is))
        .collect();
    let refs = Refs {
        object: class.class("java/lang/Object").to_be_bytes(),
        throwable: class.class("java/lang/Throwable"),
        arithmetic: class.class("java/lang/ArithmeticException"),
        runtime: class.class("java/lang/RuntimeException"),
        runtime_init: class.method_ref("java/lang/RuntimeException", "<init>", "()V"),
        object_init: class.method_ref("java/lang/Object", "<init>", "()V"),
        sleep: class.method_ref("java/lang/Thread", "sleep", "(J)V"),
        park: class.method_ref(
            "java/util/concurrent/locks/LockSupport",
            "parkNanos",
            "(Ljava/lang/Object;J)V",
        ),
        wait: class.method_ref("java/lang/Object", "wait", "(J)V"),
        hash: class.method_ref("java/lang/Object", "toString", "()Ljava/lang/String;"),
        this_init: class.method_ref(name, "<init>", "(I)V"),
        methods,
    };
    let start = |random, has_this: bool, base: u16, number: usize| Method {
        code: Vec::new(),
        handlers: Vec::new(),
        frames: Vec::new(),
        random,
        refs: &refs,
        base,
        has_this,
        this_class,
        before_super: false,
        locks: 0,
        number,
    };

    let mut constructor = start(Random::new(random.next()), true, 1, usize::MAX);
    constructor.before_super = true;
    // A constant replaces the object argument.
    constructor.op(&[1]);
    constructor.local(58, OBJECT);
    constructor.set_up(false);
    constructor.statements(2);
    constructor.op(&[42]);
    let init = refs.object_init;
    constructor.call(183, init);
    constructor.before_super = false;
    constructor.number = count - 1;
    constructor.op(&[0]);
    let [high, low] = refs.object;
    constructor.op(&[187, high, low, 89]);
    constructor.call(183, init);
    constructor.local(58, OBJECT);
    constructor.op(&[0]);
    constructor.number = usize::MAX - 1;
    constructor.post_super();
    constructor.op(&[177]);
    let body = constructor.finish();
    class.method(1, "<init>", "(I)V", &body);

    for (number, (method_name, &is_static)) in names.iter().zip(&statics).enumerate() {
        let has_this = !is_static;
        let mut method = start(Random::new(random.next()), has_this, u16::from(has_this), number);
        method.set_up(true);
        method.statements(4);
        for local in [INT_A, INT_B] {
            method.local(21, local);
        }
        method.op(&[130]);
        method.local(22, LONG);
        method.op(&[136, 130]);
        method.local(24, DOUBLE);
        method.op(&[142, 130, 172]);
        let body = method.finish();
        let synchronized = if random.below(3) == 0 { 0x20 } else { 0 };
        class.method(1 | synchronized | if is_static { 8 } else { 0 }, method_name, DESCRIPTOR, &body);
    }
    class.finish()
}
