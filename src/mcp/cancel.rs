//! Cancellation of a tool call.

use std::process::Child;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Kills the process of a read-only call, even one that starts later.
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

    pub fn cancel(&self) {
        let mut state = self.state();
        state.is_cancelled = true;
        state.end();
    }

    pub fn is_ended(&self) -> bool {
        self.state().is_ended
    }

    /// Kills the process at once if the call is cancelled already.
    pub fn keep(&self, child: Child) {
        let mut state = self.state();
        state.child = Some(child);
        if state.is_cancelled {
            state.end();
        }
    }

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
