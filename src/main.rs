//! The `aye` program; see `aye::cli`.

fn main() -> std::process::ExitCode {
    aye::cli::main(std::env::args_os())
}
