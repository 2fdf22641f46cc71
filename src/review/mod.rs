//! Interactive review: a pure model, and the terminal that drives it.

pub mod model;
pub mod terminal;

pub mod codes {
    crate::codes! {
        NO_SUCH_HUNK = "no_such_hunk", Invalid, "the proposal has no hunk of that number";
    }
}
