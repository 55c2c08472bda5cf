//! The package manager's answers to installs, with a sentence and a cure for each known failure.
//!
//! The forms are those of AOSP's `PackageManagerShellCommand` (services/core/java/com/android/server/pm, API 24 to 36) and
//! of `Pm` (cmds/pm, API 21 to 23): `Success`, `Success: created install session [ID]`, `Success: streamed N bytes`,
//! `Failure [CODE: text]`, and texts without a form, which are mostly the stack trace of an exception. The codes are the
//! constants of `android.content.pm.PackageManager`.

use std::borrow::Cow;

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

/// A failure that can be explained.
struct Known {
    code: &'static str,
    /// What the device's text contains, in lower case; empty if the code suffices.
    text: &'static str,
    /// The finding. `{package}` stands for the package's name.
    found: &'static str,
    cure: &'static str,
}

const fn known(code: &'static str, text: &'static str, found: &'static str, cure: &'static str) -> Known {
    Known { code, text, found, cure }
}

/// The first match counts, so that a rule with a text precedes the one without.
const KNOWN: &[Known] = &[
    known(
        "INSTALL_FAILED_UPDATE_INCOMPATIBLE",
        "",
        "{package} is already installed and signed with another key",
        "sign the APK with the same key, or run `adb uninstall {package}` and install again, or add --uninstall-first; \
         uninstalling removes the app's data",
    ),
    known(
        "INSTALL_FAILED_SHARED_USER_INCOMPATIBLE",
        "",
        "an installed app has the same sharedUserId and is signed with another key",
        "sign the APK with the key of that app, or uninstall that app, which removes its data",
    ),
    known(
        "INSTALL_FAILED_VERSION_DOWNGRADE",
        "",
        "a later version is installed",
        "add --downgrade, which the system allows for debuggable apps; otherwise raise versionCode, or uninstall the app, which \
         removes its data",
    ),
    known(
        "INSTALL_FAILED_INVALID_APK",
        "extract native libraries",
        "the system cannot use the native libraries in the APK",
        "lib/*.so must be stored uncompressed and aligned to pages (`zipalign -P 16 4`, before signing), unless the manifest has \
         android:extractNativeLibs=\"true\"",
    ),
    known(
        "INSTALL_FAILED_INVALID_APK",
        "signatures are inconsistent",
        "the APKs are not signed with the same key",
        "sign all APKs of the app with one key",
    ),
    known(
        "INSTALL_FAILED_INVALID_APK",
        "must include a base package",
        "the base APK is missing",
        "give the base APK and its splits in one command",
    ),
    known(
        "INSTALL_FAILED_INVALID_APK",
        "defined multiple times",
        "two of the APKs are the same split",
        "give each split once, and only one base APK",
    ),
    known(
        "INSTALL_FAILED_INVALID_APK",
        "",
        "the system rejects the APK as invalid",
        "check it with `apksigner verify` and `zipalign -c 4`, or build it again",
    ),
    known(
        "INSTALL_PARSE_FAILED_NOT_APK",
        "",
        "the system cannot read the file as an APK",
        "check it with `apksigner verify`, or build it again",
    ),
    known(
        "INSTALL_PARSE_FAILED_NO_CERTIFICATES",
        "",
        "the APK is not signed, or its signature does not match its content",
        "align it with zipalign first and sign it with apksigner after that; an app with targetSdkVersion 30 or later needs \
         signature scheme v2 or v3",
    ),
    known(
        "INSTALL_PARSE_FAILED_INCONSISTENT_CERTIFICATES",
        "",
        "parts of the app are signed with different keys",
        "sign all APKs of the app with one key; if the app is installed with another key, uninstall it, which removes its data",
    ),
    // PackageManager.installStatusToString has no name for this constant, so that the device prints its number.
    known(
        "-124",
        "",
        "resources.arsc is compressed, or not aligned to 4 bytes",
        "store resources.arsc uncompressed, align the APK with `zipalign 4`, and sign it again",
    ),
    known(
        "INSTALL_PARSE_FAILED_RESOURCES_ARSC_COMPRESSED",
        "",
        "resources.arsc is compressed, or not aligned to 4 bytes",
        "store resources.arsc uncompressed, align the APK with `zipalign 4`, and sign it again",
    ),
    known(
        "INSTALL_PARSE_FAILED_MANIFEST_MALFORMED",
        "",
        "the manifest in the APK is invalid",
        "see the device's text; `aapt dump xmltree APK AndroidManifest.xml` shows the manifest",
    ),
    known(
        "INSTALL_FAILED_NO_MATCHING_ABIS",
        "",
        "the APK has no native libraries for the device's CPU",
        "add those for an ABI of `adb shell getprop ro.product.cpu.abilist`, or use another device",
    ),
    known(
        "INSTALL_FAILED_CPU_ABI_INCOMPATIBLE",
        "",
        "the APK's native libraries are for another CPU",
        "add those for an ABI of `adb shell getprop ro.product.cpu.abilist`, or use another device",
    ),
    known(
        "INSTALL_FAILED_OLDER_SDK",
        "",
        "the app needs a later Android version than the device has",
        "use a device whose `adb shell getprop ro.build.version.sdk` is minSdkVersion or more, or lower minSdkVersion",
    ),
    known(
        "INSTALL_FAILED_DEPRECATED_SDK_VERSION",
        "",
        "the app targets an Android version that the device no longer accepts",
        "raise targetSdkVersion, or run `adb install --bypass-low-target-sdk-block APK`",
    ),
    known(
        "INSTALL_FAILED_TEST_ONLY",
        "",
        "the APK is marked android:testOnly, and the device does not accept such apps",
        "build it with android:testOnly=\"false\"; Android Studio sets the attribute when it builds for a run",
    ),
    known(
        "INSTALL_FAILED_USER_RESTRICTED",
        "",
        "the device does not allow installs over USB, or the user did not confirm this one",
        "unlock the device and confirm; on Xiaomi, Oppo and Vivo switch on \"Install via USB\" in the developer options; a work \
         profile or a restricted user may forbid installs",
    ),
    known(
        "INSTALL_FAILED_VERIFICATION_FAILURE",
        "",
        "the device's app verification, mostly Play Protect, refuses the app",
        "unlock the device and answer Play Protect's question, or switch off \"Verify apps over USB\" in the developer options",
    ),
    known(
        "INSTALL_FAILED_VERIFICATION_TIMEOUT",
        "",
        "the device's app verification, mostly Play Protect, did not end in time",
        "check the device's network connection and install again, or switch off \"Verify apps over USB\" in the developer options",
    ),
    known(
        "INSTALL_FAILED_INSUFFICIENT_STORAGE",
        "",
        "the device has too little free storage",
        "uninstall apps or remove files; `adb shell df -h /data` shows the free space",
    ),
    known(
        "INSTALL_FAILED_MISSING_SPLIT",
        "",
        "a split of the app is missing",
        "give the base APK and all its splits in one command; `adb shell pm path PACKAGE` lists those of an installed app",
    ),
    known(
        "INSTALL_FAILED_MISSING_SHARED_LIBRARY",
        "",
        "the app needs a shared library that the device does not have",
        "use a device that has it, or set android:required=\"false\" in the manifest's uses-library",
    ),
    known(
        "INSTALL_FAILED_CONFLICTING_PROVIDER",
        "",
        "an installed app already has a content provider of the same authority",
        "uninstall that app, which removes its data, or change android:authorities",
    ),
    known(
        "INSTALL_FAILED_DUPLICATE_PERMISSION",
        "",
        "an installed app already declares a permission of the same name and is signed with another key",
        "uninstall that app, which removes its data, or rename the permission",
    ),
    known(
        "INSTALL_FAILED_DEXOPT",
        "",
        "the system cannot load the app's dex files",
        "check the dex files with dexdump, and the free storage of the device",
    ),
    known(
        "INSTALL_FAILED_ABORTED",
        "",
        "the install was cancelled on the device",
        "unlock the device, install again, and confirm if it asks",
    ),
];

/// Pieces of answers without a form, and the code that the package manager uses for the same problem elsewhere.
///
/// `createSession` throws the first one (`InstallLocationUtils.resolveInstallVolume`).
const TEXTS: &[(&str, &str)] = &[
    ("not enough space", "INSTALL_FAILED_INSUFFICIENT_STORAGE"),
    ("no space left on device", "INSTALL_FAILED_INSUFFICIENT_STORAGE"),
    ("enospc", "INSTALL_FAILED_INSUFFICIENT_STORAGE"),
];

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
        TEXTS.iter().find(|(words, _)| lower.contains(words)).map(|(_, code)| *code)
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
