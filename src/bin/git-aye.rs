//! `git aye …`: the same program under the name git looks for: hands the process to [`aye::cli`] and returns its exit status.

fn main() -> std::process::ExitCode {
    aye::cli::main(std::env::args_os())
}
