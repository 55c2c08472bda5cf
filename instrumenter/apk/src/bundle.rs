//! What an App Bundle says about a module's libraries, by which bundletool puts them into an APK for each ABI.
//!
//! ```text
//!   NativeLibraries          { directory = 1 }
//!   TargetedNativeDirectory  { path = 1, targeting = 2 }
//!   NativeDirectoryTargeting { abi = 1, ... }
//!   Abi                      { alias = 1 }
//! ```
//!
//! bundletool, `files.proto` and `targeting.proto`. A module without the file gets its libraries of all ABIs into one APK.

use crate::protobuf::{put_bytes, put_number};

/// The file's name in its module.
pub const NATIVE_CONFIG: &str = "native.pb";

/// `NativeLibraries.directory`.
const DIRECTORY: u64 = 1;
const PATH: u64 = 1;
const TARGETING: u64 = 2;
const ABI: u64 = 1;
const ALIAS: u64 = 1;

/// `Abi.AbiAlias`, by the names of the directories (bundletool, `AbiName.java`).
const ALIASES: [(&str, u64); 5] =
    [("armeabi", 1), ("armeabi-v7a", 2), ("arm64-v8a", 3), ("x86", 4), ("x86_64", 5)];

/// Appends the directory `lib/ABI` to the content of `native.pb`; an empty one is that of a module without libraries. An ABI that bundletool does not
/// know changes nothing.
pub fn add_native_directory(config: &mut Vec<u8>, abi: &str) {
    let Some((_, alias)) = ALIASES.iter().find(|(name, _)| *name == abi) else { return };
    let (mut abi_message, mut targeting, mut directory) = (Vec::new(), Vec::new(), Vec::new());
    put_number(&mut abi_message, ALIAS, *alias);
    put_bytes(&mut targeting, ABI, &abi_message);
    put_bytes(&mut directory, PATH, format!("lib/{abi}").as_bytes());
    put_bytes(&mut directory, TARGETING, &targeting);
    // Fields of a message may be appended: a repeated field has its values in the order of the file.
    put_bytes(config, DIRECTORY, &directory);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_is_what_bundletool_writes() {
        let mut config = Vec::new();
        for abi in ["arm64-v8a", "riscv128", "armeabi-v7a", "x86", "x86_64"] {
            add_native_directory(&mut config, abi);
        }
        // What bundletool 1.9.0 writes for a module with these directories.
        assert_eq!(config, include_bytes!("../tests/data/bundle/native.pb"));
    }
}
