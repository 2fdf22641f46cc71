//! The public tool contracts: arguments in, the contract's response out.
