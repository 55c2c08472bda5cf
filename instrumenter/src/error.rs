//! What can go wrong, and what was left alone.

use std::io;
use std::path::PathBuf;

/// Bytes that are not what the class file format says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} (at byte {offset})")]
pub struct Malformed {
    /// Offset in the class file.
    pub offset: usize,
    /// What was expected or found there.
    pub what: &'static str,
}

impl Malformed {
    /// Shifts an offset that was counted from `base`.
    pub(crate) fn behind(self, base: usize) -> Self {
        Self { offset: self.offset.saturating_add(base), ..self }
    }
}

/// Why a class or a method was copied as it was.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SkipReason {
    /// The class comes from a Java version that this program does not know yet.
    #[error("class file version {major}.{minor} is newer than 70, the newest this program knows")]
    NewerVersion {
        /// `major_version`.
        major: u16,
        /// `minor_version`.
        minor: u16,
    },
    /// The class file, or this method's code, breaks the rules of the format.
    #[error("broken class file: {0}")]
    Malformed(#[from] Malformed),
    /// The entry could not be read out of its archive.
    #[error("cannot be read: {0}")]
    Unreadable(String),
    /// A line of the method map cannot hold the name, or would be read as another.
    #[error("its name has a line break or another control character")]
    ControlCharacter,
    /// The class is larger than any that a compiler writes.
    #[error("the class file is larger than 64 MiB")]
    ClassTooLarge,
    /// The class has calls of this kind already.
    #[error("already instrumented")]
    AlreadyInstrumented,
    /// `jsr` and `ret`, which compilers before Java 6 wrote, make code reachable in two ways.
    #[error("uses subroutines (jsr/ret)")]
    Subroutines,
    /// The calls would make the method longer than the JVM allows.
    #[error("the code would grow past 65,535 bytes")]
    CodeTooLarge,
    /// A conditional jump would have to reach further than its 16 bits.
    #[error("a conditional jump would reach further than 32,767 bytes")]
    JumpTooFar,
    /// The calls need one stack slot more than there can be.
    #[error("the operand stack has 65,535 slots already")]
    StackTooDeep,
    /// The calls of `i` and `o` are there, that of `at` is not.
    #[error("no call of at: {0}")]
    Focus(Box<SkipReason>),
    /// The method uses all local variables, and a lock of its own needs one more.
    #[error("the method has 65,535 local variables already")]
    TooManyLocals,
    /// A handler of the method's own has no frame, so none can be made for what ends a wait.
    #[error("an exception handler has no stack map frame")]
    HandlerWithoutFrame,
    /// The method is traced, but its waits are not told.
    #[error("its waits are not told: {0}")]
    Waits(Box<SkipReason>),
    /// A table of the method has no room for one row more.
    #[error("the method has 65,535 exception handlers or stack map frames already")]
    TableFull,
    /// The constant pool has no room for what the calls name.
    #[error("the constant pool is full")]
    ConstantPoolFull,
    /// The constructor never calls another one, so there is no point from which to trace it.
    #[error("the constructor never reaches a super or this call")]
    NoSuperCall,
    /// Dead code before the super call, whose state only a verifier could tell.
    #[error("the constructor has unreachable code before its super call")]
    UnreachableBeforeSuper,
    /// The constructor does too much before its super call to be followed at reasonable cost.
    #[error("the constructor is too complex before its super call")]
    ConstructorTooComplex,
}

/// Why a run wrote nothing.
#[non_exhaustive]
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// An input, or something in it, cannot be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// The file or directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// An output cannot be written.
    #[error("cannot write {}", path.display())]
    Write {
        /// The file or directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Something in an input directory that is neither a file nor a directory.
    #[error("{} is a pipe, socket or device, and no file: remove it from the input directory", path.display())]
    NotAFile {
        /// What is there.
        path: PathBuf,
    },
    /// An input that should be a jar or aar is something else, or is cut off.
    #[error(
        "{} is not a jar, aar or zip file, or it is cut off ({reason}): give an archive or a directory of \
         class files, and if it was downloaded, fetch it again",
        path.display()
    )]
    NotAnArchive {
        /// The input.
        path: PathBuf,
        /// What the archive reader said.
        reason: String,
    },
    /// An entry of an archive can be neither read nor copied.
    #[error("{}: entry {entry} cannot be copied ({reason}): rebuild the archive", path.display())]
    Entry {
        /// The archive.
        path: PathBuf,
        /// Name of the entry.
        entry: String,
        /// What the archive reader said.
        reason: String,
    },
    /// An output is, or lies in, one of the inputs.
    #[error("{} would overwrite an input: choose another output", path.display())]
    OutputIsInput {
        /// The output.
        path: PathBuf,
    },
    /// Two inputs would be written to one place.
    #[error("{} is the output of two inputs: give each its own", path.display())]
    OutputTwice {
        /// The output.
        path: PathBuf,
    },
    /// The output directory holds something already.
    #[error("{} is a directory that is not empty: remove it or choose another output", path.display())]
    OutputNotEmpty {
        /// The output.
        path: PathBuf,
    },
    /// Two files of an input have one name for the file system of the output.
    #[error(
        "{} is there already: two files of the input have names that differ only by case, which this \
         file system does not tell apart: put the classes into a jar, or write to another file system",
        path.display()
    )]
    SameName {
        /// The second one.
        path: PathBuf,
    },
    /// No inputs were given.
    #[error("nothing to instrument: give at least one jar, aar or directory of class files")]
    NoInputs,
    /// There are more methods than ids.
    #[error(
        "{needed} method ids are needed and only {available} are left: block packages that need no \
         tracing, or drop lines of the base map that no longer exist"
    )]
    TooManyMethods {
        /// How many methods need a new id.
        needed: usize,
        /// How many ids there are behind those of the base map.
        available: usize,
    },
    /// No class of the inputs has the name of the one that is to be explained.
    #[error("no class {class} in the inputs, or it cannot be read: give the name that its class file has")]
    NoSuchClass {
        /// The name.
        class: String,
    },
    /// A line of the base map is not `id,access,class method (descriptor)`, or contradicts another.
    #[error("{}:{line}: {what}: {cure}", path.display())]
    BaseMap {
        /// The base map.
        path: PathBuf,
        /// Its line, from 1.
        line: usize,
        /// What is wrong with it.
        what: &'static str,
        /// What to do.
        cure: &'static str,
    },
    /// A line of a block list, rules file or mapping that cannot be followed.
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
    #[error("{with} and --compat matrix do not go together: {cure}")]
    NotWithMatrix {
        /// The other one.
        with: &'static str,
        /// What to do.
        cure: &'static str,
    },
    /// The class of the injected calls cannot be named in a class file.
    #[error("{name:?} is not a class name: write it like dev/anrscope/MethodBeat")]
    CallClass {
        /// The name.
        name: String,
    },
    /// The worker threads could not be started.
    #[error("cannot start {threads} worker threads: choose a lower number")]
    Threads {
        /// The number asked for.
        threads: usize,
    },
}
