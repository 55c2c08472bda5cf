//! Options of the JVM in environment variables.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;

/// Variables from which a JVM or its launcher reads options.
const VARIABLES: [&str; 3] = ["JAVA_TOOL_OPTIONS", super::VARIABLE, "_JAVA_OPTIONS"];

/// The variable that has an option which starts with one of these, and that start. `value` reads a variable.
pub(crate) fn option_in_variables<'a>(
    starts: &[&'a str],
    value: impl Fn(&str) -> Option<OsString>,
) -> Option<(&'static str, &'a str)> {
    VARIABLES.iter().find_map(|variable| {
        let text = value(variable)?;
        let has = |start: &&&str| {
            text.as_bytes().split(u8::is_ascii_whitespace).any(|word| word.starts_with(start.as_bytes()))
        };
        starts.iter().find(has).map(|start| (*variable, *start))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_option_is_found_with_its_variable() {
        let found = |name: &'static str, text: &'static str| {
            option_in_variables(&["-XX:ArchiveClassesAtExit=", "-XX:+A"], |asked| {
                (asked == name).then(|| text.into())
            })
        };
        let at_exit = found("JAVA_TOOL_OPTIONS", "-ea -XX:ArchiveClassesAtExit=a.jsa");
        assert_eq!(at_exit, Some(("JAVA_TOOL_OPTIONS", "-XX:ArchiveClassesAtExit=")));
        assert_eq!(found("JDK_JAVA_OPTIONS", "-XX:+A"), Some(("JDK_JAVA_OPTIONS", "-XX:+A")));
        assert_eq!(found("_JAVA_OPTIONS", "-XX:-A -Dx=-XX:+A"), None);
        assert_eq!(found("OTHER", "-XX:+A"), None);
    }
}
