//! Code that D8 and R8 write themselves: it only calls a method of the source, which is traced itself.
//!
//! Names are those of r8's `synthesis/SyntheticNaming.java`, `InterfaceDesugaringSyntheticHelper.java`, `NestBasedAccessDesugaring.java`
//! and `RecordDesugaring.java`.

use dex::code::{Call, Facts, Invoke};
use dex::{Dex, access};

use super::names;

/// Parts of the names of classes that are made for lambdas, backports and other desugared code.
const CLASSES: [&str; 2] = ["$$ExternalSynthetic", "-$$Lambda$"];
/// Prefixes of accessors that are made for nests, as javac's `access$000`, for the bodies of lambdas, and for a record's fields.
const ACCESSORS: [&str; 3] = ["-$$Nest$", "$r8$lambda$", "$record$"];
/// The end of the name of a class that has the code of an interface's methods, for systems on which interfaces have none.
const COMPANION: &str = "$-CC";
/// The prefix of a default method's name there.
const DEFAULT: &str = "$default$";

/// Returns whether a class, of this internal name and with these access flags, is made.
pub(crate) fn is_made_class(name: &str, access: u32) -> bool {
    access & access::SYNTHETIC != 0 && CLASSES.iter().any(|part| name.contains(part))
}

/// Returns whether a method of another class is made.
pub(crate) fn is_made_method(dex: &Dex<'_>, name: &str, access: u32, code: &Facts) -> bool {
    ACCESSORS.iter().any(|prefix| name.starts_with(prefix))
        || access & access::SYNTHETIC != 0 && calls_default(dex, name, &code.calls)
}

/// Returns whether the only call is that of the default method of this name, which a class inherits.
fn calls_default(dex: &Dex<'_>, name: &str, calls: &[Call]) -> bool {
    let [Call { how: Invoke::Static, target, .. }] = calls else { return false };
    dex.methods.get(*target as usize).is_some_and(|called| {
        names::class(dex, called.class).ends_with(COMPANION)
            && names::string(dex, called.name).strip_prefix(DEFAULT) == Some(name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A dex with one method, and code that calls it.
    fn calls(class: &str, name: &str, how: Invoke) -> (Dex<'static>, Facts) {
        let mut dex = Dex::default();
        let class = dex.find_or_add_type(class);
        let void = dex.find_or_add_type("V");
        let proto = dex.find_or_add_proto(void, &[]);
        let target = dex.find_or_add_method(class, name, proto);
        (dex, Facts { calls: vec![Call { at: 0, how, target }], ..Facts::default() })
    }

    #[test]
    fn a_method_that_forwards_to_an_inherited_default_method_is_made() {
        let (dex, code) = calls("Lcom/acme/Step$-CC;", "$default$twice", Invoke::Static);
        assert!(is_made_method(&dex, "twice", access::SYNTHETIC, &code));
        // Of the source, or another call.
        assert!(!is_made_method(&dex, "twice", 0, &code));
        assert!(!is_made_method(&dex, "thrice", access::SYNTHETIC, &code));
        let more = Facts { calls: [&code.calls[..], &code.calls[..]].concat(), ..Facts::default() };
        assert!(!is_made_method(&dex, "twice", access::SYNTHETIC, &more));
        let (dex, code) = calls("Lcom/acme/Step;", "$default$twice", Invoke::Static);
        assert!(!is_made_method(&dex, "twice", access::SYNTHETIC, &code));
        let (dex, code) = calls("Lcom/acme/Step$-CC;", "$default$twice", Invoke::Virtual);
        assert!(!is_made_method(&dex, "twice", access::SYNTHETIC, &code));
    }

    #[test]
    fn accessors_and_classes_of_lambdas_are_made() {
        let (dex, code) = calls("Lcom/acme/Step;", "lambda$run$0", Invoke::Static);
        assert!(is_made_method(&dex, "$r8$lambda$qx1v", access::SYNTHETIC, &code));
        assert!(is_made_method(&dex, "-$$Nest$fgetname", access::SYNTHETIC, &code));
        assert!(is_made_method(&dex, "$record$getFieldsAsObjects", access::SYNTHETIC, &code));
        assert!(!is_made_method(&dex, "lambda$run$0", access::SYNTHETIC, &code));
        assert!(is_made_class("com/acme/Main$$ExternalSyntheticLambda0", 0x1011));
        assert!(!is_made_class("com/acme/Main$$ExternalSyntheticLambda0", 0x0011));
        assert!(!is_made_class("com/acme/Main$1", 0x1011));
    }
}
