//! A labelled corpus for the scanner, made up anew in every run from a fixed seed.
//!
//! None of it is real, and no line of this source looks like a credential. The formats here are
//! written from the services' own descriptions, not from the rules, and set into the surroundings
//! they are found in: configuration, code of many languages, command lines, logs, notes.

pub mod negatives;
pub mod positives;

/// One text, and the secrets in it.
pub struct Sample {
    /// What it is, for the report of misses.
    pub label: String,
    /// The text.
    pub text: String,
    /// What must be found in it; empty for a negative.
    pub secret: Option<String>,
}

/// A small deterministic generator (PCG-like; quality is enough for test data).
pub struct Random(u64);

impl Random {
    /// A generator of its own sequence for each seed.
    pub fn new(seed: u64) -> Self {
        let mut random = Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5851_f42d_4c95_7f2d);
        random.below(7);
        random
    }

    /// A number below `limit`.
    pub fn below(&mut self, limit: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let mixed = (self.0 >> 29) ^ (self.0 >> 47);
        (mixed as u32 as usize) % limit
    }

    /// One of `items`.
    pub fn pick<'a, T: ?Sized>(&mut self, items: &[&'a T]) -> &'a T {
        items[self.below(items.len())]
    }

    /// `count` characters of `set`.
    pub fn chars(&mut self, set: &str, count: usize) -> String {
        let set: Vec<char> = set.chars().collect();
        (0..count).map(|_| set[self.below(set.len())]).collect()
    }

    /// Lower-case hexadecimal.
    pub fn hex(&mut self, count: usize) -> String {
        self.chars("0123456789abcdef", count)
    }

    /// Letters of both cases and digits.
    pub fn alnum(&mut self, count: usize) -> String {
        self.chars(ALNUM, count)
    }

    /// The alphabet of base64.
    pub fn base64(&mut self, count: usize) -> String {
        self.chars(&format!("{ALNUM}+/"), count)
    }

    /// The alphabet of base64 for URLs.
    pub fn url(&mut self, count: usize) -> String {
        self.chars(&format!("{ALNUM}-_"), count)
    }

    /// Capitals and digits.
    pub fn caps(&mut self, count: usize) -> String {
        self.chars("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", count)
    }

    /// Digits.
    pub fn digits(&mut self, count: usize) -> String {
        self.chars("0123456789", count)
    }

    /// A version 4 UUID.
    pub fn uuid(&mut self) -> String {
        format!(
            "{}-{}-4{}-a{}-{}",
            self.hex(8),
            self.hex(4),
            self.hex(3),
            self.hex(3),
            self.hex(12)
        )
    }

    /// A word of the kind code and notes are made of.
    pub fn word(&mut self) -> &'static str {
        self.pick(WORDS)
    }

    /// A name of `count` words joined in one of the usual ways.
    pub fn name(&mut self, count: usize) -> String {
        let words: Vec<&str> = (0..count).map(|_| self.word()).collect();
        match self.below(4) {
            0 => words.join("_"),
            1 => words.join("-"),
            2 => words.concat(),
            _ => words
                .iter()
                .enumerate()
                .map(|(i, w)| if i == 0 { (*w).to_string() } else { capital(w) })
                .collect(),
        }
    }
}

/// The word with a capital first letter.
pub fn capital(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

const ALNUM: &str = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

const WORDS: &[&str] = &[
    "user", "account", "order", "invoice", "payment", "session", "request", "response", "handler",
    "buffer", "parser", "render", "widget", "button", "layout", "table", "column", "index",
    "query", "cache", "queue", "worker", "thread", "socket", "stream", "reader", "writer",
    "builder", "config", "option", "result", "error", "message", "event", "signal", "channel",
    "server", "client", "route", "service", "manager", "factory", "policy", "filter", "search",
    "upload", "download", "image", "video", "report", "metric", "logger", "tracer", "schema",
    "migration", "model", "view", "state", "action", "reducer", "store", "token", "lexer",
    "grammar", "symbol", "node", "graph", "vertex", "matrix", "vector", "header", "footer",
    "profile", "setting", "language", "locale", "currency", "product", "category", "customer",
    "address", "country", "region", "weather", "forecast",
];
