//! What can be asked of a running app: by its content provider, which answers while main is stuck, or by broadcast.

use crate::app::{App, complaint};
use crate::error::Error;

/// The receiver of `am broadcast`, and what its actions begin with.
const RECEIVER: &str = "dev.anrscope.ControlReceiver";
const ACTION: &str = "dev.anrscope.action.";

/// What is asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Command {
    /// To record, if it was told to stop.
    Start,
    /// To record nothing until it is told to start.
    Stop,
    /// A thread dump, now.
    Dump,
    /// To have everything in its file that was recorded before.
    Flush,
}

impl Command {
    /// How the app calls it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Stop => "stop",
            Self::Dump => "dump",
            Self::Flush => "flush",
        }
    }
}

/// What the app made of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Answer {
    /// Whether it was done.
    pub done: bool,
    /// What more there is to say, in the app's words.
    pub said: String,
}

/// Asks `app`, whose main process has to run: a broadcast would start it. Gives why it did not answer, if it did not: a build without
/// our provider and receiver, or one that may not be debugged.
///
/// # Errors
/// If the connection breaks. A command is sent once: it may have been done.
pub fn ask(app: &App, command: Command) -> Result<Result<Answer, String>, Error> {
    let (user, package, name) = (app.user_option(), app.package(), command.name());
    let call = format!("content call {user}--uri content://{package}.anrscope --method {name}");
    let output = app.device().shell(&call)?;
    let by_provider = match complaint(&output) {
        Some(complaint) => complaint,
        None => match answer_of_call(&output.stdout) {
            Some(answer) => return Ok(Ok(answer)),
            None => output.said(),
        },
    };
    let action = name.to_ascii_uppercase();
    let send = format!("am broadcast {user}-n {package}/{RECEIVER} -a {ACTION}{action}");
    let output = app.device().shell(&send)?;
    Ok(answer_of_broadcast(&output.stdout)
        .ok_or_else(|| format!("content provider: {by_provider}; broadcast: {}", output.said())))
}

/// `Result: Bundle[{done=yes, said=...}]`, in any order; what is said may hold anything.
fn answer_of_call(text: &str) -> Option<Answer> {
    let inside = text.trim().strip_prefix("Result: Bundle[{")?.strip_suffix("}]")?;
    let (done, said) = match inside.strip_prefix("said=") {
        Some(rest) => rest.rsplit_once(", done=").map(|(said, done)| (done, said))?,
        None => inside.strip_prefix("done=")?.split_once(", said=")?,
    };
    Some(Answer { done: done == "yes", said: said.to_owned() })
}

/// `Broadcast completed: result=1, data="..."`. A result without data is the system's: nobody took it.
fn answer_of_broadcast(text: &str) -> Option<Answer> {
    let result = text.lines().find_map(|line| line.trim().strip_prefix("Broadcast completed: result="))?;
    let (code, said) = result.split_once(", data=\"")?;
    Some(Answer { done: code == "1", said: said.strip_suffix('"')?.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_of_either_kind_are_read() {
        let answer = |done, said: &str| Some(Answer { done, said: said.into() });
        for (text, expected) in [
            ("Result: Bundle[{done=yes, said=was recording}]\n", answer(true, "was recording")),
            (
                "Result: Bundle[{said=there is no file: a, b, done=no}]",
                answer(false, "there is no file: a, b"),
            ),
            ("Result: Bundle[mParcelledData.dataSize=84]", None),
            ("Result: null", None),
            ("", None),
        ] {
            assert_eq!(answer_of_call(text), expected, "{text}");
        }
        let sent = "Broadcasting: Intent { act=dev.anrscope.action.DUMP flg=0x400000 }\n";
        for (text, expected) in [
            ("Broadcast completed: result=1, data=\"asked for\"\n", answer(true, "asked for")),
            ("Broadcast completed: result=0, data=\"no\"", answer(false, "no")),
            ("Broadcast completed: result=0\n", None),
            ("java.lang.SecurityException: Permission Denial\n", None),
        ] {
            assert_eq!(answer_of_broadcast(&format!("{sent}{text}")), expected, "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_answer_is_read_or_not(text in "(Result: Bundle\\[\\{)?.{0,60}(, (done|said)=)?.{0,20}(\\}\\])?") {
            let _ = (answer_of_call(&text), answer_of_broadcast(&text));
        }
    }
}
