//! Formats durations, counts, threads and waits.

use trace_format::Thread;
use trace_format::event::WaitKind;

use crate::text::clean;

/// A duration with its significant digits.
pub(crate) fn seconds(ns: u64) -> String {
    match ns {
        0..1_000_000 => format!("{:.3} ms", ns as f64 / 1e6),
        1_000_000..1_000_000_000 => format!("{:.1} ms", ns as f64 / 1e6),
        _ => format!("{:.3} s", ns as f64 / 1e9),
    }
}

/// A duration with two or three digits, for a sentence.
pub(crate) fn rounded(ns: u64) -> String {
    match ns {
        0 => "0 ms".to_owned(),
        1..995_000 => format!("{:.2} ms", ns as f64 / 1e6),
        995_000..99_950_000 => format!("{:.1} ms", ns as f64 / 1e6),
        99_950_000..999_500_000 => format!("{:.0} ms", ns as f64 / 1e6),
        _ => format!("{:.1} s", ns as f64 / 1e9),
    }
}

/// An estimated number with thousands separators, rounded to three digits.
pub(crate) fn about(n: u64) -> String {
    let least = 10_u64.pow(n.checked_ilog10().unwrap_or(0).saturating_sub(2));
    thousands(n / least * least)
}

/// A number with thousands separators.
pub(crate) fn thousands(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number of bytes in whole MB.
pub(crate) fn megabytes(bytes: u64) -> String {
    format!("{} MB", thousands(bytes >> 20))
}

/// `1 message`, `2 messages`.
pub(crate) fn times(n: u64, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

/// The name of a thread for people.
pub(crate) fn thread_name(thread: &Thread) -> String {
    match &thread.name {
        Some(name) => clean(name).into_owned(),
        None if thread.main => "main".to_owned(),
        None => format!("thread {}", thread.tid),
    }
}

/// What a wait is for, in a few words.
pub(crate) fn waited_for(kind: WaitKind, class: Option<&str>, lock: u64) -> String {
    let (phrases, what) = (kind.phrases(), kind.phrases().waited);
    let class = match phrases.has_object {
        true => format!(" {}", class.unwrap_or("an object of unknown class")),
        false => String::new(),
    };
    let is_lock = lock > 0 && kind.has_lock();
    let lock = if is_lock { format!(" (0x{lock:x})") } else { String::new() };
    format!("{what}{class}{lock}")
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

/// A sentence about main, said of another thread.
pub(crate) fn said_of(thread: &str, sentence: &str) -> String {
    let of_thread = |word: &str| match word.strip_prefix("main") {
        Some(end @ ("" | "'s" | "," | ":" | ";")) => format!("\"{thread}\"{end}"),
        _ => word.to_owned(),
    };
    sentence.split(' ').map(of_thread).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rounded_duration_has_the_digits_of_a_sentence() {
        let texts =
            [0, 36_000, 999_000, 2_210_000, 99_960_000, 300_100_000, 999_500_000, 8_006_000_000].map(rounded);
        assert_eq!(texts, ["0 ms", "0.04 ms", "1.0 ms", "2.2 ms", "100 ms", "300 ms", "1.0 s", "8.0 s"]);
    }

    #[test]
    fn an_estimate_has_three_digits() {
        let texts = [0, 7, 999, 1_234, 41_234_567, u64::MAX].map(about);
        assert_eq!(texts, ["0", "7", "999", "1,230", "41,200,000", "18,400,000,000,000,000,000"]);
    }

    #[test]
    fn names_have_no_package() {
        assert_eq!(short_method("com.example.Cart.load"), "Cart.load");
        assert_eq!((short_method("Cart.load"), short_method("load")), ("Cart.load", "load"));
        assert_eq!((short_class("a.b.Pool"), short_class("Pool")), ("Pool", "Pool"));
    }
}
