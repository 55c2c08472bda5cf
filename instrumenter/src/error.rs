//! Errors of a run, and reasons for skipping a class or method.

use std::io;
use std::path::{Path, PathBuf};

/// A violation of the format of a class file or dex file.
pub use dex::Malformed;

/// Why a class or a method was copied unchanged.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SkipReason {
    /// The class comes from a Java version that is newer than this crate.
    #[error("class file version {major}.{minor} is newer than 70, the newest this program knows")]
    NewerVersion {
        /// `major_version`.
        major: u16,
        /// `minor_version`.
        minor: u16,
    },
    /// The class file, or this method's code, violates the format.
    #[error("broken class file: {0}")]
    Malformed(#[from] Malformed),
    /// The code of this method in a dex file violates the format.
    #[error("broken dex code: {0}")]
    BrokenDex(String),
    /// The calls cannot be inserted into the method's dex code.
    #[error(transparent)]
    Dex(#[from] dex::code::trace::Untraceable),
    /// The entry cannot be read from its archive.
    #[error("cannot be read: {0}")]
    Unreadable(#[from] zip_archive::Unreadable),
    /// The name cannot be written to a line of the method map.
    #[error("its name has a line break or another control character")]
    ControlCharacter,
    /// The class is larger than any that a compiler produces.
    #[error("the class file is larger than 64 MiB")]
    ClassTooLarge,
    /// The class already calls the call class.
    #[error("already instrumented")]
    AlreadyInstrumented,
    /// `jsr` and `ret`, which compilers before Java 6 produced, make code reachable in two ways.
    #[error("uses subroutines (jsr/ret)")]
    Subroutines,
    /// The calls would make the method longer than the JVM allows.
    #[error("the code would grow past 65,535 bytes")]
    CodeTooLarge,
    /// A conditional jump would have to reach further than its 16 bits.
    #[error("a conditional jump would reach further than 32,767 bytes")]
    JumpTooFar,
    /// The calls need one more stack slot than the format allows.
    #[error("the operand stack already has 65,535 slots")]
    StackTooDeep,
    /// The calls of `i` and `o` were inserted, that of `at` was not.
    #[error("no call of at: {0}")]
    Focus(Box<SkipReason>),
    /// The method uses all local variables, and its lock needs one more.
    #[error("the method already has 65,535 local variables")]
    TooManyLocals,
    /// An exception handler of the method has no frame, so none can be derived for the code that ends a wait.
    #[error("an exception handler has no stack map frame")]
    HandlerWithoutFrame,
    /// The method is traced, but its waits are not recorded.
    #[error("its waits are not recorded: {0}")]
    Waits(Box<SkipReason>),
    /// A table of the method has no room for another row.
    #[error("the method already has 65,535 exception handlers or stack map frames")]
    TableFull,
    /// The constant pool has no room for the constants of the calls.
    #[error("the constant pool is full")]
    ConstantPoolFull,
    /// The constructor never calls another one, so there is no point from which to trace it.
    #[error("the constructor never reaches a super or this call")]
    NoSuperCall,
    /// The constructor has dead code before its super call, whose state only a verifier could determine.
    #[error("the constructor has unreachable code before its super call")]
    UnreachableBeforeSuper,
    /// The code before the constructor's super call takes too long to analyse.
    #[error("the constructor is too complex before its super call")]
    ConstructorTooComplex,
}

impl Error {
    /// Returns how an error of the system becomes the error that `path` cannot be read.
    pub(crate) fn reading(path: &Path) -> impl FnOnce(io::Error) -> Self + '_ {
        |source| Self::Read { path: path.into(), source }
    }

    /// Returns how an error of the system becomes the error that `path` cannot be written.
    pub(crate) fn writing(path: &Path) -> impl FnOnce(io::Error) -> Self + '_ {
        |source| Self::Write { path: path.into(), source }
    }
}

/// Why a run wrote nothing.
#[non_exhaustive]
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// An input, or a file in it, cannot be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// The file or directory.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// An output cannot be written.
    #[error("cannot write {}", path.display())]
    Write {
        /// The file or directory.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// An entry of an input directory that is neither a file nor a directory.
    #[error("{} is a pipe, socket or device, not a file: remove it from the input directory", .0.display())]
    NotAFile(PathBuf),
    /// An input is not a jar or aar, or is truncated.
    #[error(
        "{} is not a jar, aar or zip file, or it is cut off ({reason}): give an archive or a directory of \
         class files, and if it was downloaded, fetch it again",
        path.display()
    )]
    NotAnArchive {
        /// The input.
        path: PathBuf,
        /// The error of the archive reader.
        reason: String,
    },
    /// An entry of an archive can be neither read nor copied.
    #[error("{}: entry {entry} cannot be copied ({reason}): rebuild the archive", path.display())]
    Entry {
        /// The archive.
        path: PathBuf,
        /// Name of the entry.
        entry: String,
        /// The error of the archive reader.
        reason: String,
    },
    /// An option that needs all classes at once, while they are loaded one by one.
    #[error("{0} needs all classes before the program starts: instrument its jars instead")]
    NotWhileLoading(&'static str),
    /// An output is an input, or inside one.
    #[error("{} would overwrite an input: choose another output", .0.display())]
    OutputIsInput(PathBuf),
    /// Two inputs have the same output.
    #[error("{} is the output of two inputs: choose a separate output for each", .0.display())]
    OutputTwice(PathBuf),
    /// The output directory is not empty.
    #[error("{} is a directory that is not empty: remove it or choose another output", .0.display())]
    OutputNotEmpty(PathBuf),
    /// The file system of the output cannot distinguish the names of two files.
    #[error(
        "{} already exists: two files of the input have names that differ only by case, which this file \
         system ignores: put the classes into a jar, or write to another file system",
        .0.display()
    )]
    SameName(PathBuf),
    /// No inputs were given.
    #[error("nothing to instrument: give at least one jar, aar or directory of class files")]
    NoInputs,
    /// There are more methods than ids.
    #[error(
        "{needed} method ids are needed and only {available} are left: block packages that need no \
         tracing, or drop lines of the base map that no longer exist"
    )]
    TooManyMethods {
        /// The number of methods that need a new id.
        needed: usize,
        /// The number of ids after those of the base map.
        available: usize,
    },
    /// No class of the inputs has the name to explain.
    #[error("no class {0} in the inputs, or it cannot be read: use the name in the class file")]
    NoSuchClass(String),
    /// An invalid line in a block list, rules file or mapping.
    #[error("{}:{line}: {what}: {cure}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// Its line, from 1.
        line: usize,
        /// What is wrong with it.
        what: String,
        /// What to do.
        cure: &'static str,
    },
    /// Two options that exclude each other.
    #[error("{with} cannot be combined with --compat matrix: {cure}")]
    NotWithMatrix {
        /// The other option.
        with: &'static str,
        /// What to do.
        cure: &'static str,
    },
    /// The name of the call class is not a class name.
    #[error("{0:?} is not a class name: write it like dev/anrscope/MethodBeat")]
    CallClass(String),
    /// The worker threads cannot be started.
    #[error("cannot start {0} worker threads: choose a smaller number")]
    Threads(usize),
}
