//! Names as they are in the source.

use std::fmt::{self, Write};

/// The longest mangled name that is demangled; a longer one is cut.
pub(super) const MAX_MANGLED: usize = 16 << 10;
/// The longest name, in bytes.
const MAX_NAME: usize = 4 << 10;

/// A text that ends at [`MAX_NAME`]: back references let a short name stand for a very long one.
struct Bounded(String);

impl Write for Bounded {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if self.0.len() + text.len() <= MAX_NAME {
            self.0.push_str(text);
            return Ok(());
        }
        self.0.push_str(&text[..text.floor_char_boundary(MAX_NAME - self.0.len())]);
        self.0.push('…');
        Err(fmt::Error)
    }
}

/// A text of at most [`MAX_NAME`] bytes.
pub(super) fn shortened(text: &str) -> String {
    let mut out = Bounded(String::new());
    // An error is the bound.
    let _ = out.write_str(text);
    out.0
}

/// The name of a function in C++ or Rust; any other name as it is. At most 4 KiB.
pub(super) fn demangle(name: &str) -> String {
    let mut out = Bounded(String::new());
    if name.len() <= MAX_MANGLED {
        if is_rust(name)
            && let Ok(rust) = rustc_demangle::try_demangle(name)
        {
            // Without the hash. An error is the bound.
            let _ = write!(out, "{rust:#}");
            if !out.0.is_empty() {
                return out.0;
            }
        }
        if (name.starts_with("_Z") || name.starts_with("___Z"))
            && let Ok(symbol) = cpp_demangle::Symbol::new(name)
        {
            // `Buffer<8192>`, not `Buffer<(unsigned long)8192>`.
            let options = cpp_demangle::DemangleOptions::new().hide_expression_literal_types();
            let done = symbol.structured_demangle(&mut out, &options);
            if !out.0.is_empty() && (done.is_ok() || out.0.len() > MAX_NAME) {
                return out.0;
            }
        }
    }
    shortened(name)
}

/// The demangled name of a function, and the distance from its start, if there is one.
pub(super) fn placed(name: &str, offset: u64) -> String {
    let name = demangle(name);
    if offset == 0 { name } else { format!("{name}+{offset:#x}") }
}

/// Whether it is a name in one of Rust's two forms. The older one is also a name of C++, but for its hash.
fn is_rust(name: &str) -> bool {
    if name.starts_with("_R") {
        return true;
    }
    let Some(hash) = name.rfind("17h").and_then(|at| name.get(at + 3..)) else { return false };
    name.starts_with("_ZN")
        && hash.len() > 16
        && hash.bytes().take(16).all(|byte| byte.is_ascii_hexdigit())
        && hash.as_bytes()[16] == b'E'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_each_language() {
        for (mangled, name) in [
            ("main", "main"),
            ("_ZN7SkImage6decodeEPKcm", "SkImage::decode(char const*, unsigned long)"),
            ("_ZN3art6Thread3RunEv.cold", "art::Thread::Run() [clone .cold]"),
            ("_ZN4core3fmt5write17h0123456789abcdefE", "core::fmt::write"),
            ("_ZN4core3fmt5write17h0123456789abcdefE.llvm.123", "core::fmt::write"),
            ("_RNvCs1234_7mycrate3foo", "mycrate::foo"),
            // A name of 17 letters that begins with h is no hash.
            ("_ZN3foo17handles_the_thinkEv", "foo::handles_the_think()"),
            ("_Z", "_Z"),
            ("_R", "_R"),
            ("Java_com_example_Native_run", "Java_com_example_Native_run"),
        ] {
            assert_eq!(demangle(mangled), name, "{mangled}");
        }
    }

    #[test]
    fn a_name_that_doubles_with_every_reference_is_cut() {
        // f(A<B>, A<A<B>, A<B>>, ...): each argument is twice as long as the one before.
        let mut name = "_Z1f1AI1BE".to_owned();
        let digit = |number: u32| char::from_digit(number, 36).unwrap().to_ascii_uppercase();
        for level in 1..34 {
            let before = digit(level);
            write!(name, "S_IS{before}_S{before}_E").unwrap();
        }
        let started = std::time::Instant::now();
        let text = demangle(&name);
        assert!(text.len() <= MAX_NAME + '…'.len_utf8(), "{}", text.len());
        assert!(started.elapsed().as_secs() < 5);
        assert!(demangle(&"x".repeat(100_000)).len() <= MAX_NAME + '…'.len_utf8());
    }
}
