//! Options that name archives of loaded classes.
//!
//! An archive matches only the classes that it was made of. HotSpot 17 to 25 with our agent, as observed: classes from a
//! `SharedArchiveFile` are shown to the agent, from their class files. With an option that writes such an archive the JVM
//! ends before the program starts ("CDS dumping does not support native JVMTI agent"). Classes of an `AOTCache` are loaded
//! before the agent is asked, so it has to change them afterwards.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;

use super::words::Words;

/// An archive that a JVM with an agent uses for the classes that the agent leaves alone.
const SHARED_ARCHIVE: &str = "-XX:SharedArchiveFile=";

/// Writes an archive when the program ends.
const AT_EXIT: &str = "-XX:ArchiveClassesAtExit=";

/// Writes the archive named by [`SHARED_ARCHIVE`] if that does not exist.
const AUTOMATIC: &str = "-XX:+AutoCreateSharedArchive";

/// The starts of all such options.
const CLASS_ARCHIVES: &[&str] = &[
    SHARED_ARCHIVE,
    AT_EXIT,
    AUTOMATIC,
    "-XX:AOTCache=",
    "-XX:AOTCacheOutput=",
    "-XX:AOTConfiguration=",
    "-XX:AOTMode=",
];

/// Options with which a JVM that has an agent does not start the program.
pub(crate) const WRITE_ARCHIVES: [&str; 2] = [AT_EXIT, AUTOMATIC];

/// A word that the launcher reads, and whether it is an option of the JVM.
struct Word {
    text: OsString,
    is_option: bool,
    /// As it has to be written on the command line.
    escaped: OsString,
}

impl Word {
    fn see(text: OsString, line: &mut Words) -> Self {
        let is_option = line.main.is_none();
        let mut escaped = OsString::new();
        if line.reads_files() && text.as_bytes().starts_with(b"@") && text.len() > 1 {
            escaped.push("@");
        }
        escaped.push(&text);
        line.see(text.clone());
        Self { text, is_option, escaped }
    }

    fn is(&self, option: &str) -> bool {
        self.is_option && self.text.as_bytes().starts_with(option.as_bytes())
    }
}

/// The arguments of the launcher without options that name archives, up to the main class; [`SHARED_ARCHIVE`] stays, unless
/// the JVM would write it. An argument file that has such options is replaced by its other words.
pub(crate) fn without_archives(arguments: &[OsString], version: u32) -> Vec<OsString> {
    let mut line = Words::of(version);
    let mut all = Vec::with_capacity(arguments.len());
    for argument in arguments {
        // The launcher will report a file that cannot be read.
        let Some(words) = line.words_of(argument) else { return arguments.to_vec() };
        let words: Vec<Word> = words.into_iter().map(|word| Word::see(word, &mut line)).collect();
        all.push((argument, words));
    }
    let writes_shared = all.iter().flat_map(|(_, words)| words).any(|word| word.is(AUTOMATIC));
    let is_left_out = |word: &Word| {
        CLASS_ARCHIVES
            .iter()
            .any(|archive| word.is(archive) && (**archive != *SHARED_ARCHIVE || writes_shared))
    };
    let mut left = Vec::with_capacity(arguments.len());
    for (argument, words) in all {
        if words.iter().any(is_left_out) {
            left.extend(words.into_iter().filter(|word| !is_left_out(word)).map(|word| word.escaped));
        } else {
            left.push(argument.clone());
        }
    }
    left
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;
    use std::ffi::OsStr;

    fn kept(line: &str, version: u32) -> String {
        let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        let left = without_archives(&words, version);
        left.join(OsStr::new(" ")).into_string().unwrap()
    }

    #[test]
    fn options_that_name_archives_are_left_out_but_for_one_that_is_read() {
        for (line, left) in [
            ("-XX:AOTCache=a -cp x Main -XX:AOTCache=a", "-cp x Main -XX:AOTCache=a"),
            ("-XX:SharedArchiveFile=a -Xmx1g -jar x.jar", "-XX:SharedArchiveFile=a -Xmx1g -jar x.jar"),
            ("-XX:+AutoCreateSharedArchive -XX:SharedArchiveFile=a -jar x.jar", "-jar x.jar"),
            (
                "-XX:SharedArchiveFile=a Main -XX:+AutoCreateSharedArchive",
                "-XX:SharedArchiveFile=a Main -XX:+AutoCreateSharedArchive",
            ),
            ("-cp @@x -XX:AOTMode=auto @@y", "-cp @@x @@y"),
            ("@/no/such -XX:AOTMode=auto", "@/no/such -XX:AOTMode=auto"),
        ] {
            assert_eq!(kept(line, 25), left, "{line}");
        }
    }

    #[test]
    fn an_argument_file_with_such_an_option_is_replaced_by_its_other_words() {
        let scratch = Scratch::new();
        let file = |name: &str, text: &str| scratch.file(name, text.as_bytes()).display().to_string();
        let plain = file("plain", "-Xmx1g -cp 'a b' Main");
        assert_eq!(kept(&format!("@{plain} x"), 25), format!("@{plain} x"));
        let archive = file("archive", "-XX:AOTCache=a -cp 'a b' @c Main @d -XX:AOTCache=e");
        assert_eq!(kept(&format!("-ea @{archive} @x"), 25), "-ea -cp a b @@c Main @d -XX:AOTCache=e @x");
        assert_eq!(kept(&format!("@{archive}"), 8), format!("@{archive}"), "Java 8 reads no such files");
    }
}
