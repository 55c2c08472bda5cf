//! The report as a page of text: what hung and why, the stacks side by side, then one line for each supporting
//! fact. `--verbose` adds the details.

mod block;
mod columns;
mod details;
mod headline;
mod names;
mod native_stacks;
mod rows;
mod sentence;
mod wrap;

use std::fmt::{self, Display, Formatter};

use answers::answer::Conclusion;
use answers::text::clean;

use super::findings::Report;
use names::Names;
use wrap::labelled;

/// Width of the page in columns.
const WIDTH: usize = 100;

/// The page with its details.
#[derive(Debug)]
struct Verbose<'a>(&'a Report);

impl Display for Verbose<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write(self.0, f)?;
        writeln!(f, "\nDETAILS")?;
        details::write(self.0, f)
    }
}

impl Report {
    /// The page with all details: ids, sources of signals, the recorder's own cost, every list in full.
    #[must_use]
    pub fn verbose(&self) -> impl Display + '_ {
        Verbose(self)
    }
}

/// Writes the short page.
pub(super) fn write(r: &Report, f: &mut Formatter<'_>) -> fmt::Result {
    let mut names = Names::of(&r.process);
    writeln!(f, "{}", r.headline())?;
    if r.answer.conclusion != Conclusion::NoHang {
        writeln!(f, "Cause: {}", r.answer.cause_title())?;
    }
    let block = block::rows(r, &mut names);
    if !block.is_empty() {
        writeln!(f)?;
    }
    for (label, lines) in &block {
        labelled(label, lines, f)?;
    }
    columns::write(r, &mut names, f)?;
    writeln!(f)?;
    for (label, lines) in &rows::rows(r, &mut names) {
        labelled(label, lines, f)?;
    }
    write_next(r, f)
}

/// Writes the commands that show more.
fn write_next(r: &Report, f: &mut Formatter<'_>) -> fmt::Result {
    let file = clean(&r.file);
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-/+=:@,".contains(c);
    let file = if file.chars().all(plain) { file.into_owned() } else { format!("'{file}'") };
    let open = match r.answer.conclusion {
        Conclusion::NoHang => (format!("anrscope open {file}"), "(Perfetto)"),
        _ if r.anrs.is_empty() => (format!("anrscope open {file}"), "(Perfetto)"),
        _ => (format!("anrscope open {file} --anr"), "(Perfetto, zoomed to the ANR)"),
    };
    let page = (format!("anrscope report {file} --format html -o hang.html"), "(to share)");
    let details = (format!("anrscope report {file} --verbose"), "(all details)");
    let width = [&open.0, &page.0, &details.0].iter().map(|text| text.chars().count()).max().unwrap_or(0);
    for (at, (command, why)) in [open, page, details].iter().enumerate() {
        let label = if at == 0 { "\nNext:" } else { "     " };
        writeln!(f, "{label} {command:width$}  {why}")?;
    }
    Ok(())
}
