//! `anrscope attach` and a target in a chroot: code there, and another user of its `/tmp`, gain nothing outside.
//!
//! The chroot needs no mount, so that these tests run in a container without privileges too.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{ErrorKind, Read};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt, chown, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use super::attach::{CALLS, Program, attached, calls};
use test_support::jdk::{compile_files, finish, tool};
use test_support::program::{Shown, run};
use test_support::temp_dir::TempDir;

/// A user who is neither root nor the one who runs the tests.
const OTHER_USER: u32 = 65_534;

const ONLY_ROOT: &str = "only root can give a file to another user: run the tests as root";

fn user() -> u32 {
    nix::unistd::geteuid().as_raw()
}

/// A root with a small JVM and the libraries that it needs. Made once, and kept for the next run.
fn template() -> &'static Path {
    static MADE: OnceLock<PathBuf> = OnceLock::new();
    MADE.get_or_init(|| {
        let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join("chroot-steps");
        if root.exists() {
            return root;
        }
        let part = root.with_extension(std::process::id().to_string());
        finish(tool("jlink").args(["--add-modules", "java.base", "--output"]).arg(part.join("jdk")));
        // The agent needs what this test needs.
        let libraries = [
            part.join("jdk/bin/java"),
            part.join("jdk/lib/server/libjvm.so"),
            std::env::current_exe().unwrap(),
        ];
        let listed = Command::new("ldd").args(&libraries).output().unwrap();
        for library in String::from_utf8(listed.stdout).unwrap().split_whitespace() {
            let library = Path::new(library);
            if library.is_absolute() && library.is_file() && !library.starts_with(&part) {
                let copy = part.join(library.strip_prefix("/").unwrap());
                fs::create_dir_all(copy.parent().unwrap()).unwrap();
                fs::copy(library, copy).unwrap();
            }
        }
        let source = part.join("Calls.java");
        fs::write(&source, CALLS).unwrap();
        compile_files(&[source.to_str().unwrap()], &part.join("classes"));
        fs::rename(&part, &root).unwrap();
        root
    })
}

/// A root of its own for one test, with a `/tmp` as it should be.
fn root(directory: &TempDir) -> PathBuf {
    let root = directory.path().join("root");
    finish(Command::new("cp").arg("-al").arg(template()).arg(&root));
    let tmp = root.join("tmp");
    fs::create_dir(&tmp).unwrap();
    fs::set_permissions(&tmp, Permissions::from_mode(0o1777)).unwrap();
    root
}

/// Runs the program in this root. Users other than root need a user namespace for it, in which they keep their own files.
fn start(directory: &TempDir, root: &Path) -> Program {
    let mut java = Command::new(if user() == 0 { "chroot" } else { "unshare" });
    if user() != 0 {
        java.args(["--map-root-user", "chroot"]);
    }
    // Without /proc the JVM does not find them by its own place.
    java.arg(root).arg("/jdk/bin/java").env("LD_LIBRARY_PATH", "/jdk/lib:/jdk/lib/server");
    Program::run_by(java, directory, &["-cp", "/classes", "Calls"])
}

/// Makes the directory of a process as `attach` would, in this `/tmp`.
fn directory_of(program: &Program, tmp: &Path) -> PathBuf {
    let pid = program.child.id();
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let started = stat.rsplit_once(')').unwrap().1.split_whitespace().nth(19).unwrap();
    let path = tmp.join(format!("anrscope-{}/{pid}-{started}", user()));
    fs::DirBuilder::new().recursive(true).mode(0o700).create(&path).unwrap();
    path
}

fn attach(directory: &TempDir, program: &Program) -> Shown {
    let trace = directory.name("refused.pftrace");
    run(["attach", &program.child.id().to_string(), "--for", "0s", "-q", "-o", &trace])
}

/// The calls of a program are recorded.
fn recorded(directory: &TempDir, program: &mut Program) {
    let trace = directory.name("x.pftrace");
    let shown = attached(directory, program, &["--resolution", "exact", "--max-overhead", "0", "-o", &trace]);
    assert_eq!(shown.code, Some(0), "{shown:?}");
    assert_eq!(calls(&trace, "Steps.step"), 50, "{shown:?}");
}

#[test]
fn a_program_in_a_chroot_is_recorded_again_and_again() {
    let directory = TempDir::new();
    let root = root(&directory);
    let mut program = start(&directory, &root);
    for _ in 0..3 {
        recorded(&directory, &mut program);
    }
    // A second process finds the agent there, and leaves what the first one has.
    let mut second = start(&directory, &root);
    recorded(&directory, &mut second);
    recorded(&directory, &mut program);
}

#[test]
fn links_and_pipes_among_its_files_are_refused_and_files_outside_stay() {
    let directory = TempDir::new();
    let root = root(&directory);
    let program = start(&directory, &root);
    let place = directory_of(&program, &root.join("tmp"));
    let host = directory.file("host", "mine");
    let inside = place.strip_prefix(&root).unwrap().to_str().unwrap();
    // An attempt before may have made a file of the name.
    let free = |name: &str| drop(fs::remove_file(place.join(name)));
    for name in ["agent.settings", "client.lock", "rules"] {
        free(name);
        symlink(&host, place.join(name)).unwrap();
        let rules = directory.file("own.rules", "exclude class a.B\n");
        let trace = directory.name("refused.pftrace");
        let pid = program.child.id().to_string();
        let shown = run(["attach", &pid, "--rules", &rules, "--for", "0s", "-o", &trace]);
        shown.failed(
            1,
            &[&format!("/{inside}/{name} of process {pid} is a link, and is left alone: remove it")],
        );
        fs::remove_file(place.join(name)).unwrap();
        fs::hard_link(&host, place.join(name)).unwrap();
        let shown = run(["attach", &pid, "--rules", &rules, "--for", "0s", "-o", &trace]);
        shown.failed(1, &[&format!("/{inside}/{name}"), "hard link", "remove it"]);
        fs::remove_file(place.join(name)).unwrap();
        assert_eq!(fs::read(&host).unwrap(), b"mine", "{name}");
    }
    // This end of the pipe takes what would be written, so that no writer would wait.
    for name in ["agent.settings", "client.lock"] {
        free(name);
        let pipe = place.join(name);
        finish(Command::new("mkfifo").arg(&pipe));
        let mut end =
            OpenOptions::new().read(true).write(true).custom_flags(libc::O_NONBLOCK).open(&pipe).unwrap();
        attach(&directory, &program)
            .failed(1, &[&format!("/{inside}/{name}"), "is not a regular file", "remove it"]);
        assert_eq!(end.read(&mut [0]).unwrap_err().kind(), ErrorKind::WouldBlock);
        fs::remove_file(pipe).unwrap();
    }
    // What it would read at the end, too: a recording that is another's file.
    symlink(&host, place.join("x.anrscope")).unwrap();
    attach(&directory, &program).failed(1, &[&format!("/{inside}/x.anrscope"), "is a link", "remove it"]);
}

#[test]
fn a_tmp_that_leads_out_of_its_root_is_refused() {
    let directory = TempDir::new();
    let root = root(&directory);
    let tmp = root.join("tmp");
    fs::remove_dir(&tmp).unwrap();
    let host = directory.path().join("host");
    fs::create_dir(&host).unwrap();
    let mut program = start(&directory, &root);
    let climbing = Path::new("../../../../../../../../../../../..").join(host.strip_prefix("/").unwrap());
    for link in [host.clone(), climbing] {
        symlink(link, &tmp).unwrap();
        let pid = program.child.id();
        let says = format!("/tmp of process {pid} is a link that leads to no directory inside its root");
        attach(&directory, &program).failed(1, &[&says, "remove it"]);
        assert_eq!(fs::read_dir(&host).unwrap().count(), 0);
        fs::remove_file(&tmp).unwrap();
    }
    // A link to another of its directories is its own matter.
    fs::create_dir_all(root.join("var/tmp")).unwrap();
    symlink("/var/tmp", &tmp).unwrap();
    for _ in 0..2 {
        recorded(&directory, &mut program);
    }
}

#[test]
fn another_users_directory_of_the_same_name_holds_nothing_up() {
    let directory = TempDir::new();
    let root = root(&directory);
    let usual = root.join(format!("tmp/anrscope-{}", user()));
    fs::create_dir(&usual).unwrap();
    chown(&usual, Some(OTHER_USER), None).expect(ONLY_ROOT);
    let mut program = start(&directory, &root);
    for _ in 0..2 {
        recorded(&directory, &mut program);
    }
    assert_eq!(fs::read_dir(&usual).unwrap().count(), 0);
    let names = fs::read_dir(root.join("tmp")).unwrap().map(|entry| entry.unwrap().file_name());
    let names: Vec<_> = names.filter_map(|name| name.into_string().ok()).collect();
    let own = format!("anrscope-{}.", user());
    assert_eq!(names.iter().filter(|name| name.starts_with(&own)).count(), 1, "{names:?}");
}

#[test]
fn a_socket_that_is_not_the_jvms_gets_no_command() {
    let directory = TempDir::new();
    let root = root(&directory);
    let mut program = start(&directory, &root);
    let pid = program.child.id();
    let path = root.join(format!("tmp/.java_pid{pid}"));
    // The name of a socket has 107 bytes at most.
    let tmp = File::open(root.join("tmp")).unwrap();
    let bound = format!("/proc/self/fd/{}/.java_pid{pid}", std::os::fd::AsRawFd::as_raw_fd(&tmp));
    let planted = |mode: u32| {
        let listener = UnixListener::bind(&bound).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        listener.set_nonblocking(true).unwrap();
        listener
    };
    let no_client_came = |listener: UnixListener| {
        assert_eq!(listener.accept().unwrap_err().kind(), ErrorKind::WouldBlock);
        fs::remove_file(&path).unwrap();
    };
    let named = format!("/tmp/.java_pid{pid}");
    // Readable and writable by all, as in the attack.
    let listener = planted(0o777);
    attach(&directory, &program).failed(1, &[&named, "is open to other users (mode 777)", "remove it"]);
    no_client_came(listener);
    // This process is of the same user, and not the JVM.
    let listener = planted(0o600);
    let says = format!("process {} listens on {named}", std::process::id());
    attach(&directory, &program).failed(1, &[&says, "end that process and remove the socket"]);
    let (mut stream, _) = listener.accept().unwrap();
    stream.set_nonblocking(false).unwrap();
    assert_eq!(stream.read(&mut [0]).unwrap(), 0, "a command was sent");
    no_client_came(listener);
    let link = directory.name("elsewhere");
    symlink(&link, &path).unwrap();
    attach(&directory, &program).failed(1, &[&named, "is a link", "remove it"]);
    fs::remove_file(&path).unwrap();
    let listener = planted(0o600);
    chown(&path, Some(OTHER_USER), None).expect(ONLY_ROOT);
    let says = format!("{named} of process {pid} belongs to user {OTHER_USER}");
    attach(&directory, &program).failed(1, &[&says, &format!("have user {OTHER_USER} or root remove it")]);
    no_client_came(listener);
    // So is the request that another user has put there.
    let request = root.join(format!("tmp/.attach_pid{pid}"));
    recorded(&directory, &mut program);
    assert!(!request.exists());
}

#[test]
fn a_container_with_other_users_is_refused_with_the_cure() {
    let as_other = |program: &[&str]| {
        let mut command = Command::new("setpriv");
        let user = OTHER_USER.to_string();
        command
            .args(["--reuid", &user, "--regid", &user, "--clear-groups", "unshare", "--map-root-user"])
            .args(program);
        command
    };
    let tried = as_other(&["true"]).output();
    if !tried.as_ref().is_ok_and(|output| output.status.success()) {
        println!("skipped, a user namespace of another user is not permitted here: {tried:?}");
        return;
    }
    let mut inside = as_other(&["sleep", "600"]).spawn().unwrap();
    let pid = inside.id();
    // It is a copy of this process until it has become the other programs.
    while fs::read_to_string(format!("/proc/{pid}/comm")).unwrap() != "sleep\n" {}
    let shown = run(["attach", &pid.to_string(), "-o", &TempDir::new().name("x.pftrace")]);
    inside.kill().unwrap();
    inside.wait().unwrap();
    shown.failed(
        1,
        &[
            &format!("process {pid} runs in a container that maps its users"),
            "copy anrscope into the container",
        ],
    );
}
