//! Filters of the commands that list proposals.

use clap::ValueEnum;

use crate::proposal::Status;
use crate::proposal::event::Subject;
use crate::store::Filter;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum StatusFilter {
    /// Waiting for a decision.
    #[default]
    Pending,
    /// Applied.
    Applied,
    /// Rejected.
    Rejected,
    /// Not decided in time.
    Expired,
    /// Every one.
    All,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SubjectKind {
    /// Files of the repository.
    Code,
    /// The project's memory.
    Memory,
}

impl From<SubjectKind> for Subject {
    fn from(kind: SubjectKind) -> Self {
        match kind {
            SubjectKind::Code => Self::Code,
            SubjectKind::Memory => Self::Memory,
        }
    }
}

#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Filters")]
pub struct FilterArgs {
    /// Only this domain.
    #[arg(long, value_name = "NAME")]
    pub domain: Option<String>,
    /// Only this related task.
    #[arg(long, value_name = "ID")]
    pub task: Option<String>,
    /// Only this proposer.
    #[arg(long, value_name = "NAME")]
    pub by: Option<String>,
    /// Only proposals that change this file or directory (from the repository's top).
    #[arg(long, value_name = "PATH")]
    pub path: Option<String>,
    /// Only code or memory proposals.
    #[arg(long, value_enum, value_name = "KIND")]
    pub kind: Option<SubjectKind>,
    /// At most N.
    #[arg(short = 'n', long, value_name = "N")]
    pub limit: Option<usize>,
}

impl FilterArgs {
    pub fn is_empty(&self) -> bool {
        let Self { domain, task, by, path, kind, limit } = self;
        let texts = [domain, task, by, path];
        texts.into_iter().all(Option::is_none) && limit.is_none() && kind.is_none()
    }

    pub fn filter(self, status: Option<Status>) -> Filter {
        Filter {
            by_contract: false,
            status,
            domain: self.domain,
            task: self.task,
            of_plans: false,
            by: self.by,
            path: self
                .path
                .map(|path| path.trim_start_matches("./").to_owned())
                .filter(|path| !matches!(path.as_str(), "" | ".")),
            subject: self.kind.map(Subject::from),
            limit: self.limit,
            newest_first: true,
        }
    }
}

impl StatusFilter {
    pub fn status(self) -> Option<Status> {
        match self {
            Self::Pending => Some(Status::Pending),
            Self::Applied => Some(Status::Applied),
            Self::Rejected => Some(Status::Rejected),
            Self::Expired => Some(Status::Expired),
            Self::All => None,
        }
    }
}
