//! Commands to a running app, by its content provider, which answers while main is blocked, or by broadcast.

use crate::app::{App, content_error};
use crate::error::Error;

/// The receiver of `am broadcast`, and the prefix of its actions.
const RECEIVER: &str = "dev.anrscope.ControlReceiver";
const ACTION: &str = "dev.anrscope.action.";

/// A command to the app.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Command {
    /// Start recording again after [`Command::Stop`].
    Start,
    /// Stop recording until [`Command::Start`].
    Stop,
    /// Take a thread dump now.
    Dump,
    /// Write everything recorded so far to the file.
    Flush,
}

impl Command {
    /// Returns the command's name on the wire.
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

/// The app's answer to a command.
#[non_exhaustive]
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Answer {
    /// Whether the command was carried out.
    pub done: bool,
    /// The app's message.
    pub message: String,
}

/// Sends `command` to `app`, whose main process has to run, since a broadcast would start it.
///
/// Returns the answer, or the reason why the app cannot answer: its build has neither the provider nor the receiver, or
/// is not debuggable.
///
/// # Errors
/// If the connection breaks. The command is sent once and may have been carried out.
pub fn ask(app: &App, command: Command) -> Result<Result<Answer, String>, Error> {
    let (user, package, name) = (app.user_option(), app.package(), command.name());
    let call = format!("content call {user}--uri content://{package}.anrscope --method {name}");
    let output = app.device().shell(&call)?;
    let error = content_error(&output);
    if error.is_none()
        && let Some(answer) = answer_of_call(&output.stdout)
    {
        return Ok(Ok(answer));
    }
    let by_provider = error.unwrap_or_else(|| output.message());
    let action = name.to_ascii_uppercase();
    let send = format!("am broadcast {user}-n {package}/{RECEIVER} -a {ACTION}{action}");
    let output = app.device().shell(&send)?;
    Ok(answer_of_broadcast(&output.stdout)
        .ok_or_else(|| format!("content provider: {by_provider}; broadcast: {}", output.message())))
}

/// Parses `Result: Bundle[{done=yes, said=...}]`, in any order; the text after `said=` may contain anything.
fn answer_of_call(text: &str) -> Option<Answer> {
    let inside = text.trim().strip_prefix("Result: Bundle[{")?.strip_suffix("}]")?;
    let (done, said) = match inside.strip_prefix("said=") {
        Some(rest) => rest.rsplit_once(", done=").map(|(said, done)| (done, said))?,
        None => inside.strip_prefix("done=")?.split_once(", said=")?,
    };
    Some(Answer { done: done == "yes", message: said.to_owned() })
}

/// Parses `Broadcast completed: result=1, data="..."`. A result without data comes from the system: no receiver ran.
fn answer_of_broadcast(text: &str) -> Option<Answer> {
    let result = text.lines().find_map(|line| line.trim().strip_prefix("Broadcast completed: result="))?;
    let (code, message) = result.split_once(", data=\"")?;
    Some(Answer { done: code == "1", message: message.strip_suffix('"')?.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_of_the_provider_and_of_the_broadcast_are_parsed() {
        let answer = |done, message: &str| Some(Answer { done, message: message.into() });
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
        fn parsing_any_answer_ends(text in "(Result: Bundle\\[\\{)?.{0,60}(, (done|said)=)?.{0,20}(\\}\\])?") {
            let _ = (answer_of_call(&text), answer_of_broadcast(&text));
        }
    }
}
