use super::program::run;

#[test]
fn each_subcommand_explains_itself_with_an_example() {
    for subcommand in ["demo", "jvm", "instrument", "export", "report", "dump"] {
        let help = run([subcommand, "--help"]).ok(&[]);
        for text in ["Usage: anrscope", "Examples:", &format!("anrscope {subcommand} "), "Exit status:"] {
            assert!(help.contains(text), "{subcommand}: {text:?} is not in {help}");
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
        &["jvm"],
        &["jvm", "Main"],
    ] {
        run(arguments).failed(2, &["--help"]);
    }
}
