//! A long-lived `git cat-file --batch`, asked one object after the other.

use std::{
    fs, io,
    io::{PipeWriter, Write},
    path::Path,
    process::Command,
    time::Duration,
};

use repackbench_client::Sink;

use super::{
    StockError,
    child::{self, Finished},
    output::size_in,
};
use crate::clock::Clock;
use repackbench_writer::Progress;

/// Runs `command`, and sends each line of the file `requests` once the one before is answered. Returns the elapsed time
/// from each line to the end of its answer, except that of the first line, which includes the start of the process.
pub(super) fn run(
    command: &mut Command,
    requests: &Path,
    clock: &dyn Clock,
    progress: &dyn Progress,
    sink: &mut dyn Sink,
) -> Result<(Finished, Vec<Duration>), StockError> {
    let lines = fs::read(requests).map_err(|error| StockError::files("read", requests, error))?;
    let (reader, writer) = io::pipe().map_err(|error| StockError::failed(command, &error.to_string()))?;
    command.stdin(reader);
    let mut dialogue = Dialogue::new(&lines, writer, clock, sink);
    dialogue.ask()?;
    let finished = child::run_timed(command, clock, progress, &mut dialogue)?;
    let mut elapsed = dialogue.end().map_err(|why| StockError::failed(command, &why))?;
    elapsed.drain(..elapsed.len().min(1));
    Ok((finished, elapsed))
}

/// Asks the next question when an answer ends.
struct Dialogue<'a> {
    questions: std::slice::Split<'a, u8, fn(&u8) -> bool>,
    /// `None` once all questions are asked: then the process sees the end of its input.
    to: Option<PipeWriter>,
    clock: &'a dyn Clock,
    sink: &'a mut dyn Sink,
    asked: Duration,
    elapsed: Vec<Duration>,
    /// The beginning of a line that is not complete.
    part: Vec<u8>,
    /// The number of bytes of the object that are still to come, including its line feed.
    left: u64,
    error: Option<io::Error>,
}

impl<'a> Dialogue<'a> {
    fn new(lines: &'a [u8], to: PipeWriter, clock: &'a dyn Clock, sink: &'a mut dyn Sink) -> Self {
        let is_end: fn(&u8) -> bool = |byte| *byte == b'\n';
        Dialogue {
            questions: lines.strip_suffix(b"\n").unwrap_or(lines).split(is_end),
            to: Some(to),
            clock,
            sink,
            asked: Duration::ZERO,
            elapsed: Vec::new(),
            part: Vec::new(),
            left: 0,
            error: None,
        }
    }

    /// Sends the next line, or ends the input.
    fn ask(&mut self) -> Result<(), StockError> {
        let sent = match (self.questions.next(), &mut self.to) {
            (Some(question), Some(to)) => self.clock.read().and_then(|now| {
                self.asked = now.wall;
                to.write_all(&[question, b"\n"].concat())
            }),
            _ => {
                self.to = None;
                Ok(())
            }
        };
        sent.map_err(StockError::Clock)
    }

    /// An answer is complete.
    fn answered(&mut self) {
        let next = self.clock.read().map_err(StockError::Clock).and_then(|now| {
            self.elapsed.push(now.wall.saturating_sub(self.asked));
            self.ask()
        });
        if let Err(StockError::Clock(error)) = next {
            // Otherwise the process would wait for ever.
            self.to = None;
            self.error.get_or_insert(error);
        }
    }

    /// Takes some of `bytes`, and returns the rest.
    fn take_some<'b>(&mut self, bytes: &'b [u8]) -> &'b [u8] {
        if self.left > 0 {
            let len = usize::try_from(self.left).unwrap_or(usize::MAX).min(bytes.len());
            self.left -= len as u64;
            if self.left == 0 {
                self.answered();
            }
            return bytes.split_at(len).1;
        }
        let Some(end) = memchr::memchr(b'\n', bytes) else {
            self.part.extend_from_slice(bytes);
            return &[];
        };
        let (line, rest) = bytes.split_at(end + 1);
        self.part.extend_from_slice(line);
        match size_in(&self.part) {
            Some(size) => self.left = size.saturating_add(1),
            // `REV:PATH missing`
            None => self.answered(),
        }
        self.part.clear();
        rest
    }

    /// The elapsed time of each question.
    fn end(self) -> Result<Vec<Duration>, String> {
        match self.error {
            Some(error) => Err(error.to_string()),
            None if self.to.is_some() => Err("it ended before it had answered".to_owned()),
            None => Ok(self.elapsed),
        }
    }
}

impl Sink for Dialogue<'_> {
    fn take(&mut self, bytes: &[u8]) {
        self.sink.take(bytes);
        let mut rest = bytes;
        while !rest.is_empty() {
            rest = self.take_some(rest);
        }
    }
}

#[cfg(test)]
mod tests {
    use repackbench_writer::NoProgress;

    use super::*;
    use crate::clock::SystemClock;

    fn ask(script: &str, questions: &str) -> (Result<usize, String>, Vec<u8>) {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), questions).unwrap();
        let (mut command, mut said) = (Command::new("sh"), Vec::new());
        command.args(["-c", script]);
        let ran = run(&mut command, file.path(), &SystemClock::new(), &NoProgress, &mut said);
        (ran.map(|(_, elapsed)| elapsed.len()).map_err(|error| error.to_string()), said)
    }

    #[test]
    fn each_question_waits_for_the_answer_to_the_one_before() {
        // The objects end with line feeds, are empty, or look like the head of another one.
        let answer = r#"while read -r name; do
            case $name in a) printf 'id blob 3\nx\n\n\n';; b) printf 'id blob 0\n\n';; c) echo "c missing";;
            d) printf 'id blob 9\nid blob 5\n';; esac; done"#;
        let (asked, said) = ask(answer, "a\nb\nc\nd\na\n");
        assert_eq!(asked, Ok(4), "the first includes the start");
        let expected = b"id blob 3\nx\n\n\nid blob 0\n\nc missing\nid blob 9\nid blob 5\nid blob 3\nx\n\n\n";
        assert_eq!(said, expected);
    }

    #[test]
    fn processes_that_end_too_soon_are_errors() {
        let (asked, _) = ask("read -r name; printf 'id blob 0\\n\\n'; read -r name; exit 0", "a\nb\nc\n");
        assert!(asked.is_err_and(|why| why.contains("it ended before it had answered")));
    }
}
