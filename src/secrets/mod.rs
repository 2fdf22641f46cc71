//! The scanner for secrets and personal data.
