//! `--yes`, and what it names.

/// Deciding without a question.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct YesArgs {
    /// Do not ask. With filters, --yes=DIGEST decides on what --dry-run printed that digest for.
    #[arg(
        long,
        short = 'y',
        value_name = "DIGEST",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = ""
    )]
    pub yes: Option<String>,
}

impl YesArgs {
    /// Whether it was given.
    pub fn is_given(&self) -> bool {
        self.yes.is_some()
    }

    /// As it was given.
    pub fn flag(&self) -> String {
        self.digest().map_or("--yes".to_owned(), |digest| format!("--yes={digest}"))
    }

    /// The digest that it names.
    pub fn digest(&self) -> Option<&str> {
        self.yes.as_deref().filter(|digest| !digest.is_empty())
    }
}
