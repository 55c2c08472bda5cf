//! Compares two outputs of one command, without numbers and identities.

/// The line with `#` for each number, address and identity, and one blank for several. The word after a number loses its
/// plural, since the number may be 1.
pub(crate) fn masked(line: &str) -> String {
    let mut words: Vec<String> = Vec::new();
    for word in line.split_whitespace() {
        let mut word = mask_word(word);
        if words.last().is_some_and(|before| before == "#") && word.len() > 3 {
            // "# times," and "# time,".
            let end = word.trim_end_matches([',', ';', ':', '.']).len();
            if word[..end].ends_with('s') {
                word.remove(end - 1);
            }
        }
        words.push(word);
    }
    words.join(" ")
}

fn mask_word(word: &str) -> String {
    let mut out = String::new();
    let mut rest = word;
    while let Some(first) = rest.chars().next() {
        let run = rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len());
        let (token, behind) = rest.split_at(run);
        if !token.is_empty() && is_identity(token) {
            out.push('#');
            rest = behind;
        } else if first.is_ascii_digit() {
            // 1,234.5 and 1.2.3 are one number each.
            let mut end = rest.len();
            for (at, c) in rest.char_indices() {
                let joins =
                    matches!(c, '.' | ',' | ':') && rest[at + 1..].starts_with(|c: char| c.is_ascii_digit());
                if !c.is_ascii_digit() && !joins {
                    end = at;
                    break;
                }
            }
            // A sign belongs to its figure.
            if out.ends_with(['+', '-']) && out.len() == 1 {
                out.clear();
            }
            out.push('#');
            rest = &rest[end..];
            // A mark of significance.
            rest = rest.strip_prefix('*').unwrap_or(rest);
        } else if token.is_empty() {
            out.push(first);
            rest = &rest[first.len_utf8()..];
        } else {
            let letters = rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len());
            out.push_str(&rest[..letters]);
            rest = &rest[letters..];
        }
    }
    out
}

/// Whether `token` is a hexadecimal number: with 0x before it, or as long as a map id.
fn is_identity(token: &str) -> bool {
    let hex = |text: &str| text.bytes().all(|b| b.is_ascii_hexdigit());
    match token.strip_prefix("0x") {
        Some(digits) => !digits.is_empty() && hex(digits),
        None => token.len() == 16 && hex(token) && token.bytes().any(|b| b.is_ascii_digit()),
    }
}

/// Where `expected` is not found in `actual`: `None` if it is there, as lines that follow each other. A line `...` stands for
/// any lines. Blank lines do not count.
pub(crate) fn missing(expected: &[String], actual: &str) -> Option<String> {
    let lines = |text: &mut dyn Iterator<Item = &str>| -> Vec<String> {
        text.map(masked).filter(|line| !line.is_empty()).collect()
    };
    let actual = lines(&mut actual.lines());
    let mut from = 0;
    for part in expected.split(|line| line.trim() == "...") {
        let part = lines(&mut part.iter().map(String::as_str));
        let Some(at) =
            (from..=actual.len().saturating_sub(part.len())).find(|at| actual[*at..].starts_with(&part))
        else {
            // The place where most lines match explains the difference best.
            let fits = |at: usize| part.iter().zip(&actual[at..]).take_while(|(a, b)| a == b).count();
            let at = (from..actual.len()).max_by_key(|at| fits(*at)).unwrap_or(from);
            let n = if at < actual.len() { fits(at) } else { 0 };
            return Some(format!(
                "the page says {:?} where the program says {:?}",
                part[n.min(part.len() - 1)],
                actual.get(at + n).map_or("nothing more", String::as_str)
            ));
        };
        from = at + part.len();
    }
    None
}

#[test]
fn numbers_do_not_count_and_words_do() {
    for (one, other) in [
        ("  at +0.036 s  by pid 26268 (uid 0)", "at +12.1 s by pid 7 (uid 1000)"),
        ("it ran 1 time and slept 2 times", "it ran 2 times and slept 1 time"),
        ("map d3e30b3032ec7886 in x", "map 0000000000000001 in x"),
        ("lock (0x9a1ce5)", "lock (0xff)"),
        ("1.0 +0 % 0.0002*", "2.0 -3 % 0.5"),
        ("6,662 classes", "1 class"),
    ] {
        if one.contains("classes") {
            // "classes" would need a dictionary.
            assert_ne!(masked(one), masked(other));
        } else {
            assert_eq!(masked(one), masked(other));
        }
    }
    assert_ne!(masked("waits for the lock"), masked("waited for the lock"));
    assert_ne!(masked("art14-deadlock"), masked("art-deadlock"));
}

#[test]
fn lines_must_follow_each_other_unless_the_page_leaves_some_out() {
    let page = |lines: &[&str]| lines.iter().map(|line| (*line).to_owned()).collect::<Vec<_>>();
    let output = "a 1\n\nb 2\nc 3\nd 4\n";
    assert_eq!(missing(&page(&["b 9", "c 9"]), output), None);
    assert_eq!(missing(&page(&["a 9", "...", "d 9"]), output), None);
    assert!(
        missing(&page(&["a 9", "c 9"]), output).unwrap().contains("\"c #\" where the program says \"b #\"")
    );
    assert!(missing(&page(&["d 4", "...", "a 1"]), output).is_some());
    assert!(missing(&page(&["d 4", "e 5"]), output).unwrap().contains("nothing more"));
}
