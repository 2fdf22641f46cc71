//! The reviewer's own command, run on what is taken so far.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use super::{DecisionOrder, Terminal, TrialOutcome};
use crate::error::Result;
use crate::render::style::Role;
use crate::review::model::{Review, Verdict};
use crate::text::{counted, escape};

pub(super) struct TrialReport {
    role: Role,
    text: String,
    /// Hash of the changes that were tried.
    of: u64,
}

impl Terminal<'_> {
    pub(super) fn try_taken(&mut self) -> Result<()> {
        let orders = self.taken_orders();
        if orders.is_empty() {
            return self.console.dim("nothing is taken so far; y takes, then t tries it");
        }
        let (role, text) = match self.host.try_orders(&orders) {
            Ok(TrialOutcome::Ended { exit_code, duration }) => {
                let (role, how) = match exit_code {
                    Some(0) => (Role::Good, "passed".to_owned()),
                    Some(code) => (Role::Bad, format!("failed with exit status {code}")),
                    None => (Role::Bad, "was ended by a signal".to_owned()),
                };
                let seconds = duration.as_secs_f64();
                let of = counted(orders.len(), "proposal");
                (role, format!("tried: {how} after {seconds:.1} s, with what is taken of {of}"))
            }
            Ok(TrialOutcome::NotMade(error)) | Err(error) => {
                return self.console.not_written("not tried", &error);
            }
        };
        self.console.tell(role, &escape::line(&text))?;
        self.trial = Some(TrialReport { role, text, of: digest(&orders) });
        Ok(())
    }

    /// For the last screen: the last trial, and whether it was about what is decided now.
    pub(super) fn say_trial(&self) -> Result<()> {
        let Some(trial) = &self.trial else { return Ok(()) };
        let is_of_now = trial.of == digest(&self.taken_orders());
        let since = if is_of_now { "" } else { "; other decisions since then, t tries again" };
        self.console.tell(trial.role, &format!("{}{since}", trial.text))
    }

    pub(super) fn takes_something(&self) -> bool {
        !self.taken_orders().is_empty()
    }

    /// What is taken so far; undecided hunks count as not taken.
    fn taken_orders(&self) -> Vec<DecisionOrder> {
        let slots = self.session.slots().iter().zip(&self.reached);
        let orders = slots.filter_map(|(slot, reached)| {
            let verdict = match slot.verdict() {
                Verdict::Open { decided: 1.., .. } => {
                    Verdict::Part(slot.review.as_ref().map(Review::changes)?)
                }
                verdict => verdict,
            };
            let takes = match &verdict {
                Verdict::Apply => true,
                Verdict::Part(changes) => !changes.is_empty(),
                _ => false,
            };
            let revision = reached.as_ref().filter(|_| takes)?.revision.clone();
            Some(DecisionOrder { verdict, ..DecisionOrder::new(slot, revision) })
        });
        orders.collect()
    }
}

fn digest(orders: &[DecisionOrder]) -> u64 {
    let mut hasher = DefaultHasher::new();
    for order in orders {
        order.revision.hash(&mut hasher);
        if let Verdict::Part(changes) = &order.verdict {
            changes.iter().for_each(|change| (&change.path, &change.after).hash(&mut hasher));
        }
    }
    hasher.finish()
}
