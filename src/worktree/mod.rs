//! Safe, atomic reads and writes inside the repository.
