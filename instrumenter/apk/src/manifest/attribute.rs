//! Attributes of Android's manifest: names, public resource ids and types.
//!
//! The ids are those of `android.R.attr` (AOSP `core/res/res/values/public-final.xml`) and never change. The system finds
//! attributes by id, the package installer's short pass by name; both are written.

use super::value::Value;

/// The namespace of Android's attributes.
pub const NAMESPACE: &str = "http://schemas.android.com/apk/res/android";

/// An attribute of the namespace `android`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Attribute {
    /// Without the prefix.
    pub name: &'static str,
    /// The public resource id, `0x0101....`.
    pub id: u32,
}

/// How the text of an attribute is compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Type {
    Text,
    Integer,
    Boolean,
    ProtectionLevel,
}

macro_rules! attributes {
    ($($constant:ident $name:literal $id:literal $kind:ident)*) => {
        $(
            #[doc = concat!("`android:", $name, "`")]
            pub const $constant: Attribute = Attribute { name: $name, id: $id };
        )*
        /// Every attribute that this crate knows.
        const ALL: &[(Attribute, Type)] = &[$(($constant, Type::$kind)),*];
    };
}

attributes! {
    NAME "name" 0x0101_0003 Text
    PERMISSION "permission" 0x0101_0006 Text
    READ_PERMISSION "readPermission" 0x0101_0007 Text
    WRITE_PERMISSION "writePermission" 0x0101_0008 Text
    PROTECTION_LEVEL "protectionLevel" 0x0101_0009 ProtectionLevel
    SHARED_USER_ID "sharedUserId" 0x0101_000b Text
    HAS_CODE "hasCode" 0x0101_000c Boolean
    ENABLED "enabled" 0x0101_000e Boolean
    DEBUGGABLE "debuggable" 0x0101_000f Boolean
    EXPORTED "exported" 0x0101_0010 Boolean
    PROCESS "process" 0x0101_0011 Text
    MULTIPROCESS "multiprocess" 0x0101_0013 Boolean
    AUTHORITIES "authorities" 0x0101_0018 Text
    SYNCABLE "syncable" 0x0101_0019 Boolean
    INIT_ORDER "initOrder" 0x0101_001a Integer
    GRANT_URI_PERMISSIONS "grantUriPermissions" 0x0101_001b Boolean
    VALUE "value" 0x0101_0024 Text
    RESOURCE "resource" 0x0101_0025 Text
    PATH "path" 0x0101_002a Text
    PATH_PREFIX "pathPrefix" 0x0101_002b Text
    PATH_PATTERN "pathPattern" 0x0101_002c Text
    TARGET_ACTIVITY "targetActivity" 0x0101_0202 Text
    MIN_SDK_VERSION "minSdkVersion" 0x0101_020c Integer
    VERSION_CODE "versionCode" 0x0101_021b Integer
    VERSION_NAME "versionName" 0x0101_021c Text
    TARGET_SDK_VERSION "targetSdkVersion" 0x0101_0270 Integer
    TEST_ONLY "testOnly" 0x0101_0272 Boolean
    BACKUP_AGENT "backupAgent" 0x0101_027f Text
    ISOLATED_PROCESS "isolatedProcess" 0x0101_03a9 Boolean
    EXTRACT_NATIVE_LIBS "extractNativeLibs" 0x0101_04ea Boolean
    DIRECT_BOOT_AWARE "directBootAware" 0x0101_0505 Boolean
    ISOLATED_SPLITS "isolatedSplits" 0x0101_054b Boolean
    IS_FEATURE_SPLIT "isFeatureSplit" 0x0101_055b Boolean
    VERSION_CODE_MAJOR "versionCodeMajor" 0x0101_0576 Integer
    APP_COMPONENT_FACTORY "appComponentFactory" 0x0101_057a Text
    IS_SPLIT_REQUIRED "isSplitRequired" 0x0101_0591 Boolean
    ZYGOTE_PRELOAD_NAME "zygotePreloadName" 0x0101_059d Text
    USE_EMBEDDED_DEX "useEmbeddedDex" 0x0101_059e Boolean
    REQUIRED_SPLIT_TYPES "requiredSplitTypes" 0x0101_064e Text
    SPLIT_TYPES "splitTypes" 0x0101_064f Text
}

/// The attribute of this name, if it is in the table.
#[must_use]
pub fn by_name(name: &str) -> Option<Attribute> {
    ALL.iter().map(|(attribute, _)| *attribute).find(|attribute| attribute.name == name)
}

/// `android.R.attr.protectionLevel`: the base level, and flags that are added to it (AOSP `attrs_manifest.xml`).
const PROTECTION_LEVELS: &[(&str, u32)] =
    &[("normal", 0), ("dangerous", 1), ("signature", 2), ("development", 0x20)];

impl Attribute {
    /// Compiles the text of an XML file to the type that the attribute has.
    ///
    /// Returns `None` if the text is not of that type, or the type is not known for this attribute. `android:value`, which
    /// may hold anything, becomes a string: the library reads it by `toString()`.
    #[must_use]
    pub fn compile(self, text: &str) -> Option<Value> {
        let (_, kind) = ALL.iter().find(|(attribute, _)| *attribute == self)?;
        match kind {
            // A resource would need the resource table.
            Type::Text if text.starts_with(['@', '?']) => None,
            Type::Text => Some(Value::Text(text.to_owned())),
            Type::Integer => text.parse().ok().map(Value::Integer),
            Type::Boolean => text.parse().ok().map(Value::Boolean),
            Type::ProtectionLevel => text
                .split('|')
                .map(|name| {
                    PROTECTION_LEVELS.iter().find(|(level, _)| *level == name).map(|(_, value)| *value)
                })
                .try_fold(0, |all, value| Some(all | value?))
                .map(Value::Hex),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted_by_id_and_names_are_unique() {
        assert!(ALL.is_sorted_by(|(a, _), (b, _)| a.id < b.id));
        for (attribute, _) in ALL {
            assert_eq!(by_name(attribute.name), Some(*attribute));
        }
    }

    #[test]
    fn text_is_compiled_by_the_attributes_type() {
        assert_eq!(EXPORTED.compile("true"), Some(Value::Boolean(true)));
        assert_eq!(EXPORTED.compile("yes"), None);
        assert_eq!(INIT_ORDER.compile("2147483647"), Some(Value::Integer(i32::MAX)));
        assert_eq!(INIT_ORDER.compile("2147483648"), None);
        assert_eq!(PROTECTION_LEVEL.compile("signature"), Some(Value::Hex(2)));
        assert_eq!(PROTECTION_LEVEL.compile("signature|development"), Some(Value::Hex(0x22)));
        assert_eq!(PROTECTION_LEVEL.compile("signature|other"), None);
        assert_eq!(NAME.compile("@string/a"), None);
        assert_eq!(VALUE.compile("500"), Some(Value::Text("500".into())));
    }
}
