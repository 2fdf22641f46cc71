//! The real binary in a pseudo-terminal, driven key by key, as a person would see it.

// Each test binary compiles this file and uses its own part of it.
#![allow(dead_code)]

use std::io::{Read as _, Write as _};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};

use crate::support::{Cmd, Repo, until};

/// Longest wait for anything to appear. Long, because machines may be busy; a test that waits so
/// long has failed.
const PATIENCE: Duration = Duration::from_secs(60);

/// A program in a terminal.
pub struct Terminal {
    master: Box<dyn MasterPty + Send>,
    writer: Box<dyn std::io::Write + Send>,
    child: Box<dyn Child + Send + Sync>,
    output: Receiver<Vec<u8>>,
    screen: vt100::Parser,
    transcript: Vec<u8>,
    /// How much of the transcript, without escape sequences, has been waited for.
    seen: usize,
}

impl Terminal {
    /// Starts `cmd` in a terminal of this size.
    pub fn start(cmd: Cmd, rows: u16, cols: u16) -> Self {
        let size = PtySize { rows, cols, pixel_width: 0, pixel_height: 0 };
        let pair = native_pty_system().openpty(size).expect("a pseudo-terminal");
        let command = cmd.into_inner();
        let mut builder = CommandBuilder::new(command.get_program());
        builder.args(command.get_args());
        builder.env_clear();
        for (name, value) in command.get_envs() {
            if let Some(value) = value {
                builder.env(name, value);
            }
        }
        builder.cwd(command.get_current_dir().expect("a directory"));
        let child = pair.slave.spawn_command(builder).expect("start in the terminal");
        drop(pair.slave);
        let mut reader = pair.master.try_clone_reader().expect("read the terminal");
        let writer = pair.master.take_writer().expect("write the terminal");
        let (sender, output) = channel();
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(count) = reader.read(&mut buffer) {
                if count == 0 || sender.send(buffer[..count].to_vec()).is_err() {
                    break;
                }
            }
        });
        Self {
            master: pair.master,
            writer,
            child,
            output,
            screen: vt100::Parser::new(size_of(rows), size_of(cols), 0),
            transcript: Vec::new(),
            seen: 0,
        }
    }

    /// In one without escape sequences.
    pub fn dumb(cmd: Cmd) -> Self {
        Self::start(cmd.env("TERM", "dumb").env("PAGER", "cat"), 60, 120)
    }

    /// A review in one without escape sequences.
    pub fn review(repo: &Repo, args: &[&str]) -> Self {
        Self::dumb(repo.cmd(&[&["review"], args].concat()))
    }

    /// Everything printed so far, without colours and cursor movements.
    pub fn text(&self) -> String {
        let text = String::from_utf8_lossy(&self.transcript);
        console::strip_ansi_codes(&text).replace("\r\n", "\n")
    }

    /// Everything printed so far, as it came.
    pub fn raw(&self) -> &[u8] {
        &self.transcript
    }

    /// The screen as a person sees it.
    pub fn screen(&self) -> String {
        self.screen.screen().contents()
    }

    /// Its rows, each as long as the terminal shows it: a word that breaks at the edge is in two of them.
    pub fn rows(&self) -> Vec<String> {
        let (_, columns) = self.cells().size();
        self.cells().rows(0, columns.get()).map(|row| row.trim_end().to_owned()).collect()
    }

    /// Asserts that each of these words is whole in a row, and that no row is fuller than the terminal.
    #[track_caller]
    pub fn shows_words(&self, words: &str) {
        let rows = self.rows().join("\n");
        for word in words.split(' ') {
            assert!(rows.split_whitespace().any(|it| it == word), "{word:?} is not in:\n{rows}");
        }
    }

    /// The same, cell by cell, with colours.
    pub fn cells(&self) -> &vt100::Screen {
        self.screen.screen()
    }

    /// Waits until `text` has been printed after what was waited for before.
    #[track_caller]
    pub fn sees(&mut self, text: &str) -> &mut Self {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let all = self.text();
            if let Some(at) = all[self.seen.min(all.len())..].find(text) {
                self.seen += at + text.len();
                return self;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            match self.output.recv_timeout(left) {
                Ok(bytes) => self.take(&bytes),
                Err(_) => panic!("never saw {text:?} in:\n{}", &all[self.seen.min(all.len())..]),
            }
        }
    }

    /// Waits until one of `texts` has been printed after what was waited for before, and says which; `None`
    /// where the program ends first.
    #[track_caller]
    pub fn is_asked_or_over(&mut self, texts: &[&str]) -> Option<usize> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let all = self.text();
            let rest = &all[self.seen.min(all.len())..];
            let found = texts.iter().enumerate();
            let found = found.filter_map(|(n, text)| Some((rest.find(text)? + text.len(), n)));
            if let Some((end, which)) = found.min() {
                self.seen += end;
                return Some(which);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            match self.output.recv_timeout(left) {
                Ok(bytes) => self.take(&bytes),
                Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => return None,
                Err(_) => panic!("never saw one of {texts:?} in:\n{rest}"),
            }
        }
    }

    /// Types.
    pub fn types(&mut self, keys: &str) -> &mut Self {
        self.writer.write_all(keys.as_bytes()).expect("type");
        self.writer.flush().expect("type");
        self
    }

    /// Waits until the program reads keys: its question is on the screen a moment before the terminal gives
    /// keys instead of lines and signals.
    #[track_caller]
    pub fn listens(&mut self) -> &mut Self {
        until("the program reads keys", || !self.is_sane());
        self
    }

    /// Sends a signal to the program.
    pub fn signal(&mut self, signal: rustix::process::Signal) -> &mut Self {
        let id = self.child.process_id().expect("a process");
        let pid = rustix::process::Pid::from_raw(id as i32).expect("a process");
        rustix::process::kill_process(pid, signal).expect("send it");
        self
    }

    /// Rests the fingers: Esc and a key typed at once are one key to every terminal program, and only the
    /// time between them says otherwise.
    pub fn rests(&mut self) -> &mut Self {
        std::thread::sleep(Duration::from_millis(300));
        self
    }

    /// Changes the size of the terminal.
    pub fn resize(&mut self, rows: u16, cols: u16) -> &mut Self {
        let size = PtySize { rows, cols, pixel_width: 0, pixel_height: 0 };
        self.master.resize(size).expect("resize");
        self.screen.screen_mut().set_size(size_of(rows), size_of(cols));
        self
    }

    /// Waits for the end and returns the exit status.
    #[track_caller]
    pub fn ends(&mut self) -> u32 {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.child.try_wait().expect("wait") {
                while let Ok(bytes) = self.output.recv_timeout(Duration::from_millis(200)) {
                    self.take(&bytes);
                }
                return status.exit_code();
            }
            if Instant::now() > deadline {
                let _ = self.child.kill();
                panic!("did not end:\n{}", self.text());
            }
            if let Ok(bytes) = self.output.recv_timeout(Duration::from_millis(20)) {
                self.take(&bytes);
            }
        }
    }

    /// Whether the terminal is as a shell left it: lines are edited and echoed by the system.
    pub fn is_sane(&self) -> bool {
        let Some(modes) = self.master.get_termios() else { return false };
        let text = format!("{:?}", modes.local_flags);
        text.contains("ICANON") && text.contains("ECHO") && text.contains("ISIG")
    }

    fn take(&mut self, bytes: &[u8]) {
        self.screen.process(bytes);
        self.transcript.extend_from_slice(bytes);
    }
}

fn size_of(cells: u16) -> std::num::NonZeroU16 {
    cells.try_into().expect("a terminal has rows and columns")
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // `kill` sends a signal even to a number that is another program's since this one was waited for.
        if !matches!(self.child.try_wait(), Ok(Some(_))) {
            let _ = self.child.kill();
        }
    }
}
