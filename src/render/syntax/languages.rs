//! The table of languages.

use super::super::style::Role;

/// One kind of string.
#[derive(Debug)]
pub(super) struct Quote {
    pub(super) open: &'static str,
    pub(super) close: &'static str,
    /// A backslash takes the next character with it.
    pub(super) escapes: bool,
    /// It may go over lines.
    pub(super) lines: bool,
}

/// What the lexer has to know of a language.
#[derive(Debug)]
pub(super) struct Language {
    /// Lower case, without the dot.
    pub(super) extensions: &'static [&'static str],
    /// Whole file names.
    pub(super) files: &'static [&'static str],
    /// Programs named by a `#!` line, without version.
    pub(super) programs: &'static [&'static str],
    /// What starts a comment to the end of the line.
    pub(super) line: &'static [&'static str],
    /// `#` starts one only after a blank.
    pub(super) hash_after_blank: bool,
    pub(super) block: &'static [(&'static str, &'static str)],
    /// Block comments nest.
    pub(super) nested: bool,
    /// Longer openings before shorter ones.
    pub(super) strings: &'static [Quote],
    /// `'x'` is a character and `'x` is not.
    pub(super) chars: bool,
    pub(super) keywords: &'static [&'static str],
    pub(super) constants: &'static [&'static str],
    pub(super) any_case: bool,
    /// Further characters of words.
    pub(super) word: &'static str,
    /// The sign after a key that starts a line.
    pub(super) key: Option<u8>,
    /// Lines that start so look so as a whole.
    pub(super) starts: &'static [(&'static str, Role)],
}

const fn quote(open: &'static str, close: &'static str, escapes: bool, lines: bool) -> Quote {
    Quote { open, close, escapes, lines }
}

const DOUBLE: Quote = quote("\"", "\"", true, false);
const DOUBLE_LINES: Quote = quote("\"", "\"", true, true);
const SINGLE: Quote = quote("'", "'", true, false);
const SINGLE_RAW: Quote = quote("'", "'", false, true);
const BACKTICK: Quote = quote("`", "`", true, true);
const TRIPLE: Quote = quote("\"\"\"", "\"\"\"", true, true);
const TRIPLE_SINGLE: Quote = quote("'''", "'''", true, true);
const C_BLOCK: &[(&str, &str)] = &[("/*", "*/")];
const MARKUP_BLOCK: &[(&str, &str)] = &[("<!--", "-->")];

const NONE: Language = Language {
    extensions: &[],
    files: &[],
    programs: &[],
    line: &[],
    hash_after_blank: false,
    block: &[],
    nested: false,
    strings: &[],
    chars: false,
    keywords: &[],
    constants: &["true", "false", "null"],
    any_case: false,
    word: "",
    key: None,
    starts: &[],
};

/// Languages that write comments as C++ does.
const C_LIKE: Language =
    Language { line: &["//"], block: C_BLOCK, strings: &[DOUBLE, SINGLE], ..NONE };
/// Languages that write comments as shells do.
const HASH: Language = Language { line: &["#"], strings: &[DOUBLE, SINGLE], ..NONE };

/// The languages known.
pub(super) static LANGUAGES: &[Language] = &[
    Language {
        extensions: &["rs"],
        nested: true,
        strings: &[
            quote("r##\"", "\"##", false, true),
            quote("r#\"", "\"#", false, true),
            quote("r\"", "\"", false, true),
            DOUBLE_LINES,
        ],
        chars: true,
        keywords: &[
            "as", "async", "await", "break", "const", "continue", "crate", "dyn", "else", "enum",
            "extern", "fn", "for", "if", "impl", "in", "let", "loop", "match", "mod", "move",
            "mut", "pub", "ref", "return", "self", "Self", "static", "struct", "super", "trait",
            "type", "union", "unsafe", "use", "where", "while", "yield",
        ],
        constants: &["true", "false", "None", "Some", "Ok", "Err"],
        ..C_LIKE
    },
    Language {
        extensions: &["py", "pyi", "pyw"],
        programs: &["python"],
        strings: &[TRIPLE, TRIPLE_SINGLE, DOUBLE, SINGLE],
        keywords: &[
            "and", "as", "assert", "async", "await", "break", "case", "class", "continue", "def",
            "del", "elif", "else", "except", "finally", "for", "from", "global", "if", "import",
            "in", "is", "lambda", "match", "nonlocal", "not", "or", "pass", "raise", "return",
            "try", "while", "with", "yield",
        ],
        constants: &["True", "False", "None", "self", "cls"],
        ..HASH
    },
    Language {
        extensions: &["js", "mjs", "cjs", "jsx", "ts", "mts", "cts", "tsx", "vue", "svelte"],
        programs: &["node", "deno", "bun"],
        strings: &[DOUBLE, SINGLE, BACKTICK],
        keywords: &[
            "abstract", "any", "as", "async", "await", "boolean", "break", "case", "catch",
            "class", "const", "continue", "debugger", "declare", "default", "delete", "do", "else",
            "enum", "export", "extends", "finally", "for", "from", "function", "get", "if",
            "implements", "import", "in", "instanceof", "interface", "keyof", "let", "namespace",
            "new", "number", "of", "private", "protected", "public", "readonly", "return", "set",
            "static", "string", "super", "switch", "this", "throw", "try", "type", "typeof",
            "unknown", "var", "void", "while", "with", "yield",
        ],
        constants: &["true", "false", "null", "undefined", "NaN", "Infinity"],
        word: "$",
        ..C_LIKE
    },
    Language {
        extensions: &["go"],
        strings: &[DOUBLE, SINGLE, quote("`", "`", false, true)],
        keywords: &[
            "break", "case", "chan", "const", "continue", "default", "defer", "else",
            "fallthrough", "for", "func", "go", "goto", "if", "import", "interface", "map",
            "package", "range", "return", "select", "struct", "switch", "type", "var",
        ],
        constants: &["true", "false", "nil", "iota"],
        ..C_LIKE
    },
    Language {
        extensions: &["java", "kt", "kts", "scala", "sc", "groovy", "gradle"],
        strings: &[TRIPLE, DOUBLE, SINGLE],
        keywords: &[
            "abstract", "as", "assert", "break", "by", "case", "catch", "class", "companion",
            "const", "continue", "data", "def", "default", "do", "else", "enum", "extends",
            "final", "finally", "for", "fun", "given", "if", "implements", "implicit", "import",
            "in", "init", "inner", "instanceof", "interface", "internal", "is", "lateinit",
            "match", "native", "new", "object", "open", "operator", "override", "package",
            "permits", "private", "protected", "public", "record", "return", "sealed", "static",
            "strictfp", "super", "suspend", "switch", "synchronized", "this", "throw", "throws",
            "trait", "transient", "try", "type", "typealias", "using", "val", "var", "void",
            "volatile", "when", "while", "with", "yield",
        ],
        ..C_LIKE
    },
    Language {
        extensions: &["c", "h", "cc", "cpp", "cxx", "hpp", "hh", "hxx", "m", "mm", "ino", "cu"],
        keywords: &[
            "alignas", "alignof", "auto", "bool", "break", "case", "catch", "char", "class",
            "concept", "const", "consteval", "constexpr", "constinit", "continue", "co_await",
            "co_return", "co_yield", "decltype", "default", "delete", "do", "double", "else",
            "enum", "explicit", "export", "extern", "final", "float", "for", "friend", "goto",
            "if", "inline", "int", "long", "mutable", "namespace", "new", "noexcept", "operator",
            "override", "private", "protected", "public", "register", "requires", "restrict",
            "return", "short", "signed", "sizeof", "static", "static_assert", "struct", "switch",
            "template", "this", "throw", "try", "typedef", "typename", "union", "unsigned",
            "using", "virtual", "void", "volatile", "while",
        ],
        constants: &["true", "false", "NULL", "nullptr"],
        starts: &[("#", Role::Keyword)],
        ..C_LIKE
    },
    Language {
        extensions: &["cs", "swift", "dart"],
        strings: &[TRIPLE, DOUBLE, SINGLE],
        keywords: &[
            "abstract", "actor", "as", "async", "await", "base", "bool", "break", "case", "catch",
            "class", "const", "continue", "default", "defer", "delegate", "do", "dynamic", "else",
            "enum", "event", "extension", "extends", "factory", "fileprivate", "final", "for",
            "foreach", "func", "get", "guard", "if", "implements", "import", "in", "init", "inout",
            "int", "interface", "internal", "is", "late", "let", "mixin", "mutating", "namespace",
            "new", "object", "operator", "out", "override", "params", "private", "protected",
            "protocol", "public", "readonly", "record", "ref", "required", "return", "sealed",
            "self", "set", "static", "string", "struct", "super", "switch", "this", "throw",
            "throws", "try", "typealias", "typeof", "using", "var", "virtual", "void", "where",
            "while", "yield",
        ],
        constants: &["true", "false", "null", "nil"],
        ..C_LIKE
    },
    Language {
        extensions: &["zig"],
        line: &["//", "\\\\"],
        strings: &[DOUBLE],
        chars: true,
        keywords: &[
            "align", "and", "anytype", "asm", "break", "catch", "comptime", "const", "continue",
            "defer", "else", "enum", "errdefer", "error", "export", "extern", "fn", "for", "if",
            "inline", "or", "orelse", "packed", "pub", "return", "struct", "switch", "test",
            "threadlocal", "try", "union", "unreachable", "usingnamespace", "var", "volatile",
            "while",
        ],
        constants: &["true", "false", "null", "undefined"],
        ..NONE
    },
    Language {
        extensions: &["rb", "rake", "gemspec", "ex", "exs", "cr"],
        files: &["Gemfile", "Rakefile", "Vagrantfile", "Podfile"],
        programs: &["ruby", "elixir"],
        strings: &[TRIPLE, DOUBLE_LINES, SINGLE],
        keywords: &[
            "after", "alias", "and", "begin", "break", "case", "class", "cond", "def", "defmacro",
            "defmodule", "defp", "defstruct", "do", "else", "elsif", "end", "ensure", "extend",
            "fn", "for", "if", "import", "in", "include", "module", "next", "not", "or", "private",
            "quote", "raise", "redo", "require", "rescue", "retry", "return", "self", "super",
            "then", "undef", "unless", "unquote", "until", "use", "when", "while", "with", "yield",
        ],
        constants: &["true", "false", "nil"],
        word: "?!",
        ..HASH
    },
    Language {
        extensions: &["php"],
        programs: &["php"],
        line: &["//", "#"],
        strings: &[DOUBLE_LINES, quote("'", "'", true, true)],
        keywords: &[
            "abstract", "and", "array", "as", "break", "case", "catch", "class", "clone", "const",
            "continue", "declare", "default", "do", "echo", "else", "elseif", "enum", "extends",
            "final", "finally", "fn", "for", "foreach", "function", "global", "if", "implements",
            "include", "instanceof", "interface", "match", "namespace", "new", "or", "print",
            "private", "protected", "public", "readonly", "require", "require_once", "return",
            "static", "switch", "throw", "trait", "try", "use", "var", "while", "xor", "yield",
        ],
        ..C_LIKE
    },
    Language {
        extensions: &["sh", "bash", "zsh", "fish", "ksh", "bats"],
        files: &[".bashrc", ".profile", ".zshrc", ".envrc", "PKGBUILD"],
        programs: &["sh", "bash", "zsh", "dash", "ksh", "fish"],
        hash_after_blank: true,
        strings: &[DOUBLE_LINES, SINGLE_RAW],
        keywords: &[
            "case", "do", "done", "elif", "else", "esac", "exit", "export", "fi", "for",
            "function", "if", "in", "local", "readonly", "return", "select", "set", "shift",
            "source", "then", "trap", "unset", "until", "while",
        ],
        constants: &["true", "false"],
        ..HASH
    },
    Language {
        extensions: &["lua"],
        programs: &["lua"],
        line: &["--"],
        block: &[("--[[", "]]")],
        strings: &[quote("[[", "]]", false, true), DOUBLE, SINGLE],
        keywords: &[
            "and", "break", "do", "else", "elseif", "end", "for", "function", "goto", "if", "in",
            "local", "not", "or", "repeat", "return", "then", "until", "while",
        ],
        constants: &["true", "false", "nil", "self"],
        ..NONE
    },
    Language {
        extensions: &["pl", "pm", "t", "r", "jl"],
        programs: &["perl", "Rscript", "julia"],
        hash_after_blank: true,
        keywords: &[
            "abstract", "baremodule", "begin", "break", "catch", "const", "continue", "do", "else",
            "elseif", "elsif", "end", "export", "finally", "for", "foreach", "function", "global",
            "if", "import", "in", "last", "let", "library", "local", "macro", "module", "mutable",
            "my", "next", "our", "package", "quote", "repeat", "require", "return", "struct",
            "sub", "try", "unless", "until", "use", "using", "while",
        ],
        constants: &["true", "false", "TRUE", "FALSE", "NULL", "NA", "nothing", "undef"],
        ..HASH
    },
    Language {
        extensions: &["sql"],
        line: &["--"],
        block: C_BLOCK,
        strings: &[quote("'", "'", false, true), quote("\"", "\"", false, false)],
        any_case: true,
        keywords: &[
            "add", "all", "alter", "and", "as", "asc", "begin", "between", "by", "cascade", "case",
            "check", "column", "commit", "constraint", "create", "cross", "default", "delete",
            "desc", "distinct", "drop", "else", "end", "except", "exists", "foreign", "from",
            "full", "function", "grant", "group", "having", "if", "in", "index", "inner", "insert",
            "intersect", "into", "is", "join", "key", "left", "like", "limit", "not", "offset",
            "on", "or", "order", "outer", "over", "partition", "primary", "procedure",
            "references", "replace", "returning", "revoke", "right", "rollback", "select", "set",
            "table", "then", "transaction", "trigger", "truncate", "union", "unique", "update",
            "using", "values", "view", "when", "where", "with",
        ],
        ..NONE
    },
    Language {
        extensions: &["html", "htm", "xml", "svg", "xhtml", "plist", "csproj", "xaml"],
        block: MARKUP_BLOCK,
        strings: &[quote("\"", "\"", false, false)],
        constants: &[],
        word: "-:",
        ..NONE
    },
    Language {
        extensions: &["css", "scss", "less"],
        block: C_BLOCK,
        strings: &[DOUBLE, SINGLE],
        constants: &["important", "inherit", "initial", "none", "auto"],
        word: "-",
        key: Some(b':'),
        ..NONE
    },
    Language {
        extensions: &["json", "jsonc", "json5", "webmanifest", "ipynb"],
        line: &["//"],
        block: C_BLOCK,
        strings: &[DOUBLE],
        key: Some(b':'),
        ..NONE
    },
    Language {
        extensions: &["yaml", "yml"],
        hash_after_blank: true,
        constants: &["true", "false", "null", "yes", "no", "on", "off"],
        word: "-.",
        key: Some(b':'),
        ..HASH
    },
    Language {
        extensions: &["toml", "ini", "cfg", "conf", "properties", "editorconfig", "service"],
        files: &["Cargo.lock", "poetry.lock", ".gitconfig", ".editorconfig", ".env"],
        line: &["#", ";"],
        hash_after_blank: true,
        strings: &[TRIPLE, TRIPLE_SINGLE, DOUBLE, quote("'", "'", false, false)],
        word: "-.",
        key: Some(b'='),
        starts: &[("[", Role::Keyword)],
        ..NONE
    },
    Language {
        extensions: &["tf", "tfvars", "hcl", "nix"],
        line: &["#", "//"],
        block: C_BLOCK,
        strings: &[quote("''", "''", false, true), DOUBLE],
        keywords: &[
            "assert", "data", "else", "for", "for_each", "if", "import", "in", "inherit", "let",
            "locals", "module", "output", "provider", "rec", "resource", "terraform", "then",
            "variable", "with",
        ],
        word: "-",
        ..NONE
    },
    Language {
        extensions: &["proto", "graphql", "gql", "thrift"],
        line: &["//", "#"],
        strings: &[TRIPLE, DOUBLE, SINGLE],
        keywords: &[
            "enum", "extend", "extends", "fragment", "implements", "import", "input", "interface",
            "map", "message", "mutation", "oneof", "option", "optional", "package", "query",
            "repeated", "required", "reserved", "returns", "rpc", "scalar", "schema", "service",
            "stream", "struct", "subscription", "syntax", "type", "union",
        ],
        ..C_LIKE
    },
    Language {
        extensions: &["hs", "elm", "purs"],
        line: &["--"],
        block: &[("{-", "-}")],
        nested: true,
        strings: &[TRIPLE, DOUBLE],
        chars: true,
        keywords: &[
            "as", "case", "class", "data", "deriving", "do", "else", "exposing", "forall",
            "hiding", "if", "import", "in", "infix", "infixl", "infixr", "instance", "let",
            "module", "newtype", "of", "port", "qualified", "then", "type", "where",
        ],
        constants: &["True", "False", "Nothing", "Just"],
        word: "'",
        ..NONE
    },
    Language {
        extensions: &["dockerfile"],
        files: &["Dockerfile", "Containerfile"],
        hash_after_blank: true,
        keywords: &[
            "ADD", "ARG", "AS", "CMD", "COPY", "ENTRYPOINT", "ENV", "EXPOSE", "FROM",
            "HEALTHCHECK", "LABEL", "ONBUILD", "RUN", "SHELL", "STOPSIGNAL", "USER", "VOLUME",
            "WORKDIR",
        ],
        ..HASH
    },
    Language {
        extensions: &["mk", "cmake", "just"],
        files: &["Makefile", "makefile", "GNUmakefile", "CMakeLists.txt", "justfile"],
        hash_after_blank: true,
        strings: &[DOUBLE],
        keywords: &[
            "define", "else", "elseif", "endef", "endforeach", "endfunction", "endif", "endmacro",
            "export", "foreach", "function", "if", "ifdef", "ifeq", "ifndef", "ifneq", "include",
            "macro", "override", "set", "unexport",
        ],
        ..HASH
    },
    Language {
        extensions: &["md", "markdown", "mdx"],
        block: MARKUP_BLOCK,
        strings: &[quote("```", "```", false, true), quote("`", "`", false, false)],
        constants: &[],
        starts: &[("#", Role::Keyword), (">", Role::Comment)],
        ..NONE
    },
];
