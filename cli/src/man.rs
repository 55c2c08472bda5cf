//! `anrscope man`: manual pages.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context;

/// Write manual pages for the program and each subcommand
///
/// The pages have the text of --help.
#[derive(Debug, clap::Args)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Examples:
    # Into a directory where man(1) finds them.
    anrscope man ~/.local/share/man/man1
    man anrscope-export

Exit status:
    0  done
    1  a page cannot be written
    2  the command line is wrong
"
)]
pub(crate) struct Options {
    /// The directory for the pages; it is created if needed
    #[arg(value_name = "DIR")]
    out: PathBuf,
    /// Print only errors
    #[arg(long, short)]
    quiet: bool,
}

/// Runs the subcommand; `command` is the program's command line.
pub(crate) fn run(options: &Options, mut command: clap::Command) -> anyhow::Result<()> {
    command.build();
    let pages = write_pages(&command, &options.out)?;
    if !options.quiet {
        writeln!(crate::terminal::stderr(), "{pages} pages -> {}", options.out.display())?;
    }
    Ok(())
}

fn write_pages(command: &clap::Command, directory: &Path) -> anyhow::Result<usize> {
    // `anrscope help` has no page.
    let subcommands = command.get_subcommands().filter(|sub| sub.get_name() != "help" && !sub.is_hide_set());
    let mut pages = 1;
    for subcommand in subcommands {
        pages += write_pages(subcommand, directory)?;
    }
    // All pages have one version.
    let page_of = command.clone().version(env!("CARGO_PKG_VERSION")).disable_help_subcommand(true);
    let man = clap_mangen::Man::new(page_of);
    let path = directory.join(man.get_filename());
    let mut page = Vec::new();
    man.render(&mut page).context("cannot make a page")?;
    // By the umask: a manual is for every user of the machine.
    let written = fs::create_dir_all(directory).and_then(|()| fs::write(&path, page));
    written.with_context(|| format!("cannot write {}: choose another directory", path.display()))?;
    Ok(pages)
}
