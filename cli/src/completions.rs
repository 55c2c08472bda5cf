//! `anrscope completions`: shell completions.

use std::io::Write;

/// Print completions for a shell
///
/// They complete subcommands, options and the values of options; files are completed by the shell.
#[derive(Debug, clap::Args)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Examples:
    # bash, from the next shell on; needs the package bash-completion.
    mkdir -p ~/.local/share/bash-completion/completions
    anrscope completions bash > ~/.local/share/bash-completion/completions/anrscope

    # zsh: into a directory of $fpath.
    anrscope completions zsh > ~/.zfunc/_anrscope

    # fish
    anrscope completions fish > ~/.config/fish/completions/anrscope.fish

Exit status:
    0  done
    1  they cannot be printed
    2  the command line is wrong
"
)]
pub(crate) struct Options {
    /// The shell
    #[arg(value_enum)]
    shell: clap_complete::Shell,
}

/// Runs the subcommand; `command` is the program's command line.
pub(crate) fn run(options: &Options, mut command: clap::Command) -> anyhow::Result<()> {
    // Into memory: the generator panics where a stream fails.
    let mut text = Vec::new();
    clap_complete::generate(options.shell, &mut command, "anrscope", &mut text);
    let mut stdout = crate::terminal::stdout();
    stdout.write_all(&text)?;
    Ok(stdout.flush()?)
}
