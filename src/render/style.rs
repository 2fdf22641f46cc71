//! Colours of each kind of text, under git's configuration names and words.
//!
//! Colour is never the only sign: coloured facts are also written.

use std::fmt::{self, Write as _};

use gix::config as git;
use gix::config::color::{Attribute, Name};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Color {
    Default,
    /// The first 16 follow the user's theme.
    Indexed(u8),
    Rgb(u8, u8, u8),
}

/// The default changes nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Style {
    fg: Option<Color>,
    bg: Option<Color>,
    /// Bit n set is SGR attribute n (1 bold, 2 dim, 3 italic, 4 underline, 5 blink, 7 reverse,
    /// 9 strike).
    attributes: u16,
}

const BOLD: u16 = 1 << 1;
const DIM: u16 = 1 << 2;
const UNDERLINE: u16 = 1 << 4;
const REVERSE: u16 = 1 << 7;

impl Style {
    const fn fg(index: u8) -> Self {
        Self { fg: Some(Color::Indexed(index)), bg: None, attributes: 0 }
    }

    const fn with(mut self, attributes: u16) -> Self {
        self.attributes |= attributes;
        self
    }

    pub fn is_plain(&self) -> bool {
        *self == Self::default()
    }

    /// Parses git's colour words: up to two colours (`red`, `brightblue`, `208`, `#ff8000`,
    /// `normal`, `default`) and attributes (`bold`, `noul`, `no-blink`, …). `None` if git would
    /// complain.
    pub fn parse(words: &str) -> Option<Self> {
        let read = git::Color::try_from(words).ok()?;
        let attributes = ATTRIBUTES
            .iter()
            .filter(|(_, on, off)| read.attributes.contains(*on) && !read.attributes.contains(*off))
            .fold(0, |bits, (number, ..)| bits | 1 << number);
        Some(Self {
            fg: read.foreground.and_then(color),
            bg: read.background.and_then(color),
            attributes,
        })
    }

    pub fn write(&self, out: &mut String, text: &str) {
        if self.is_plain() || text.is_empty() {
            out.push_str(text);
            return;
        }
        let mut separator = "\x1b[";
        for n in (1..16).filter(|n| self.attributes >> n & 1 == 1) {
            let _ = write!(out, "{separator}{n}");
            separator = ";";
        }
        for (color, base) in [(self.fg, 30), (self.bg, 40)] {
            let Some(color) = color else { continue };
            out.push_str(separator);
            separator = ";";
            let _ = match color {
                Color::Default => write!(out, "{}", base + 9),
                Color::Indexed(n @ 0..=7) => write!(out, "{}", base + n),
                Color::Indexed(n @ 8..=15) => write!(out, "{}", base + 60 + n - 8),
                Color::Indexed(n) => write!(out, "{};5;{n}", base + 8),
                Color::Rgb(r, g, b) => write!(out, "{};2;{r};{g};{b}", base + 8),
            };
        }
        out.push('m');
        out.push_str(text);
        out.push_str("\x1b[m");
    }
}

const ATTRIBUTES: [(u8, Attribute, Attribute); 7] = [
    (1, Attribute::BOLD, Attribute::NO_BOLD),
    (2, Attribute::DIM, Attribute::NO_DIM),
    (3, Attribute::ITALIC, Attribute::NO_ITALIC),
    (4, Attribute::UL, Attribute::NO_UL),
    (5, Attribute::BLINK, Attribute::NO_BLINK),
    (7, Attribute::REVERSE, Attribute::NO_REVERSE),
    (9, Attribute::STRIKE, Attribute::NO_STRIKE),
];

/// `None` for `normal`, which changes nothing.
fn color(name: Name) -> Option<Color> {
    Some(Color::Indexed(match name {
        Name::Normal => return None,
        Name::Default => return Some(Color::Default),
        Name::Rgb(r, g, b) => return Some(Color::Rgb(r, g, b)),
        Name::Ansi(index) => index,
        Name::Black => 0,
        Name::Red => 1,
        Name::Green => 2,
        Name::Yellow => 3,
        Name::Blue => 4,
        Name::Magenta => 5,
        Name::Cyan => 6,
        Name::White => 7,
        Name::BrightBlack => 8,
        Name::BrightRed => 9,
        Name::BrightGreen => 10,
        Name::BrightYellow => 11,
        Name::BrightBlue => 12,
        Name::BrightMagenta => 13,
        Name::BrightCyan => 14,
        Name::BrightWhite => 15,
    }))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Role {
    /// Ordinary text and unchanged lines.
    Plain,
    Old,
    New,
    /// Changed words of a removed line.
    OldWord,
    /// Changed words of an added line.
    NewWord,
    /// File headers.
    Meta,
    /// `@@ … @@`.
    Frag,
    /// The heading after `@@`.
    Func,
    /// Trailing whitespace.
    Blank,
    /// A dangerous or misleading character made visible.
    Mark,
    Id,
    /// The prefix of an id that has to be typed.
    IdPrefix,
    Good,
    Warn,
    Bad,
    Dim,
    Title,
    /// Keys of a legend.
    Key,
    Keyword,
    String,
    Comment,
    /// Numbers and constants.
    Number,
}

const ROLES: usize = Role::Number as usize + 1;

/// Colours of a terminal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ColorSupport {
    /// The theme's sixteen colours.
    #[default]
    Sixteen,
    /// 256 or more colours, dark background.
    Dark,
    /// 256 or more colours, light background.
    Light,
}

impl ColorSupport {
    /// `COLORFGBG` ends with the number of the background colour. The configured `background`,
    /// `light` or `dark`, wins.
    pub fn of(
        term: Option<&str>,
        colorterm: Option<&str>,
        colorfgbg: Option<&str>,
        background: Option<&str>,
    ) -> Self {
        let many = term.is_some_and(|term| term.contains("256color") || term.contains("direct"))
            || colorterm.is_some_and(|value| matches!(value, "truecolor" | "24bit"));
        let behind = colorfgbg.and_then(|value| value.rsplit(';').next()?.parse::<u8>().ok());
        let is_light = match background {
            Some("light") => true,
            Some("dark") => false,
            _ => matches!(behind, Some(7 | 9..=15)),
        };
        match (many, is_light) {
            (false, _) => Self::Sixteen,
            (true, false) => Self::Dark,
            (true, true) => Self::Light,
        }
    }
}

#[derive(Clone, Debug)]
pub struct Palette {
    on: bool,
    styles: [Style; ROLES],
    /// Backgrounds of removed and added lines whose text is coloured by language.
    grounds: [Option<Color>; 2],
}

impl Palette {
    pub fn plain() -> Self {
        Self { on: false, ..Self::new(|_| None) }
    }

    /// Default colours, overridden by `config` under git's names (`color.diff.old`, …). A value
    /// that git rejects is ignored.
    pub fn new(config: impl Fn(&str) -> Option<String>) -> Self {
        Self::with_depth(config, ColorSupport::Sixteen)
    }

    /// With 256 colours, the background shows the side of a changed line and the foreground its
    /// language. Line colours in git's configuration turn this off.
    pub fn with_depth(config: impl Fn(&str) -> Option<String>, depth: ColorSupport) -> Self {
        let mut styles = [Style::default(); ROLES];
        let mut set = |role: Role, style: Style, names: &[&str]| {
            let configured = names.iter().find_map(|name| Style::parse(&config(name)?));
            styles[role as usize] = configured.unwrap_or(style);
        };
        set(Role::Plain, Style::default(), &["color.diff.context", "color.diff.plain"]);
        set(Role::Old, Style::fg(1), &["color.diff.old"]);
        set(Role::New, Style::fg(2), &["color.diff.new"]);
        let (old, new) = ("color.diff-highlight.oldHighlight", "color.diff-highlight.newHighlight");
        set(Role::OldWord, Style::fg(1).with(REVERSE), &[old]);
        set(Role::NewWord, Style::fg(2).with(REVERSE), &[new]);
        set(Role::Meta, Style::default().with(BOLD), &["color.diff.meta"]);
        set(Role::Frag, Style::fg(6), &["color.diff.frag"]);
        set(Role::Func, Style::default(), &["color.diff.func"]);
        let red_ground = Style { bg: Some(Color::Indexed(1)), ..Style::default() };
        set(Role::Blank, red_ground, &["color.diff.whitespace"]);
        set(Role::Mark, Style::fg(5).with(REVERSE), &[]);
        set(Role::Id, Style::fg(3), &["color.diff.commit"]);
        set(Role::IdPrefix, Style::fg(3).with(BOLD | UNDERLINE), &[]);
        set(Role::Good, Style::fg(2), &[]);
        set(Role::Warn, Style::fg(3), &[]);
        set(Role::Bad, Style::fg(1).with(BOLD), &[]);
        set(Role::Dim, Style::default().with(DIM), &[]);
        set(Role::Title, Style::default().with(BOLD), &[]);
        set(Role::Key, Style::fg(4).with(BOLD), &["color.interactive.prompt"]);
        set(Role::Keyword, Style::fg(5), &[]);
        set(Role::String, Style::fg(3), &[]);
        set(Role::Comment, Style::fg(8), &[]);
        set(Role::Number, Style::fg(6), &[]);
        let mut grounds = [None, None];
        let behind = match depth {
            ColorSupport::Sixteen => None,
            ColorSupport::Dark => Some(([52, 22], [88, 28], 245)),
            ColorSupport::Light => Some(([224, 194], [217, 157], 242)),
        };
        let is_set = |name: &str| config(name).is_some_and(|words| Style::parse(&words).is_some());
        if let Some((lines, words, comment)) = behind
            && !is_set("color.diff.old")
            && !is_set("color.diff.new")
        {
            grounds = lines.map(|index| Some(Color::Indexed(index)));
            for (role, name, index) in
                [(Role::OldWord, old, words[0]), (Role::NewWord, new, words[1])]
            {
                if !is_set(name) {
                    let bg = Some(Color::Indexed(index));
                    styles[role as usize] = Style { bg, ..Style::default() };
                }
            }
            styles[Role::Comment as usize] = Style::fg(comment);
        }
        Self { on: true, styles, grounds }
    }

    /// Without emphasis on changed words, for a program that adds its own.
    #[must_use]
    pub fn without_word_emphasis(mut self) -> Self {
        self.styles[Role::OldWord as usize] = self.styles[Role::Old as usize];
        self.styles[Role::NewWord as usize] = self.styles[Role::New as usize];
        self.grounds = [None, None];
        self
    }

    /// Keeps the background of `base`, if the palette has one.
    pub fn write_on(&self, out: &mut String, base: Role, role: Role, text: &str) {
        let ground = match base {
            Role::Old => self.grounds[0],
            Role::New => self.grounds[1],
            _ => None,
        };
        let Some(ground) = ground.filter(|_| self.on) else {
            return self.write(out, role, text);
        };
        // Text without a language keeps the terminal's foreground.
        let style = if role == base { Style::default() } else { self.style(role) };
        Style { bg: style.bg.or(Some(ground)), ..style }.write(out, text);
    }

    pub fn is_on(&self) -> bool {
        self.on
    }

    /// Plain when colour is off.
    pub fn style(&self, role: Role) -> Style {
        if self.on { self.styles[role as usize] } else { Style::default() }
    }

    /// `text` must be safe for a terminal already.
    pub fn paint(&self, role: Role, text: impl fmt::Display) -> String {
        let mut out = String::new();
        self.write(&mut out, role, &text.to_string());
        out
    }

    pub fn write(&self, out: &mut String, role: Role, text: &str) {
        self.style(role).write(out, text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn painted(words: &str) -> String {
        let mut out = String::new();
        Style::parse(words).unwrap().write(&mut out, "x");
        out
    }

    #[test]
    fn colour_words_mean_what_they_mean_to_git() {
        assert_eq!(painted("red"), "\x1b[31mx\x1b[m");
        assert_eq!(painted("bold brightwhite #ff8000"), "\x1b[1;97;48;2;255;128;0mx\x1b[m");
        assert_eq!(painted("normal 208 ul"), "\x1b[4;48;5;208mx\x1b[m");
        assert_eq!(painted("normal"), "x");
        assert_eq!(painted("bold nobold blue"), "\x1b[34mx\x1b[m");
        assert_eq!(painted("Red no-bold reset"), "\x1b[31mx\x1b[m");
        assert_eq!(painted("#f80 default"), "\x1b[38;2;255;136;0;49mx\x1b[m");
        assert_eq!(
            painted("bold dim italic ul blink reverse strike"),
            "\x1b[1;2;3;4;5;7;9mx\x1b[m"
        );
        assert_eq!(painted("3 brightcyan"), "\x1b[33;106mx\x1b[m");
        assert_eq!(Style::parse("mauve"), None);
        assert_eq!(Style::parse("red green blue"), None);
    }

    #[test]
    fn with_256_colours_the_side_is_behind_the_language() {
        let depth = |term, background| ColorSupport::of(Some(term), None, Some("15;0"), background);
        assert_eq!(depth("xterm", None), ColorSupport::Sixteen);
        assert_eq!(depth("xterm-256color", None), ColorSupport::Dark);
        assert_eq!(depth("xterm-256color", Some("light")), ColorSupport::Light);
        assert_eq!(
            ColorSupport::of(Some("x"), Some("truecolor"), Some("0;15"), None),
            ColorSupport::Light
        );
        let on = |palette: &Palette, base, role| {
            let mut out = String::new();
            palette.write_on(&mut out, base, role, "x");
            out
        };
        let dark = Palette::with_depth(|_| None, ColorSupport::Dark);
        assert_eq!(on(&dark, Role::New, Role::New), "\x1b[48;5;22mx\x1b[m");
        assert_eq!(on(&dark, Role::Old, Role::String), "\x1b[33;48;5;52mx\x1b[m");
        assert_eq!(on(&dark, Role::Old, Role::OldWord), "\x1b[48;5;88mx\x1b[m");
        assert_eq!(on(&dark, Role::Plain, Role::String), "\x1b[33mx\x1b[m");
        let own = |name: &str| (name == "color.diff.old").then(|| "blue".to_owned());
        assert_eq!(
            on(&Palette::with_depth(own, ColorSupport::Dark), Role::Old, Role::Old),
            "\x1b[34mx\x1b[m"
        );
        assert_eq!(on(&Palette::new(|_| None), Role::New, Role::String), "\x1b[33mx\x1b[m");
    }

    #[test]
    fn configuration_replaces_a_default_and_nonsense_does_not() {
        let config = |name: &str| match name {
            "color.diff.old" => Some("blue".to_owned()),
            "color.diff.new" => Some("no such colour".to_owned()),
            _ => None,
        };
        let palette = Palette::new(config);
        assert_eq!(palette.paint(Role::Old, "x"), "\x1b[34mx\x1b[m");
        assert_eq!(palette.paint(Role::New, "x"), "\x1b[32mx\x1b[m");
        assert_eq!(Palette::plain().paint(Role::Old, "x"), "x");
    }
}
