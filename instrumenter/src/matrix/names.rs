//! Matrix's reading of a `mapping.txt`, with its first-fit rule and its map of packages.

use std::collections::HashMap;
use std::path::Path;

use proguard::{ProguardMapping, ProguardRecord};

use crate::class::descriptor::{PRIMITIVES, Types, renamed};
use crate::error::Error;

/// The translated name of a method, with the types that identify it.
struct Method {
    arguments: String,
    result: String,
    name: String,
}

/// Dotted names of classes, packages and methods in both directions.
#[derive(Default)]
pub(crate) struct Names {
    original: HashMap<String, String>,
    obfuscated: HashMap<String, String>,
    /// From original to obfuscated. Of several classes of a package, the last one counts.
    packages: HashMap<String, String>,
    /// By class and name in the class file.
    original_methods: HashMap<(String, String), Vec<Method>>,
    /// By original class and name.
    obfuscated_methods: HashMap<(String, String), Vec<Method>>,
}

/// Returns the types of a dotted descriptor as written in a mapping: parameters with commas, and the result.
fn types(descriptor: &str, class: impl Fn(&str) -> String) -> Option<(String, String)> {
    let mut types = Types::try_from(descriptor.as_bytes()).ok()?;
    let mut arguments: Vec<String> = Vec::new();
    while let Some(argument) = types.next().ok()? {
        arguments.push(one_type(argument, &class)?);
    }
    Some((arguments.join(","), one_type(types.result(), &class)?))
}

fn one_type(descriptor: &[u8], class: &impl Fn(&str) -> String) -> Option<String> {
    let descriptor = core::str::from_utf8(descriptor).ok()?;
    let base = descriptor.trim_start_matches('[');
    let primitive = PRIMITIVES.iter().find(|(_, character)| base.starts_with(*character));
    let name = match primitive {
        Some((name, _)) => (*name).to_owned(),
        None => class(base.strip_prefix('L')?.strip_suffix(';')?),
    };
    Some(name + &"[]".repeat(descriptor.len() - base.len()))
}

impl Names {
    pub(crate) fn read(path: &Path) -> Result<Self, Error> {
        let bytes = std::fs::read(path).map_err(Error::reading(path))?;
        Ok(Self::parse(&bytes))
    }

    fn parse(bytes: &[u8]) -> Self {
        let mut names = Self::default();
        let mut class = String::new();
        for record in ProguardMapping::new(bytes).iter().flatten() {
            match record {
                ProguardRecord::Class { original, obfuscated } => {
                    class = original.to_owned();
                    names.original.insert(obfuscated.to_owned(), original.to_owned());
                    names.obfuscated.insert(original.to_owned(), obfuscated.to_owned());
                    if let Some((old, new)) = original.rsplit_once('.').zip(obfuscated.rsplit_once('.')) {
                        names.packages.insert(old.0.to_owned(), new.0.to_owned());
                    }
                }
                ProguardRecord::Method { ty, original, obfuscated, arguments, original_class, .. } => {
                    let holder = original_class.unwrap_or(&class).to_owned();
                    let Some(new_holder) = names.obfuscated.get(&holder).cloned() else { continue };
                    let method = |name: &str| Method {
                        arguments: arguments.to_owned(),
                        result: ty.to_owned(),
                        name: name.to_owned(),
                    };
                    let originals = names.original_methods.entry((new_holder, obfuscated.to_owned()));
                    originals.or_default().push(method(original));
                    let others = names.obfuscated_methods.entry((holder, original.to_owned()));
                    others.or_default().push(method(obfuscated));
                }
                _ => {}
            }
        }
        names
    }

    /// Returns the original name of a class, or the name itself.
    pub(crate) fn original_class<'a>(&'a self, class: &'a str) -> &'a str {
        self.original.get(class).map_or(class, String::as_str)
    }

    /// Returns the name of an original class in the class files, or the name itself.
    pub(crate) fn obfuscated_class<'a>(&'a self, class: &'a str) -> &'a str {
        self.obfuscated.get(class).map_or(class, String::as_str)
    }

    pub(crate) fn obfuscated_package<'a>(&'a self, package: &'a str) -> &'a str {
        self.packages.get(package).map_or(package, String::as_str)
    }

    /// Returns original name and descriptor of a method in the class files.
    pub(crate) fn original_method(&self, class: &str, name: &str, descriptor: &str) -> (String, String) {
        let original = |class: &str| self.original_class(class).to_owned();
        let methods = self.original_methods.get(&(class.to_owned(), name.to_owned()));
        let name = found(methods, types(descriptor, original), name);
        (name, renamed(descriptor, |class| self.original_class(class)))
    }

    /// Returns name and descriptor in the class files of an original method.
    pub(crate) fn obfuscated_method(&self, class: &str, name: &str, descriptor: &str) -> (String, String) {
        let methods = self.obfuscated_methods.get(&(class.to_owned(), name.to_owned()));
        let types = types(descriptor, str::to_owned);
        (found(methods, types, name), renamed(descriptor, |class| self.obfuscated_class(class)))
    }
}

/// Returns the first method with these types.
fn found(methods: Option<&Vec<Method>>, types: Option<(String, String)>, name: &str) -> String {
    let method = methods.zip(types).and_then(|(methods, (arguments, result))| {
        methods.iter().find(|method| method.arguments == arguments && method.result == result)
    });
    method.map_or(name, |method| &method.name).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn methods_are_found_by_their_types_in_both_directions() {
        let names = Names::parse(
            b"a.Foo -> x.b:\n    1:2:a.Foo[] go(int,a.Foo):3:4 -> c\n    void go() -> c\na.Bar -> x.d:\nFlat -> e:\n",
        );
        let original = |descriptor| names.original_method("x.b", "c", descriptor);
        assert_eq!(original("(ILx.b;)[Lx.b;"), ("go".to_owned(), "(ILa.Foo;)[La.Foo;".to_owned()));
        assert_eq!(original("(J)V"), ("c".to_owned(), "(J)V".to_owned()));
        let back = names.obfuscated_method("a.Foo", "go", "(ILa.Foo;)[La.Foo;");
        assert_eq!(back, ("c".to_owned(), "(ILx.b;)[Lx.b;".to_owned()));
        assert_eq!((names.obfuscated_package("a"), names.obfuscated_package("q")), ("x", "q"));
        assert_eq!((names.obfuscated_class("Flat"), names.original_class("e")), ("e", "Flat"));
        for broken in ["", "(", "(L", "()", "(Q)V", "[["] {
            assert_eq!(original(broken).0, "c", "{broken}");
        }
    }
}
