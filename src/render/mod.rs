//! Tables, diffs, ages and colours for a terminal.

pub mod age;
pub mod diff;
pub mod markdown;
pub mod overview;
pub mod style;
pub mod syntax;
pub mod table;
pub mod width;
