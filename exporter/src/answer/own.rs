//! Whose code a frame is: the app's, or the platform's and that of libraries that every app has.

/// Packages of the platform, of Java and Kotlin, and of libraries that only carry out what the app asks for.
const LIBRARIES: &[&str] = &[
    "android.",
    "androidx.",
    "com.android.",
    "java.",
    "javax.",
    "jdk.",
    "sun.",
    "com.sun.",
    "kotlin.",
    "kotlinx.",
    "dalvik.",
    "libcore.",
    "org.json.",
    "org.apache.harmony.",
    "org.apache.http.",
    "org.xmlpull.",
    "org.chromium.",
    "org.conscrypt.",
    "WebViewChromium",
    "com.google.android.",
    "com.google.common.",
    "com.google.gson.",
    "com.google.firebase.",
    "com.google.protobuf.",
    "com.squareup.moshi.",
    "okhttp3.",
    "com.squareup.okhttp.",
    "okio.",
    "retrofit2.",
    "dagger.",
    "rx.",
    "io.reactivex.",
    "com.bumptech.glide.",
    "coil.",
    "net.sqlcipher.",
    "net.zetetic.",
    "io.requery.android.database.",
    "org.sqlite.",
    "io.flutter.",
    "com.unity3d.",
    "com.facebook.react.",
    "com.facebook.jni.",
    "com.facebook.hermes.",
    "com.epicgames.",
    "dev.anrscope.",
];

/// Whether a class is the app's own.
pub(crate) fn is_own(class: &str) -> bool {
    !class.is_empty()
        && !class.starts_with('$')
        && !LIBRARIES.iter().any(|package| class.starts_with(package))
}

/// Whether a mapped file is the app's own: installed with it, or in its apk.
pub(crate) fn is_own_library(path: &str) -> bool {
    ["/data/app", "/data/data/", "/mnt/expand/", "/mnt/asec/", "base.apk", "split_config"]
        .iter()
        .any(|part| path.contains(part))
}
