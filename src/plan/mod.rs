//! The task plan: the list of steps an agent works through, and its history.
