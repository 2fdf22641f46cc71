//! Ways of writing an assignment that are more than a name, an operator and a value.

use super::{Name, Value, skip_spaces};
use crate::secrets::value::find;

/// How far behind a name or an operator the value may be, in bytes.
const REACH: usize = 160;

/// Length of an assignment that is more than `=`: `?=`, `.=`, `+=`, `||=`, `&&=`, `??=`, `:::=`.
pub(super) fn compound(text: &[u8]) -> Option<usize> {
    const ALL: [&[u8]; 6] = [b"?=", b".=", b"+=", b"||=", b"&&=", b"??="];
    let found = ALL.iter().find(|operator| text.starts_with(operator))?;
    (text.get(found.len()) != Some(&b'=')).then_some(found.len())
}

/// Calls that give back what they are given, in another form.
const WRAPPERS: [&[u8]; 22] = [
    b"ConvertTo-SecureString ",
    b"ConvertTo-SecureString -String ",
    b"Buffer.from(",
    b"String::from(",
    b"String(",
    b"new String(",
    b"atob(",
    b"base64.b64decode(",
    b"b64decode(",
    b"bytes.fromhex(",
    b"bytes(",
    b"str(",
    b"hex.DecodeString(",
    b"hex::decode(",
    b"Convert.FromBase64String(",
    b"Secret(",
    b"SecretStr(",
    b"SecretString::from(",
    b"Base64.decode64(",
    b"[]byte(",
    b"unhexlify(",
    b"Some(",
];

/// Where the argument of a wrapper begins that `text` begins with; the argument is a string.
pub(super) fn wrapped(text: &[u8]) -> Option<usize> {
    let inner = WRAPPERS.iter().find(|call| text.starts_with(call))?.len();
    matches!(text.get(inner), Some(b'"' | b'\'' | b'`')).then_some(inner)
}

/// The string that stands in where the value is missing: `env("KEY") || "…"`, `??`, `?:`, `or`.
pub(super) fn fallback(text: &[u8], at: usize) -> Option<Value> {
    const WORDS: [&[u8]; 6] = [b"|| ", b"?? ", b"?: ", b" or ", b"||", b"??"];
    let rest = line(text, at);
    // Cheapest first: most lines of code have none of these.
    if !rest.iter().any(|byte| matches!(byte, b'|' | b'?')) && find(rest, b" or ").is_none() {
        return None;
    }
    let after = WORDS.iter().find_map(|word| find(rest, word).map(|found| found + word.len()))?;
    let start = skip_spaces(text, at + after);
    let is_string = matches!(text.get(start), Some(b'"' | b'\'' | b'`'));
    Value::at(text, start).filter(|value| is_string && value.plausible(text))
}

/// What follows `at` on its line, [`REACH`] at most.
fn line(text: &[u8], at: usize) -> &[u8] {
    let rest = &text[at.min(text.len())..(at + REACH).min(text.len())];
    &rest[..rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len())]
}

/// Where the value of `name` begins that stands behind a type, an instruction or an element
/// rather than an operator.
pub(super) fn after_name(text: &[u8], name: &Name) -> Option<usize> {
    typed(text, name)
        .or_else(|| instruction(text, name))
        .or_else(|| element(text, name.end).or_else(|| terraform(text, name)))
        .or_else(|| next_line(text, name))
}

/// Where the value begins at `start` if a word for it comes first: `value="…"`, `"value": "…"`,
/// `default="…"`.
pub(super) fn behind_value(text: &[u8], start: usize) -> usize {
    const WORDS: [&[u8]; 5] = [b"value=", b"\"value\":", b"'value':", b"value:", b"default="];
    let word = WORDS.iter().find(|word| text[start..].starts_with(word));
    word.map_or(start, |word| skip_spaces(text, start + word.len()))
}

/// True where the name begins a statement, so that a string behind it is its value.
pub(super) fn is_statement(text: &[u8], name: &Name) -> bool {
    let before = &text[name.start.saturating_sub(REACH)..name.start];
    let line = before.iter().rposition(|b| *b == b'\n').map_or(before, |at| &before[at + 1..]);
    let line = line.trim_ascii_start();
    !name.quoted && (line.is_empty() || line == b"#define " || line.ends_with(b":"))
}

/// `- name: PASSWORD` with `value: …` on the next line.
fn next_line(text: &[u8], name: &Name) -> Option<usize> {
    let rest = &text[name.end..(name.end + REACH).min(text.len())];
    let behind = rest.strip_prefix(b"\"").unwrap_or(rest);
    let behind = behind.strip_prefix(b",").unwrap_or(behind);
    let line = behind.strip_prefix(b"\r").unwrap_or(behind).strip_prefix(b"\n")?.trim_ascii_start();
    let value = [&b"value:"[..], b"\"value\":"].into_iter().find(|word| line.starts_with(word))?;
    Some(skip_spaces(text, name.end + rest.len() - line.len() + value.len()))
}

/// `var password string = "…"`, `string Password { get; set; } = "…"`.
fn typed(text: &[u8], name: &Name) -> Option<usize> {
    if text.get(name.end) != Some(&b' ') {
        return None;
    }
    let rest = line(text, name.end + 1);
    let equals = find(rest, b"= \"")?;
    let between = rest[..equals].trim_ascii();
    // Visual Basic: `Dim password As String = "…"`.
    let word = between.strip_prefix(b"As ").unwrap_or(between);
    let is_type = !word.is_empty() && word.iter().all(u8::is_ascii_alphanumeric);
    let is_property = between.starts_with(b"{ get;") && between.ends_with(b"}");
    (is_type || is_property).then_some(name.end + 1 + equals + 2)
}

/// `ENV NAME value` and `ARG` of a Dockerfile.
fn instruction(text: &[u8], name: &Name) -> Option<usize> {
    if text.get(name.end) != Some(&b' ') {
        return None;
    }
    let before = &text[name.start.saturating_sub(REACH)..name.start];
    let start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let word = before[start..].trim_ascii();
    let is_one = word == b"ENV" || word == b"LABEL" || word == b"ARG";
    is_one.then(|| skip_spaces(text, name.end))
}

/// `<key>password</key>` with `<string>…` or `<value>…` on the next line.
fn element(text: &[u8], end: usize) -> Option<usize> {
    let rest = &text[end..(end + REACH).min(text.len())];
    let closed = rest.strip_prefix(b"</")?;
    let behind = &closed[closed.iter().position(|byte| *byte == b'>')? + 1..];
    let next = behind.trim_ascii_start();
    let tag =
        [&b"<string>"[..], b"<value>", b"<data>"].into_iter().find(|t| next.starts_with(t))?;
    Some(end + (rest.len() - next.len()) + tag.len())
}

/// `variable "password" {` with its `default = "…"`.
fn terraform(text: &[u8], name: &Name) -> Option<usize> {
    let rest = &text[name.end..(name.end + REACH).min(text.len())];
    let block = rest.strip_prefix(b"\" {")?;
    let block = &block[..block.iter().position(|byte| *byte == b'}').unwrap_or(block.len())];
    let at = find(block, b"default")?;
    let equals = at + find(&block[at..], b"=")?;
    Some(skip_spaces(text, name.end + 3 + equals + 1))
}

/// The whole rest of a line `NAME=value` of a `.env` file, where `value` has signs that would end
/// it in code. Variables and commands are no values.
pub(super) fn whole_line(text: &[u8], name: &Name, value: &Value) -> Option<Value> {
    let is_line = name.env_style
        && text.get(name.end) == Some(&b'=')
        && value.start == name.end + 1
        && !value.quoted
        && matches!(name.start.checked_sub(1).map(|at| text[at]), None | Some(b'\n' | b' '));
    let rest = line(text, name.end + 1).trim_ascii_end();
    let is_code = rest.first() == Some(&b'$')
        || [&b"${"[..], b"$(", b"\\", b"`", b"\"", b"'"]
            .iter()
            .any(|code| find(rest, code).is_some());
    let has_signs = rest.iter().any(|byte| matches!(byte, b'*' | b'!' | b'(' | b')' | b'$' | b'&'));
    (is_line && has_signs && !is_code && rest.len() < REACH).then(|| Value {
        start: name.end + 1,
        end: name.end + 1 + rest.len(),
        quoted: false,
        whole: true,
    })
}

#[cfg(test)]
mod tests {
    use crate::secrets::Scanner;

    /// One line is one way; `§` stands for the token.
    const WAYS: [&str; 53] = [
        "API_TOKEN ?= §",
        "api_token .= \"§\"",
        "API_TOKEN += §",
        "api_token ||= \"§\"",
        "API_TOKEN :::= §",
        "api_token ??= '§'",
        "API_TOKEN := §",
        "const apiToken = process.env.API_TOKEN || \"§\";",
        "const apiToken = process.env.API_TOKEN ?? '§';",
        "api_token = os.getenv(\"API_TOKEN\") or \"§\"",
        "var apiToken string = \"§\"",
        "public string ApiToken { get; set; } = \"§\";",
        "let api_token: &str = \"§\";",
        "val apiToken: String = \"§\"",
        "let apiToken: String = \"§\"",
        "private static final String API_TOKEN = \"§\";",
        "config :shop, api_token: \"§\"",
        "config :shop, :api_token, \"§\"",
        "ENV API_TOKEN §",
        "ARG API_TOKEN=§",
        "docker build --build-arg API_TOKEN=§ .",
        "variable \"api_token\" {\n  type = string\n  default = \"§\"\n}",
        "<key>apiToken</key>\n<string>§</string>",
        "<name>api.token</name>\n  <value>§</value>",
        "<apiToken>§</apiToken>",
        "{\"text\": \"{\\n\\\"api_token\\\": \\\"§\\\"\\n}\"}",
        "const apiToken = Buffer.from(\"§\", \"hex\")",
        "let api_token = String::from(\"§\");",
        "API_TOKEN = base64.b64decode(\"§\")",
        "p.setProperty(\"api.token\", \"§\");",
        "headers[\"X-Api-Token\"] = \"§\"",
        "req.Header.Set(\"X-Api-Token\", \"§\")",
        "curl -H 'X-Api-Token: §' https://api.example.com",
        "api-token: §",
        "{\"config.ini\": \"[db]\\nAPI_TOKEN=§\\nport=5432\"}",
        "config: \"user: app\\napi_token: §\\nhost: db\"",
        "<apiToken>\n    §\n</apiToken>",
        "<add key=\"ApiToken\" value=\"§\" />",
        "{\"name\": \"api_token\", \"value\": \"§\"}",
        "- name: API_TOKEN\n  value: \"§\"",
        "parser.add_argument(\"--api-token\", default=\"§\")",
        "$env:API_TOKEN = \"§\"",
        "Dim apiToken As String = \"§\"",
        "xhr.setRequestHeader(\"X-Auth-Token\", \"§\");",
        "requests.get(url, headers={\"X-Auth-Token\": \"§\"})",
        "client.DefaultRequestHeaders.Add(\"X-Auth-Token\", \"§\");",
        "axios.defaults.headers.common['X-Api-Key'] = '§';",
        "headers.append('Authorization', 'Bearer §');",
        "session.headers[\"Authorization\"] = \"Token §\"",
        "'Authorization': 'Api-Token §',",
        ".header(\"X-Api-Key\", \"§\")",
        "curl_setopt($c, CURLOPT_HTTPHEADER, ['X-Api-Key: §']);",
        "API_TOKEN=§\\nDEBUG=true",
    ];

    #[test]
    fn every_way_of_writing_it_is_read() {
        let missed: Vec<&str> = WAYS
            .into_iter()
            .filter(|way| {
                let text = way.replace('§', "k3j9x0q2v7b1n5m8z4w6");
                Scanner::default().scan(text.as_bytes()).is_empty()
            })
            .collect();
        assert_eq!(missed, [""; 0]);
    }

    #[test]
    fn passwords_keep_their_signs() {
        for line in [
            "DB_PASSWORD=Win*ter24(x",
            "DB_PASSWORD=S0mmer!24$x",
            "export DB_PASSWORD=a(9)*Kq!2z",
            "ALTER USER app PASSWORD 'W1nter!2024x';",
            "password \"W1nter!2024x\"",
            "{:user \"app\" :password \"W1nter!2024x\"}",
            "#define WIFI_PASSWORD \"W1nter!2024x\"",
            "$password = ConvertTo-SecureString \"W1nter!2024x\" -AsPlainText",
            "keystore.password = winter*9740",
            "password: granite-norway-8267",
            "{\"a\": \"x=1\\nDB_PASSWORD=Winter24x\\ny=2\"}",
        ] {
            assert!(!Scanner::default().scan(line.as_bytes()).is_empty(), "{line}");
        }
        for line in [
            "DB_PASSWORD=$(cat /run/secrets/db)",
            "DB_PASSWORD=${DB_PASSWORD:-}",
            "PASSWORD=*",
            "DB_PASSWORD=$PW!",
            "password = read() || prompt(\"Password: \")",
            "SET PASSWORD 'changeme'",
            "let password = ask() or \"\"",
            "public string Password { get; set; } = \"\";",
            "const token = next() || \"none\"",
            "variable \"db_password\" {\n  type = string\n}\n",
            "'CURLOPT_USERNAME', 'CURLOPT_PASSWORD', 'CURLOPT_READDATA',",
            "\"AWS::IAM::AccessKey\": \"72c2d9dd90025459\",",
            "'password' => 'required|string|min:8|confirmed',",
            "{\"schema\": \"password: string\\ntoken: string\\n\"}",
            "checksum/secret: 72c2d9dd9002545972c2d9dd90025459",
            "the password \"is never shown\"",
        ] {
            assert!(Scanner::default().scan(line.as_bytes()).is_empty(), "{line}");
        }
    }
}
