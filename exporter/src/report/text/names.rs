//! Shortens names: with their packages at the first mention, without them afterwards.

use std::collections::HashMap;

/// The packages and classes that the page has mentioned so far.
#[derive(Debug, Default)]
pub(super) struct Names {
    /// The package of each class by its simple name: two classes with the same name keep their packages.
    classes: HashMap<String, String>,
    packages: Vec<String>,
}

/// Maximum number of packages remembered.
const MAX_PACKAGES: usize = 1024;

impl Names {
    /// The headline has the process name, which is usually the app's package.
    pub(super) fn of(process: &str) -> Self {
        Self { packages: vec![process.to_owned()], classes: HashMap::new() }
    }

    /// `text` with each qualified name in it shortened if its package was mentioned before.
    pub(super) fn text(&mut self, text: &str) -> String {
        self.replaced(text, false)
    }

    /// `text` with each qualified name in it without its package, unless another class has the same name.
    pub(super) fn bare(&mut self, text: &str) -> String {
        self.replaced(text, true)
    }

    /// A message: `com.acme.Pay$Task (Handler callback)` for `android.os.Handler: com.acme.Pay$Task`.
    pub(super) fn message(&mut self, name: &str) -> String {
        match name.split_once(": ") {
            Some((target, callback)) if !callback.starts_with('#') => {
                format!("{} ({} callback)", self.text(callback), self.bare(target))
            }
            Some((target, what)) => format!("{} {what}", self.bare(target)),
            None => self.text(name),
        }
    }

    fn replaced(&mut self, text: &str, bare: bool) -> String {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        let mut before = ' ';
        while let Some(first) = rest.chars().next() {
            let length = rest.find(|c: char| !is_of_name(c)).unwrap_or(rest.len());
            if length == 0 {
                out.push(first);
                before = first;
                rest = &rest[first.len_utf8()..];
                continue;
            }
            let (word, after) = rest.split_at(length);
            // A path is not a name.
            out.push_str(if before == '/' { word } else { self.word(word, bare) });
            before = word.chars().next_back().unwrap_or(' ');
            rest = after;
        }
        out
    }

    fn word<'a>(&mut self, word: &'a str, bare: bool) -> &'a str {
        let Some((package, class)) = parts(word) else { return word };
        let simple = class.split('.').next().unwrap_or(class);
        let known = self.packages.iter().any(|known| known == package);
        if self.packages.len() < MAX_PACKAGES {
            let first = self.classes.entry(simple.to_owned()).or_insert_with(|| package.to_owned());
            if first != package {
                return word;
            }
            if !known && !bare {
                self.packages.push(package.to_owned());
            }
        }
        if known || bare { class } else { word }
    }
}

fn is_of_name(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '.' | '_' | '$')
}

/// The package, and the class with what follows it, of a qualified name.
fn parts(word: &str) -> Option<(&str, &str)> {
    let mut at = 0;
    for segment in word.split('.') {
        let first = segment.chars().next()?;
        if first.is_uppercase() {
            return (at > 0).then(|| (&word[..at - 1], &word[at..]));
        }
        if !first.is_lowercase() && first != '_' {
            return None;
        }
        at += segment.len() + 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::Names;

    #[test]
    fn a_package_is_named_once() {
        let mut names = Names::of("com.acme.shop");
        assert_eq!(names.text("com.acme.shop.Cart.total (Cart.java:7)"), "Cart.total (Cart.java:7)");
        assert_eq!(names.text("android.os.Handler: com.acme.shop.Pay$1"), "android.os.Handler: Pay$1");
        assert_eq!(names.text("android.os.Looper.loop"), "Looper.loop");
        assert_eq!(names.bare("java.net.SocketInputStream.read"), "SocketInputStream.read");
        assert_eq!(names.text("java.net.SocketInputStream.read"), "java.net.SocketInputStream.read");
    }

    #[test]
    fn a_message_is_called_by_its_callback_or_number() {
        let mut names = Names::of("com.acme");
        assert_eq!(names.message("android.os.Handler: com.acme.Pay$1"), "Pay$1 (Handler callback)");
        assert_eq!(
            names.message("android.app.ActivityThread$H: #114 CREATE_SERVICE"),
            "ActivityThread$H #114 CREATE_SERVICE"
        );
        assert_eq!(names.message("Choreographer#doFrame 64"), "Choreographer#doFrame 64");
    }

    #[test]
    fn what_is_no_name_with_a_package_stays() {
        let mut names = Names::of("com.acme");
        for text in [
            "",
            "monitor wait",
            "method 43",
            "art::Monitor::Lock",
            "a.b.c",
            "/data/com.acme.A",
            "1.5 s of 2.0",
            "..A",
            "é.É",
        ] {
            let shown = names.text(text);
            assert_eq!(shown, text);
        }
    }

    #[test]
    fn two_classes_of_one_name_keep_their_packages() {
        let mut names = Names::of("com.acme");
        assert_eq!(names.text("com.acme.Cart.a"), "Cart.a");
        assert_eq!(names.text("org.other.Cart.a"), "org.other.Cart.a");
        assert_eq!(names.bare("org.other.Cart.a"), "org.other.Cart.a");
    }
}
