use super::program::run;

#[test]
fn each_subcommand_explains_itself_with_an_example() {
    for subcommand in ["demo", "jvm", "instrument", "export", "report", "dump", "open", "device"] {
        let help = run([subcommand, "--help"]).ok(&[]);
        for text in ["Usage: anrscope", "Examples:", &format!("anrscope {subcommand} "), "Exit status:"] {
            assert!(help.contains(text), "{subcommand}: {text:?} is not in {help}");
        }
    }
}

#[test]
fn each_command_for_devices_explains_itself_with_an_example() {
    for command in ["doctor", "pull", "watch", "record", "trigger", "startup"] {
        let help = run(["device", command, "--help"]).ok(&[]);
        for text in ["Examples:", &format!("anrscope device {command} "), "Exit status:"] {
            assert!(help.contains(text), "{command}: {text:?} is not in {help}");
        }
    }
}

#[test]
fn a_wrong_command_line_is_exit_code_2() {
    for arguments in [
        &["no-such-subcommand"][..],
        &["export"],
        &["export", "x.anrscope"],
        &["export", "x.anrscope", "-o", "y.pftrace", "--level", "10"],
        &["instrument", "x.jar"],
        &["report"],
        &["dump"],
        &["open"],
        &["device", "pull"],
        &["device", "pull", "com.example", "--timeout", "0"],
        &["device", "startup", "com.example", "-n", "0"],
        &["device", "record", "com.example", "-o", "x.txt"],
        &["jvm"],
        &["jvm", "--quiet"],
        &["jvm", "--buffer", "1", "Main"],
        &["jvm", "--buffer", "1T", "Main"],
        &["jvm", "--resolution", "2ms", "Main"],
        &["jvm", "--max-overhead", "-1", "Main"],
    ] {
        run(arguments).failed(2, &["--help"]);
    }
}
