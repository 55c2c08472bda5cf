//! HotSpot's flags, as far as they decide whether [`bus_fault`](super::bus_fault) may put its handler before HotSpot's.
//!
//! With `-Xcheck:jni` the JVM compares its handlers with those that are installed, and prints a warning about another one on
//! the program's stdout (tried on Java 8, 11, 17, 21 and 25). Without that option it never looks. The command line does not
//! tell: options also come from variables, from files, and from programs that create the JVM themselves. So we read
//! the flag `CheckJNICalls` where HotSpot shows its flags to the debuggers of the JDK (the Serviceability Agent): in two
//! exported tables, whose form is exported too (OpenJDK `src/hotspot/share/runtime/vmStructs.cpp`).

use std::ffi::{CStr, c_char};

/// True if the JVM with the library at `path` compares its handlers with those that are installed; `None` if it does not say.
pub(super) fn watches_handlers(path: &CStr) -> Option<bool> {
    // SAFETY: finds a library that is loaded, and runs no code of it.
    let library = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD) };
    let variable = |name: &CStr| {
        // SAFETY: a library that stays loaded, since a JVM cannot be unloaded, and a text that ends with a zero.
        let found = unsafe { libc::dlsym(library, name.as_ptr()) };
        (!library.is_null() && !found.is_null()).then_some(found.cast::<u8>().cast_const())
    };
    // SAFETY: what is read has the place that HotSpot's own numbers say and the type that all its versions give it. It is complete before
    // the JVM loads the first library, and does not change later.
    unsafe {
        let number = |name| Some(read::<u64>(variable(name)?, 0) as usize);
        // The entries that are about a flag. The last of all has no name.
        let about_flags = |table, length, type_name| {
            let (first, length, type_name) =
                (read::<*const u8>(variable(table)?, 0), number(length)?, number(type_name)?);
            let entries = (0..).map_while(move |n| {
                let entry = first.add(n * length);
                Some((entry, text(entry, type_name)?))
            });
            Some(entries.filter(|(_, of)| [c"JVMFlag", c"Flag"].contains(of)).map(|(entry, _)| entry))
        };
        let mut types = about_flags(
            c"gHotSpotVMTypes",
            c"gHotSpotVMTypeEntryArrayStride",
            c"gHotSpotVMTypeEntryTypeNameOffset",
        )?;
        let length = read::<u64>(types.next()?, number(c"gHotSpotVMTypeEntrySizeOffset")?) as usize;
        let name = number(c"gHotSpotVMStructEntryFieldNameOffset")?;
        let offset = number(c"gHotSpotVMStructEntryOffsetOffset")?;
        let address = number(c"gHotSpotVMStructEntryAddressOffset")?;
        let field = |wanted| {
            let mut fields = about_flags(
                c"gHotSpotVMStructs",
                c"gHotSpotVMStructEntryArrayStride",
                c"gHotSpotVMStructEntryTypeNameOffset",
            )?;
            fields.find(|field| text(*field, name) == Some(wanted))
        };
        let place = |wanted| Some(read::<u64>(field(wanted)?, offset) as usize);
        let value = |wanted| Some(read::<*const usize>(field(wanted)?, address).read());
        let (flags, count) = (value(c"flags")? as *const u8, value(c"numFlags")?);
        let (name, value) = (place(c"_name")?, place(c"_addr")?);
        let mut all = (0..count).map(|n| flags.add(n * length));
        let flag = all.find(|flag| text(*flag, name) == Some(c"CheckJNICalls"))?;
        Some(read::<*const u8>(flag, value).read() != 0)
    }
}

/// Reads a value that is `offset` bytes after `start`.
///
/// # Safety
/// There must be one, aligned.
unsafe fn read<T>(start: *const u8, offset: usize) -> T {
    // SAFETY: the caller's promise.
    unsafe { start.add(offset).cast::<T>().read() }
}

/// The text to which a pointer leads that is `offset` bytes after `start`; `None` if that is null.
///
/// # Safety
/// There must be one, and its text must end with a zero and never change.
unsafe fn text(start: *const u8, offset: usize) -> Option<&'static CStr> {
    // SAFETY: the caller's promise.
    unsafe {
        let text = read::<*const c_char>(start, offset);
        (!text.is_null()).then(|| CStr::from_ptr(text))
    }
}
