//! Names threads, waits, methods and classes for people.

use answers::text::clean;
use trace_format::Thread;

/// The name of a thread for people.
pub(crate) fn thread_name(thread: &Thread) -> String {
    match &thread.name {
        Some(name) => clean(name).into_owned(),
        None if thread.main => "main".to_owned(),
        None => format!("thread {}", thread.tid),
    }
}

/// A method without the package of its class: `com.example.Cart.load` as `Cart.load`.
pub(crate) fn short_method(name: &str) -> &str {
    let mut dots = name.rmatch_indices('.').map(|(at, _)| at);
    match (dots.next(), dots.next()) {
        (Some(_), Some(second)) => &name[second + 1..],
        _ => name,
    }
}

/// A class without its package: `java.util.concurrent.ThreadPoolExecutor` as `ThreadPoolExecutor`.
pub(crate) fn short_class(name: &str) -> &str {
    name.rsplit('.').next().unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_no_package() {
        assert_eq!(short_method("com.example.Cart.load"), "Cart.load");
        assert_eq!((short_method("Cart.load"), short_method("load")), ("Cart.load", "load"));
        assert_eq!((short_class("a.b.Pool"), short_class("Pool")), ("Pool", "Pool"));
    }
}
