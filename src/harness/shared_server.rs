//! Servers that outlive their client and are shared between runs. Their processes belong to no run,
//! and they may go on after the client has ended. Pure.
//!
//! Codex 0.169.0: its terminal interface starts such a server, or connects to a running one.

#[derive(Debug)]
pub struct SharedServer {
    pub program: &'static str,
    /// Makes the client work without the server.
    pub bypass_option: &'static str,
    /// Stops the server.
    pub stop_command: &'static str,
    /// Identifies its process.
    pub process_argument: &'static str,
    /// Socket, from the client's own directory.
    pub socket: &'static str,
    /// Process id, from the same directory.
    pub pid_file: &'static str,
    /// Another server, as the person wants it.
    remote: &'static str,
    takes_next: &'static [&'static str],
    /// Subcommands that need no server, or do nothing that concerns a run.
    standalone_commands: &'static [&'static str],
}

pub static CODEX: SharedServer = SharedServer {
    program: "codex",
    bypass_option: "--no-daemon",
    stop_command: "codex app-server daemon stop",
    process_argument: "app-server",
    socket: "app-server-control/app-server-control.sock",
    pid_file: "app-server-daemon/daemon.pid",
    remote: "--remote",
    takes_next: &[
        "-c", "--config", "--enable", "--disable", "-i", "--image", "-m", "--model", "-p",
        "--profile", "-s", "--sandbox", "-C", "--cd", "--add-dir", "-a", "--ask-for-approval",
        "--local-provider",
    ],
    standalone_commands: &[
        "exec", "e", "review", "login", "logout", "mcp", "plugin", "app-server", "remote-control",
        "completion", "update", "doctor", "sandbox", "debug", "apply", "a", "queue", "archive",
        "delete", "unarchive", "cloud", "exec-server", "features", "help", "-h", "--help", "-V",
        "--version",
    ],
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Worker {
    Itself,
    /// The server, unless an option prevents it.
    Server,
    Remote,
    /// Possibly the server: another program starts the client.
    Perhaps,
}

impl SharedServer {
    pub fn worker(&self, words: &[&str]) -> Worker {
        let Some((program, args)) = words.split_first() else { return Worker::Itself };
        let (is_remote, is_without) = (
            |word: &&str| word.starts_with(self.remote),
            |word: &&str| word.contains(self.bypass_option),
        );
        let name = program.rsplit(['/', '\\']).next().unwrap_or(program);
        if name.split('.').next() != Some(self.program) {
            let is_name = |part: &str| part == self.program;
            let names = |word: &&str| word.split(|c: char| !is_part(c)).any(is_name);
            let is_named = args.iter().any(names) && !args.iter().any(is_without);
            return if is_named { Worker::Perhaps } else { Worker::Itself };
        }
        // Words after `--` are a prompt.
        let options = args.split(|word| *word == "--").next().unwrap_or_default();
        let does_all =
            || self.first(options).is_some_and(|word| self.standalone_commands.contains(&word));
        if options.iter().any(is_without) {
            Worker::Itself
        } else if options.iter().any(is_remote) {
            Worker::Remote
        } else if does_all() {
            Worker::Itself
        } else {
            Worker::Server
        }
    }

    /// The first word that is not an option, or asks for help.
    fn first<'a>(&self, options: &[&'a str]) -> Option<&'a str> {
        let mut words = options.iter().copied();
        while let Some(word) = words.next() {
            if self.takes_next.contains(&word) {
                words.next();
            } else if !word.starts_with('-') || self.standalone_commands.contains(&word) {
                return Some(word);
            }
        }
        None
    }
}

fn is_part(c: char) -> bool {
    c.is_alphanumeric() || "_-.".contains(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_does_the_work_is_told_from_the_words() {
        for (line, worker) in [
            ("codex", Worker::Server),
            ("/usr/bin/codex fix_it", Worker::Server),
            ("codex.exe -m exec", Worker::Server),
            ("codex -C /r resume --last", Worker::Server),
            ("codex -- exec", Worker::Server),
            ("codex -- --no-daemon", Worker::Server),
            ("codex --no-daemon resume", Worker::Itself),
            ("codex -m gpt exec fix_it", Worker::Itself),
            ("codex --search -c a=b e fix_it", Worker::Itself),
            ("codex --version", Worker::Itself),
            ("codex --remote=unix:// x", Worker::Remote),
            ("npx @openai/codex", Worker::Perhaps),
            ("sh -c cd_x;codex", Worker::Perhaps),
            ("sh -c codex\u{a0}--no-daemon", Worker::Itself),
            ("vim codex.md", Worker::Itself),
            ("cat my-codex", Worker::Itself),
            ("claude", Worker::Itself),
            ("", Worker::Itself),
        ] {
            let words: Vec<&str> = line.split(' ').collect();
            assert_eq!(CODEX.worker(&words), worker, "{line}");
        }
        assert_eq!(CODEX.worker(&[]), Worker::Itself);
    }
}
