//! The interactive review session: a pure model, and the terminal that drives it.
