//! A list that is redrawn in place, and its keys.
//!
//! Raw mode and the terminal's alternate screen last until the value is dropped: what was printed
//! before, and what is printed afterwards, stays in the scroll-back. Signals are held meanwhile.

use std::io::{self, Write as _};
use std::sync::{Mutex, Once};

use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};

use super::keys::{KeyEvent, Raw};
use super::{Prompt, forget_typed_ahead, suspend};

const ENTER: &str = "\x1b[?1049h";
const LEAVE: &str = "\x1b[?2004l\x1b[?1049l";

/// The modes to go back to, while the alternate screen is shown.
static SHOWN: Mutex<Option<Termios>> = Mutex::new(None);

pub struct FullScreen<'p> {
    prompt: &'p Prompt,
    raw: Option<Raw<'p>>,
}

impl Prompt {
    /// # Errors
    /// The terminal's.
    pub fn full_screen(&self) -> io::Result<FullScreen<'_>> {
        // A panic aborts, and would leave the alternate screen.
        static HOOK: Once = Once::new();
        HOOK.call_once(|| {
            let before = std::panic::take_hook();
            std::panic::set_hook(Box::new(move |info| {
                leave();
                before(info);
            }));
        });
        let mut screen = FullScreen { prompt: self, raw: None };
        screen.enter()?;
        Ok(screen)
    }
}

impl FullScreen<'_> {
    fn enter(&mut self) -> io::Result<()> {
        let modes = tcgetattr(io::stdin())?;
        self.raw = Some(Raw::enter(&self.prompt.term, true)?);
        if let Ok(mut shown) = SHOWN.lock() {
            *shown = Some(modes);
        }
        self.prompt.put(ENTER)
    }

    /// Shows `lines`, which may have colours and fit the terminal, and waits for a key. The cursor is
    /// behind the last line.
    pub fn ask(&mut self, lines: &[String]) -> io::Result<KeyEvent> {
        // A line is cleared first: behind a full line, clearing would take its last character.
        let lines: Vec<String> = lines.iter().map(|line| format!("\x1b[2K{line}")).collect();
        self.prompt.put(&format!("\x1b[H{}\x1b[J", lines.join("\n")))?;
        let Some(raw) = &mut self.raw else { return Ok(KeyEvent::Gone) };
        let event = raw.read();
        match event {
            KeyEvent::Stop => {
                leave();
                self.raw = None;
                suspend();
                self.enter()?;
                // All is to be drawn again.
                return Ok(KeyEvent::Resized);
            }
            // The rest of the same burst is not key presses.
            KeyEvent::Pasted(_) => forget_typed_ahead(),
            _ => {}
        }
        Ok(event)
    }
}

impl Drop for FullScreen<'_> {
    fn drop(&mut self) {
        leave();
    }
}

fn leave() {
    let modes = SHOWN.lock().ok().and_then(|mut shown| shown.take());
    if let Some(modes) = modes {
        let mut out = io::stdout();
        let _ = out.write_all(LEAVE.as_bytes()).and_then(|()| out.flush());
        let _ = tcsetattr(io::stdin(), OptionalActions::Drain, &modes);
    }
}
