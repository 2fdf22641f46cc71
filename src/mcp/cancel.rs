//! A call that the client may cancel.

use std::process::Child;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Ends the process of a call that only reads, once that is there.
#[derive(Debug, Default)]
pub struct Cancel(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    is_cancelled: bool,
    is_ended: bool,
    child: Option<Child>,
}

impl Cancel {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Cancels the call.
    pub fn cancel(&self) {
        let mut state = self.state();
        state.is_cancelled = true;
        state.end();
    }

    /// Whether a process was ended by that.
    pub fn is_ended(&self) -> bool {
        self.state().is_ended
    }

    /// Keeps `child`, the process of the call, to be ended.
    pub fn keep(&self, child: Child) {
        let mut state = self.state();
        state.child = Some(child);
        if state.is_cancelled {
            state.end();
        }
    }

    /// Gives back what was kept.
    pub fn release(&self) -> Option<Child> {
        self.state().child.take()
    }
}

impl State {
    fn end(&mut self) {
        if let Some(child) = &mut self.child {
            self.is_ended |= child.kill().is_ok();
        }
    }
}
