//! The failures of the package manager that have a sentence and a cure. The codes are constants of
//! `android.content.pm.PackageManager`.

/// A failure that can be explained.
#[derive(Debug)]
pub(super) struct Known {
    pub(super) code: &'static str,
    /// What the device's text contains, in lower case; empty if the code suffices.
    pub(super) text: &'static str,
    /// The finding. `{package}` stands for the package's name.
    pub(super) found: &'static str,
    /// What the user can do. `{package}` stands for the package's name.
    pub(super) cure: &'static str,
}

const fn known(code: &'static str, found: &'static str, cure: &'static str) -> Known {
    detailed(code, "", found, cure)
}

const fn detailed(code: &'static str, text: &'static str, found: &'static str, cure: &'static str) -> Known {
    Known { code, text, found, cure }
}

/// The first match counts, so that a rule with a text precedes the one without.
pub(super) const KNOWN: &[Known] = &[
    known(
        "INSTALL_FAILED_UPDATE_INCOMPATIBLE",
        "{package} is already installed and signed with another key",
        "sign the APK with the same key, or run `adb uninstall {package}` and install again, or add --uninstall-first; \
         uninstalling removes the app's data",
    ),
    known(
        "INSTALL_FAILED_SHARED_USER_INCOMPATIBLE",
        "an installed app has the same sharedUserId and is signed with another key",
        "sign the APK with the key of that app, or uninstall that app, which removes its data",
    ),
    known(
        "INSTALL_FAILED_VERSION_DOWNGRADE",
        "a later version is installed",
        "add --downgrade, which the system allows for debuggable apps; otherwise raise versionCode, or uninstall the app, which \
         removes its data",
    ),
    detailed(
        "INSTALL_FAILED_INVALID_APK",
        "extract native libraries",
        "the system cannot use the native libraries in the APK",
        "lib/*.so must be stored uncompressed and aligned to pages (`zipalign -P 16 4`, before signing), unless the manifest has \
         android:extractNativeLibs=\"true\"",
    ),
    detailed(
        "INSTALL_FAILED_INVALID_APK",
        "signatures are inconsistent",
        "the APKs are not signed with the same key",
        "sign all APKs of the app with one key",
    ),
    detailed(
        "INSTALL_FAILED_INVALID_APK",
        "must include a base package",
        "the base APK is missing",
        "give the base APK and its splits in one command",
    ),
    detailed(
        "INSTALL_FAILED_INVALID_APK",
        "defined multiple times",
        "two of the APKs are the same split",
        "give each split once, and only one base APK",
    ),
    known(
        "INSTALL_FAILED_INVALID_APK",
        "the system rejects the APK as invalid",
        "check it with `apksigner verify` and `zipalign -c 4`, or build it again",
    ),
    known(
        "INSTALL_PARSE_FAILED_NOT_APK",
        "the system cannot read the file as an APK",
        "check it with `apksigner verify`, or build it again",
    ),
    known(
        "INSTALL_PARSE_FAILED_NO_CERTIFICATES",
        "the APK is not signed, or its signature does not match its content",
        "align it with zipalign first and sign it with apksigner after that; an app with targetSdkVersion 30 or later needs \
         signature scheme v2 or v3",
    ),
    known(
        "INSTALL_PARSE_FAILED_INCONSISTENT_CERTIFICATES",
        "parts of the app are signed with different keys",
        "sign all APKs of the app with one key; if the app is installed with another key, uninstall it, which removes its data",
    ),
    // PackageManager.installStatusToString has no name for this constant, so that the device prints its number.
    known(
        "-124",
        "resources.arsc is compressed, or not aligned to 4 bytes",
        "store resources.arsc uncompressed, align the APK with `zipalign 4`, and sign it again",
    ),
    known(
        "INSTALL_PARSE_FAILED_RESOURCES_ARSC_COMPRESSED",
        "resources.arsc is compressed, or not aligned to 4 bytes",
        "store resources.arsc uncompressed, align the APK with `zipalign 4`, and sign it again",
    ),
    known(
        "INSTALL_PARSE_FAILED_MANIFEST_MALFORMED",
        "the manifest in the APK is invalid",
        "see the device's text; `aapt dump xmltree APK AndroidManifest.xml` shows the manifest",
    ),
    known(
        "INSTALL_FAILED_NO_MATCHING_ABIS",
        "the APK has no native libraries for the device's CPU",
        "add those for an ABI of `adb shell getprop ro.product.cpu.abilist`, or use another device",
    ),
    known(
        "INSTALL_FAILED_CPU_ABI_INCOMPATIBLE",
        "the APK's native libraries are for another CPU",
        "add those for an ABI of `adb shell getprop ro.product.cpu.abilist`, or use another device",
    ),
    known(
        "INSTALL_FAILED_OLDER_SDK",
        "the app needs a later Android version than the device has",
        "use a device whose `adb shell getprop ro.build.version.sdk` is minSdkVersion or more, or lower minSdkVersion",
    ),
    known(
        "INSTALL_FAILED_DEPRECATED_SDK_VERSION",
        "the app targets an Android version that the device no longer accepts",
        "raise targetSdkVersion, or run `adb install --bypass-low-target-sdk-block APK`",
    ),
    known(
        "INSTALL_FAILED_TEST_ONLY",
        "the APK is marked android:testOnly, and the device does not accept such apps",
        "build it with android:testOnly=\"false\"; Android Studio sets the attribute when it builds for a run",
    ),
    known(
        "INSTALL_FAILED_USER_RESTRICTED",
        "the device does not allow installs over USB, or the user did not confirm this one",
        "unlock the device and confirm; on Xiaomi, Oppo and Vivo switch on \"Install via USB\" in the developer options; a work \
         profile or a restricted user may forbid installs",
    ),
    known(
        "INSTALL_FAILED_VERIFICATION_FAILURE",
        "the device's app verification, mostly Play Protect, refuses the app",
        "unlock the device and answer Play Protect's question, or switch off \"Verify apps over USB\" in the developer options",
    ),
    known(
        "INSTALL_FAILED_VERIFICATION_TIMEOUT",
        "the device's app verification, mostly Play Protect, did not end in time",
        "check the device's network connection and install again, or switch off \"Verify apps over USB\" in the developer options",
    ),
    known(
        NO_STORAGE,
        "the device has too little free storage",
        "uninstall apps or remove files; `adb shell df -h /data` shows the free space",
    ),
    known(
        "INSTALL_FAILED_MISSING_SPLIT",
        "a split of the app is missing",
        "give the base APK and all its splits in one command; `adb shell pm path PACKAGE` lists those of an installed app",
    ),
    known(
        "INSTALL_FAILED_MISSING_SHARED_LIBRARY",
        "the app needs a shared library that the device does not have",
        "use a device that has it, or set android:required=\"false\" in the manifest's uses-library",
    ),
    known(
        "INSTALL_FAILED_CONFLICTING_PROVIDER",
        "an installed app already has a content provider of the same authority",
        "uninstall that app, which removes its data, or change android:authorities",
    ),
    known(
        "INSTALL_FAILED_DUPLICATE_PERMISSION",
        "an installed app already declares a permission of the same name and is signed with another key",
        "uninstall that app, which removes its data, or rename the permission",
    ),
    known(
        "INSTALL_FAILED_DEXOPT",
        "the system cannot load the app's dex files",
        "check the dex files with dexdump, and the free storage of the device",
    ),
    known(
        "INSTALL_FAILED_ABORTED",
        "the install was cancelled on the device",
        "unlock the device, install again, and confirm if it asks",
    ),
];

/// Pieces of answers without a form that mean [`NO_STORAGE`].
///
/// `createSession` throws the first one (`InstallLocationUtils.resolveInstallVolume`).
pub(super) const NO_STORAGE_TEXTS: [&str; 3] = ["not enough space", "no space left on device", "enospc"];
pub(super) const NO_STORAGE: &str = "INSTALL_FAILED_INSUFFICIENT_STORAGE";
