//! The package manager's answers to installs, with a sentence and a cure for each known failure.
//!
//! The forms are those of AOSP's `PackageManagerShellCommand` (services/core/java/com/android/server/pm, read at API 27 and
//! 33) and of `Pm` (cmds/pm, API 21 to 23): `Success`, `Success: created install session [ID]`, `Success: streamed N bytes`,
//! `Failure [CODE: text]`, and texts without a form, which are mostly the stack trace of an exception. The codes are the
//! constants of `android.content.pm.PackageManager`.

mod known;

use std::borrow::Cow;

use known::{KNOWN, Known, NO_STORAGE, NO_STORAGE_TEXTS};

/// An answer of the package manager.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum InstallAnswer {
    /// The command succeeded.
    Success {
        /// The id of the created session, in the answer to `install-create`.
        session: Option<u32>,
    },
    /// The command failed.
    Failure(InstallFailure),
}

/// Why the package manager refused.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct InstallFailure {
    code: Option<String>,
    text: String,
    package: Option<String>,
}

impl InstallAnswer {
    /// Parses an answer. Anything that is not a success is a failure.
    ///
    /// A failure counts even if a line before it begins with `Success`, since that one may be about the transfer only.
    ///
    /// ```
    /// use device::InstallAnswer;
    ///
    /// let InstallAnswer::Failure(failure) = InstallAnswer::parse(
    ///     "Failure [INSTALL_FAILED_UPDATE_INCOMPATIBLE: Package com.example.shop signatures do not match \
    ///      previously installed version; ignoring!]\n",
    /// ) else { panic!() };
    /// assert_eq!(failure.package(), Some("com.example.shop"));
    /// assert!(failure.cure().unwrap().contains("`adb uninstall com.example.shop`"));
    /// ```
    #[must_use]
    pub fn parse(text: &str) -> Self {
        // `pm` of Android 5 and 6 prints the path first, and any version may print warnings.
        let failed = text.lines().any(|line| line.starts_with("Failure"));
        let success = text.lines().find(|line| is_success(line)).filter(|_| !failed);
        match success {
            Some(line) => Self::Success { session: session(line) },
            None => Self::Failure(InstallFailure::parse(text)),
        }
    }
}

/// Returns whether a line reports success; `Successfully copied` does not.
fn is_success(line: &str) -> bool {
    line.strip_prefix("Success").is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric()))
}

/// Parses `... [ID]`.
fn session(line: &str) -> Option<u32> {
    let (_, rest) = line.rsplit_once('[')?;
    // An id is positive: AOSP takes a random one below Integer.MAX_VALUE.
    rest.split_once(']')?.0.parse().ok().filter(|id| *id > 0)
}

impl InstallFailure {
    fn parse(answer: &str) -> Self {
        let inner = failure_text(answer);
        let text = inner.unwrap_or(answer).trim().to_owned();
        let code = match inner {
            Some(inner) => code_at_start(inner),
            None => code_within(answer),
        };
        Self { code: code.map(str::to_owned), package: package_in(&text).map(str::to_owned), text }
    }

    /// Returns the failure's code: a name such as `INSTALL_FAILED_INVALID_APK`, or a number; `None` if the device sent none.
    #[must_use]
    pub fn code(&self) -> Option<&str> {
        self.code.as_deref()
    }

    /// Returns the device's own text, with the code, without `Failure [` and `]`. It may have several lines.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the package that the device names.
    #[must_use]
    pub fn package(&self) -> Option<&str> {
        self.package.as_deref()
    }

    /// Returns whether the app is installed with another signature, so that only uninstalling it helps.
    #[must_use]
    pub fn needs_uninstall(&self) -> bool {
        self.code() == Some("INSTALL_FAILED_UPDATE_INCOMPATIBLE")
    }

    fn explanation(&self) -> Option<&'static Known> {
        let code = self.code()?;
        let lower = self.text.to_ascii_lowercase();
        KNOWN.iter().find(|known| known.code == code && lower.contains(known.text))
    }

    /// Returns what is wrong, with the device's text; `doing` is what it refused to do.
    pub(crate) fn found(&self, doing: &str) -> String {
        let text = match self.text.as_str() {
            "" => "an empty answer",
            text => text,
        };
        match self.explanation() {
            Some(known) => format!("{} (the device answers: {text})", self.filled(known.found, "the app")),
            None => format!("the device refuses to {doing} the app: {text}"),
        }
    }

    /// Returns what the user can do about it; `None` for an unknown failure.
    #[must_use]
    pub fn cure(&self) -> Option<Cow<'static, str>> {
        self.explanation().map(|known| self.filled(known.cure, "PACKAGE"))
    }

    fn filled(&self, text: &'static str, unknown: &str) -> Cow<'static, str> {
        if text.contains("{package}") {
            text.replace("{package}", self.package().unwrap_or(unknown)).into()
        } else {
            text.into()
        }
    }
}

/// Returns what the brackets of `Failure [...]` contain. The text may have brackets and line ends itself.
fn failure_text(answer: &str) -> Option<&str> {
    let mut at = 0;
    for line in answer.split_inclusive('\n') {
        if line.starts_with("Failure") {
            let (_, inner) = answer.get(at..)?.split_once('[')?;
            return Some(inner.rsplit_once(']').map_or(inner, |(inner, _)| inner));
        }
        at += line.len();
    }
    None
}

/// Returns the code in `CODE: text` or `CODE`.
fn code_at_start(text: &str) -> Option<&str> {
    let code = text.split(':').next()?.trim();
    let name = |code: &str| {
        code.starts_with(|c: char| c.is_ascii_uppercase())
            && code.contains('_')
            && code.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_')
    };
    (name(code) || code.parse::<i32>().is_ok()).then_some(code)
}

/// Returns the code that an answer without a form names or describes.
fn code_within(text: &str) -> Option<&str> {
    let named = text.find("INSTALL_").and_then(|at| {
        let rest = text.get(at..)?;
        let end = rest.find(|c: char| !(c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_'));
        code_at_start(rest.get(..end.unwrap_or(rest.len()))?)
    });
    let described = || {
        let lower = text.to_ascii_lowercase();
        NO_STORAGE_TEXTS.iter().any(|words| lower.contains(words)).then_some(NO_STORAGE)
    };
    // INSTALL_GRANT_RUNTIME_PERMISSIONS is a permission, INSTALL_REPLACE_EXISTING a flag.
    named.filter(|code| code.contains("FAILED")).or_else(described)
}

/// Returns the package in `Package NAME signatures...`, `Existing package NAME ...` or `Missing split for NAME`.
fn package_in(text: &str) -> Option<&str> {
    ["ackage ", "split for "].iter().find_map(|before| {
        let words = text.match_indices(before).filter_map(|(at, _)| text.get(at + before.len()..));
        words.filter_map(|rest| rest.split([' ', ';', ',', '\n']).next()).find(|word| is_package(word))
    })
}

/// Returns whether `word` can be a package's name: it has a dot, and nothing that a shell interprets.
fn is_package(word: &str) -> bool {
    let part = |part: &str| {
        part.starts_with(|c: char| c.is_ascii_alphabetic())
            && part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
    };
    word.len() <= 255 && word.contains('.') && word.split('.').all(part)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn failure(text: &str) -> InstallFailure {
        match InstallAnswer::parse(text) {
            InstallAnswer::Failure(failure) => failure,
            success => panic!("{success:?}"),
        }
    }

    #[test]
    fn successes_of_all_commands_are_parsed() {
        for text in [
            "Success\n",
            "Success",
            "\tpkg: /data/local/tmp/a.apk\nSuccess\r\n",
            "Success: streamed 12 bytes\n",
        ] {
            assert_eq!(InstallAnswer::parse(text), InstallAnswer::Success { session: None }, "{text}");
        }
        let created = InstallAnswer::parse("Success: created install session [1234567890]\n");
        assert_eq!(created, InstallAnswer::Success { session: Some(1_234_567_890) });
        let warned = "Warning [Could not validate the dex paths: x]\nSuccess\n";
        assert_eq!(InstallAnswer::parse(warned), InstallAnswer::Success { session: None });
    }

    #[test]
    fn a_failure_after_a_transferred_file_is_a_failure() {
        let text = "Success: streamed 37341 bytes\nFailure [INSTALL_FAILED_INVALID_APK]\n";
        assert_eq!(failure(text).code(), Some("INSTALL_FAILED_INVALID_APK"));
        assert_eq!(failure("Successfully copied but not installed").code(), None);
    }

    #[test]
    fn an_app_with_another_signature_is_named_with_the_command_that_uninstalls_it() {
        for text in [
            "Package com.example.shop signatures do not match previously installed version; ignoring!",
            "Package com.example.shop signatures do not match the previously installed version; ignoring!",
            "Existing package com.example.shop signatures do not match newer version; ignoring!",
        ] {
            let failure = failure(&format!("Failure [INSTALL_FAILED_UPDATE_INCOMPATIBLE: {text}]\n"));
            assert!(failure.needs_uninstall());
            assert_eq!(failure.package(), Some("com.example.shop"));
            assert!(failure.found("install").starts_with("com.example.shop is already installed"));
            let cure = failure.cure().unwrap();
            assert!(
                cure.contains("`adb uninstall com.example.shop`") && cure.contains("removes the app's data")
            );
        }
        let unnamed = failure("Failure [INSTALL_FAILED_UPDATE_INCOMPATIBLE]\n");
        assert!(unnamed.needs_uninstall() && unnamed.package().is_none());
        assert!(unnamed.found("install").starts_with("the app is already installed"));
    }

    #[test]
    fn each_known_failure_has_a_sentence_and_a_cure() {
        for (answer, found, cure) in [
            (
                "INSTALL_FAILED_INVALID_APK: Failed to extract native libraries, res=-2",
                "native libraries",
                "zipalign -P 16",
            ),
            (
                "INSTALL_FAILED_INVALID_APK: /data/app/vmdl1.tmp/1_x.apk signatures are inconsistent",
                "same key",
                "one key",
            ),
            (
                "INSTALL_FAILED_INVALID_APK: Full install must include a base package",
                "base APK",
                "one command",
            ),
            ("INSTALL_FAILED_INVALID_APK", "invalid", "apksigner verify"),
            (
                "-124: Failed parse during installPackageLI: Targeting R+ (version 30 and above) requires the resources.arsc \
                 of installed APKs to be stored uncompressed and aligned on a 4-byte boundary",
                "resources.arsc",
                "zipalign 4",
            ),
            (
                "INSTALL_FAILED_NO_MATCHING_ABIS: Failed to extract native libraries, res=-113",
                "CPU",
                "cpu.abilist",
            ),
            (
                "INSTALL_FAILED_OLDER_SDK: x: Requires newer sdk version #99",
                "later Android version",
                "minSdkVersion",
            ),
            ("INSTALL_FAILED_TEST_ONLY: installPackageLI", "testOnly", "testOnly"),
            ("INSTALL_FAILED_USER_RESTRICTED: Install canceled by user", "over USB", "Xiaomi"),
            (
                "INSTALL_FAILED_VERIFICATION_FAILURE: Install not allowed",
                "Play Protect",
                "Verify apps over USB",
            ),
            ("INSTALL_FAILED_INSUFFICIENT_STORAGE", "storage", "df -h"),
            ("INSTALL_FAILED_VERSION_DOWNGRADE: Downgrade detected", "later version", "--downgrade"),
            ("INSTALL_FAILED_MISSING_SPLIT: Missing split for com.x.y", "split", "all its splits"),
        ] {
            let failure = failure(&format!("Failure [{answer}]\n"));
            assert!(failure.found("install").contains(found), "{}", failure.found("install"));
            assert!(failure.found("install").contains(answer), "the device's text is kept: {answer}");
            assert!(failure.cure().unwrap().contains(cure), "{:?}", failure.cure());
        }
    }

    #[test]
    fn an_exception_that_reports_a_full_disk_is_explained() {
        let text = "Exception occurred while executing 'install':\nandroid.os.ParcelableException: \
                    java.io.IOException: Requested internal only, but not enough space\n\tat android.os.Parcel\n";
        assert_eq!(failure(text).code(), Some("INSTALL_FAILED_INSUFFICIENT_STORAGE"));
        let text = "java.lang.SecurityException: You need the android.permission.INSTALL_GRANT_RUNTIME_PERMISSIONS permission";
        assert_eq!(failure(text).code(), None);
        let text = "Error: INSTALL_FAILED_USER_RESTRICTED, see settings";
        assert_eq!(failure(text).code(), Some("INSTALL_FAILED_USER_RESTRICTED"));
    }

    #[test]
    fn an_unknown_failure_is_printed_whole() {
        for answer in ["INSTALL_FAILED_SOMETHING_NEW: why [not]", "user 99 doesn't exist", "null", "-3001"] {
            let failure = failure(&format!("Failure [{answer}]\n"));
            assert_eq!(failure.text(), answer);
            assert_eq!(failure.found("install"), format!("the device refuses to install the app: {answer}"));
            assert!(failure.cure().is_none());
        }
        let trace = "java.lang.IllegalStateException: x\n\tat a.B.c(B.java:1)\n\tat a.B.d(B.java:2)";
        assert!(failure(&format!("{trace}\n")).found("install").contains(trace));
        assert!(failure("").found("install").contains("an empty answer"));
    }

    #[test]
    fn a_name_that_a_shell_would_interpret_is_not_a_package() {
        for text in [
            "Package $(reboot) x",
            "Package com.x;reboot y",
            "Package com..x y",
            "Package com y",
            "Package -r.x y",
        ] {
            let failure = failure(&format!("Failure [INSTALL_FAILED_UPDATE_INCOMPATIBLE: {text}]"));
            assert!(failure.package().is_none_or(|package| package == "com.x"), "{failure:?}");
        }
    }

    #[test]
    fn no_code_is_explained_twice() {
        for (n, known) in KNOWN.iter().enumerate() {
            let earlier =
                KNOWN.iter().take(n).any(|other| other.code == known.code && known.text.contains(other.text));
            assert!(!earlier, "{} is hidden by a rule before it", known.code);
            assert!(!known.found.is_empty() && !known.cure.is_empty());
        }
    }

    proptest! {
        #[test]
        fn any_text_is_an_answer(text in "(Success|Failure|Package )?.{0,40}[\\[\\]:\n]{0,3}.{0,40}") {
            if let InstallAnswer::Failure(failure) = InstallAnswer::parse(&text) {
                prop_assert!(text.contains(failure.text()));
                prop_assert!(failure.package().is_none_or(is_package));
                let _ = (failure.found("install"), failure.cure());
            }
        }

        #[test]
        fn any_bytes_are_an_answer(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = InstallAnswer::parse(&String::from_utf8_lossy(&bytes));
        }

        #[test]
        fn a_code_and_a_text_come_back(code in "INSTALL_[A-Z_]{1,30}", text in "[^\n]{0,60}") {
            let failure = failure(&format!("Failure [{code}: {text}]\n"));
            prop_assert_eq!(failure.code(), Some(code.as_str()));
            let expected = format!("{code}: {text}");
            prop_assert_eq!(failure.text(), expected.trim());
        }

        #[test]
        fn an_answer_truncated_at_any_byte_is_no_panic(length in 0_usize..130) {
            let whole = "Failure [INSTALL_FAILED_UPDATE_INCOMPATIBLE: Package com.example.shop signatures do not match previously \
                         installed version; ignoring!]\n";
            let length = length.min(whole.len());
            prop_assert!(matches!(InstallAnswer::parse(&whole[..length]), InstallAnswer::Failure(_)));
        }

        #[test]
        fn a_session_id_is_read_back(id in 1_u32..i32::MAX as u32) {
            let answer = InstallAnswer::parse(&format!("Success: created install session [{id}]\n"));
            prop_assert_eq!(answer, InstallAnswer::Success { session: Some(id) });
        }
    }
}
