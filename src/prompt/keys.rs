//! Keys from a terminal in raw mode, one at a time.

use std::io;

use console::Term;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyEvent {
    Char(char),
    Enter,
    Escape,
    Erase,
    /// Ctrl-W.
    EraseWord,
    /// Ctrl-U.
    EraseLine,
    Up,
    Down,
    Left,
    Right,
    PageUp,
    PageDown,
    First,
    Last,
    /// Also SIGINT from another process.
    Interrupt,
    /// Ctrl-Z.
    Stop,
    /// Ctrl-D.
    End,
    /// Input has ended, or a signal ends the process.
    Gone,
    /// Bracketed paste.
    Pasted(String),
    /// The terminal has another size.
    Resized,
    Other,
}

pub(super) use system::Raw;

mod system {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};
    use signal_hook::consts::SIGINT;

    use super::super::signals::SignalHold;
    use super::{KeyEvent, Term, io};

    /// A key's sequence arrives at once; slow lines take a little longer.
    const SEQUENCE: Timespec = Timespec { tv_sec: 0, tv_nsec: 40_000_000 };
    /// A paste without an end mark ends then.
    const PASTE: Timespec = Timespec { tv_sec: 2, tv_nsec: 0 };
    /// Bytes kept of a paste; the rest is dropped.
    const MOST: usize = 64 * 1024;

    /// Reset when dropped. A signal that ends the process takes effect after the reset.
    pub(in super::super) struct Raw<'t> {
        term: &'t Term,
        original: Termios,
        brackets: bool,
        hold: Option<SignalHold>,
        is_resized: bool,
    }

    /// The key of a sequence that ends in a letter.
    fn named(last: u8) -> KeyEvent {
        match last {
            b'A' => KeyEvent::Up,
            b'B' => KeyEvent::Down,
            b'C' => KeyEvent::Right,
            b'D' => KeyEvent::Left,
            b'F' => KeyEvent::Last,
            b'H' => KeyEvent::First,
            _ => KeyEvent::Other,
        }
    }

    impl<'t> Raw<'t> {
        pub(in super::super) fn enter(term: &'t Term, brackets: bool) -> io::Result<Self> {
            let original = tcgetattr(io::stdin())?;
            let hold = Some(SignalHold::all());
            let original_modes = original.clone();
            let raw = Self { term, original: original_modes, brackets, hold, is_resized: false };
            let mut modes = original;
            modes.make_raw();
            modes.output_modes = raw.original.output_modes;
            tcsetattr(io::stdin(), OptionalActions::Drain, &modes)?;
            if brackets {
                term.write_str("\x1b[?2004h")?;
                term.flush()?;
            }
            Ok(raw)
        }

        pub(in super::super) fn read(&mut self) -> KeyEvent {
            let Some(byte) = self.byte(None) else {
                return match self.signal() {
                    None if std::mem::take(&mut self.is_resized) => KeyEvent::Resized,
                    Some(SIGINT) => {
                        self.hold.iter().for_each(SignalHold::answered);
                        KeyEvent::Interrupt
                    }
                    _ => KeyEvent::Gone,
                };
            };
            match byte {
                b'\r' | b'\n' => KeyEvent::Enter,
                0x03 | 0x1c => KeyEvent::Interrupt,
                0x04 => KeyEvent::End,
                0x08 | 0x7f => KeyEvent::Erase,
                0x15 => KeyEvent::EraseLine,
                0x17 => KeyEvent::EraseWord,
                0x1a => KeyEvent::Stop,
                0x1b => self.sequence(),
                0x00..0x20 => KeyEvent::Other,
                0x20..0x80 => KeyEvent::Char(char::from(byte)),
                _ => self.character(byte),
            }
        }

        /// Reads the bytes after Esc: none, a key's sequence (ECMA-48 5.4, or SS3), or another key.
        fn sequence(&mut self) -> KeyEvent {
            match self.byte(Some(SEQUENCE)) {
                None => KeyEvent::Escape,
                Some(b'[') => {
                    let mut parameters = Vec::new();
                    loop {
                        match self.byte(Some(SEQUENCE)) {
                            Some(byte @ 0x20..=0x3f) if parameters.len() < 32 => {
                                parameters.push(byte);
                            }
                            Some(b'~') => break self.numbered(&parameters),
                            Some(byte) => break named(byte),
                            None => break KeyEvent::Other,
                        }
                    }
                }
                Some(b'O') => self.byte(Some(SEQUENCE)).map_or(KeyEvent::Other, named),
                Some(_) => KeyEvent::Other,
            }
        }

        /// The key of a sequence that ends in `~`.
        fn numbered(&mut self, parameters: &[u8]) -> KeyEvent {
            match parameters {
                b"1" | b"7" => KeyEvent::First,
                b"4" | b"8" => KeyEvent::Last,
                b"5" => KeyEvent::PageUp,
                b"6" => KeyEvent::PageDown,
                b"200" => self.paste(),
                _ => KeyEvent::Other,
            }
        }

        fn paste(&mut self) -> KeyEvent {
            const END: &[u8] = b"\x1b[201~";
            let mut text = Vec::new();
            let mut tail = Vec::new();
            while let Some(byte) = self.byte(Some(PASTE)) {
                tail.push(byte);
                if tail.len() > END.len() {
                    let first = tail.remove(0);
                    if text.len() < MOST {
                        text.push(first);
                    }
                }
                if tail == END {
                    tail.clear();
                    break;
                }
            }
            text.extend(tail);
            KeyEvent::Pasted(String::from_utf8_lossy(&text).into_owned())
        }

        fn character(&mut self, first: u8) -> KeyEvent {
            let more = match first {
                0xc2..=0xdf => 1,
                0xe0..=0xef => 2,
                0xf0..=0xf4 => 3,
                _ => return KeyEvent::Other,
            };
            let mut bytes = vec![first];
            for _ in 0..more {
                bytes.extend(self.byte(Some(SEQUENCE)));
            }
            let text = str::from_utf8(&bytes).ok();
            let c = text.and_then(|text| text.chars().next()).filter(|c| !c.is_control());
            c.map_or(KeyEvent::Other, KeyEvent::Char)
        }

        fn signal(&self) -> Option<i32> {
            self.hold.as_ref().and_then(SignalHold::came)
        }

        /// `None` after a timeout, a signal, or the end of input.
        fn byte(&mut self, patience: Option<Timespec>) -> Option<u8> {
            loop {
                if self.signal().is_some() {
                    return None;
                }
                let stdin = io::stdin();
                let mut ready = vec![PollFd::new(&stdin, PollFlags::IN)];
                let wake = self.hold.as_ref().and_then(SignalHold::wake);
                ready.extend(wake.map(|wake| PollFd::new(wake, PollFlags::IN)));
                match poll(&mut ready, patience.as_ref()) {
                    Ok(0) => return None,
                    Ok(_) | Err(rustix::io::Errno::INTR) => {}
                    Err(_) => return None,
                }
                if ready[0].revents().is_empty() {
                    self.is_resized |= SignalHold::is_resized();
                    if self.is_resized && patience.is_none() {
                        return None;
                    }
                    continue;
                }
                let mut byte = [0];
                match rustix::io::read(&stdin, &mut byte) {
                    Ok(1) => return Some(byte[0]),
                    Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => {}
                    _ => return None,
                }
            }
        }
    }

    impl Drop for Raw<'_> {
        fn drop(&mut self) {
            if self.brackets {
                let _ = self.term.write_str("\x1b[?2004l").and_then(|()| self.term.flush());
            }
            let _ = tcsetattr(io::stdin(), OptionalActions::Drain, &self.original);
            if let Some(hold) = self.hold.take() {
                if hold.came().is_some() {
                    let _ = self.term.write_line("");
                }
                hold.release();
            }
        }
    }
}
