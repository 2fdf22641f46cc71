//! Tables, diffs, ages and colours, as people see them in a terminal.

pub mod age;
pub mod diff;
pub mod overview;
pub mod style;
pub mod syntax;
pub mod table;
pub mod width;
