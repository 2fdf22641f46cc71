//! Texts with one secret each.

use super::{Random, Sample, capital};

/// `(what it is, the secret)`, where the shape alone gives it away, whatever it is called.
fn by_shape(r: &mut Random) -> Vec<(&'static str, String)> {
    let year = r.digits(2);
    vec![
        ("aws access key", format!("AKIA{}", r.chars("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", 16))),
        ("aws temporary key", format!("ASIA{}", r.chars("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", 16))),
        ("github personal", format!("ghp_{}", r.alnum(36))),
        ("github oauth", format!("gho_{}", r.alnum(36))),
        ("github server", format!("ghs_{}", r.alnum(36))),
        ("github fine-grained", format!("github_pat_11{}_{}", r.caps(20), r.alnum(59))),
        ("gitlab personal", format!("glpat-{}", r.url(20))),
        ("gitlab runner", format!("glrt-{}", r.url(20))),
        ("slack bot", format!("xoxb-{}-{}-{}", r.digits(12), r.digits(13), r.alnum(24))),
        (
            "slack user",
            format!("xoxp-{}-{}-{}-{}", r.digits(12), r.digits(12), r.digits(13), r.hex(32)),
        ),
        ("slack app", format!("xapp-1-A{}-{}-{}", r.caps(10), r.digits(13), r.hex(64))),
        (
            "slack webhook",
            format!(
                "https://hooks.slack.com/services/T{}/B{}/{}",
                r.caps(10),
                r.caps(10),
                r.alnum(24)
            ),
        ),
        (
            "discord webhook",
            format!("https://discord.com/api/webhooks/{}/{}", r.digits(18), r.url(68)),
        ),
        ("telegram bot", format!("1{}:AA{}", r.digits(9), r.url(33))),
        ("stripe live", format!("sk_live_51{}", r.alnum(97))),
        ("stripe old live", format!("sk_live_{}", r.alnum(24))),
        ("stripe restricted", format!("rk_live_{}", r.alnum(24))),
        ("stripe webhook", format!("whsec_{}", r.alnum(32))),
        ("square", format!("sq0atp-{}", r.url(22))),
        ("shopify", format!("shpat_{}", r.hex(32))),
        ("sendgrid", format!("SG.{}.{}", r.url(22), r.url(43))),
        ("mailchimp", format!("{}-us{}", r.hex(32), 1 + r.below(21))),
        ("mailgun", format!("key-{}", r.hex(32))),
        ("brevo", format!("xkeysib-{}-{}", r.hex(64), r.alnum(16))),
        ("openai project", format!("sk-proj-{}T3BlbkFJ{}", r.url(74), r.url(74))),
        ("openai legacy", format!("sk-{}T3BlbkFJ{}", r.alnum(20), r.alnum(20))),
        ("anthropic", format!("sk-ant-api03-{}AA", r.url(93))),
        (
            "hugging face",
            format!("hf_{}", r.chars("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", 34)),
        ),
        ("groq", format!("gsk_{}", r.alnum(52))),
        ("replicate", format!("r8_{}", r.alnum(37))),
        ("perplexity", format!("pplx-{}", r.alnum(48))),
        ("google api", format!("AIza{}", r.url(35))),
        ("google oauth secret", format!("GOCSPX-{}", r.url(28))),
        ("google access", format!("ya29.{}", r.url(100))),
        ("npm", format!("npm_{}", r.alnum(36))),
        ("pypi", format!("pypi-AgEIcHlwaS5vcmc{}", r.url(140))),
        ("rubygems", format!("rubygems_{}", r.hex(48))),
        ("crates.io", format!("cio{}", r.alnum(32))),
        ("docker hub", format!("dckr_pat_{}", r.url(27))),
        ("digitalocean", format!("dop_v1_{}", r.hex(64))),
        ("databricks", format!("dapi{}", r.hex(32))),
        ("vault", format!("hvs.CAESI{}", r.url(90))),
        ("terraform cloud", format!("{}.atlasv1.{}", r.alnum(14), r.url(67))),
        ("pulumi", format!("pul-{}", r.hex(40))),
        ("doppler", format!("dp.pt.{}", r.alnum(43))),
        ("planetscale", format!("pscale_tkn_{}", r.url(43))),
        ("grafana", format!("glsa_{}_{}", r.alnum(32), r.hex(8))),
        ("sentry", format!("sntrys_{}", r.base64(100))),
        ("new relic", format!("NRAK-{}", r.caps(27))),
        ("dynatrace", format!("dt0c01.{}.{}", r.caps(24), r.caps(64))),
        ("linear", format!("lin_api_{}", r.alnum(40))),
        ("notion", format!("ntn_{}{}", r.digits(11), r.alnum(35))),
        ("figma", format!("figd_{}", r.url(40))),
        ("postman", format!("PMAK-{}-{}", r.hex(24), r.hex(34))),
        ("tailscale", format!("tskey-auth-k{}CNTRL-{}", r.alnum(11), r.alnum(32))),
        ("age", format!("AGE-SECRET-KEY-1{}", r.chars("QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L", 58))),
        ("sonar", format!("squ_{}", r.hex(40))),
        ("bitbucket", format!("ATBB{}", r.alnum(32))),
        ("atlassian", format!("ATATT3xFfGF0{}={}", r.url(150), r.caps(8))),
        ("azure devops", format!("{}AZDO{}", r.alnum(76), r.alnum(4))),
        ("azure client", format!("{}8Q~{}", r.alnum(3), r.url(34))),
        ("plaid", format!("access-production-{}", r.uuid())),
        (
            "json web token",
            format!(
                "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMj{}.{}",
                r.url(60),
                r.url(43)
            ),
        ),
        (
            "postgres url",
            format!("postgres://app_{}:{}@db{year}.internal:5432/shop", r.word(), r.alnum(16)),
        ),
        ("mysql url", format!("mysql://root:{}@10.0.0.{year}/shop", human(r))),
        (
            "mongodb url",
            format!("mongodb+srv://svc:{}@cluster0.{}.mongodb.net/app", r.alnum(14), r.hex(5)),
        ),
        ("redis url", format!("redis://:{}@cache-{}.internal:6379/0", r.hex(32), r.word())),
        ("amqp url", format!("amqps://{}:{}@mq.internal/{}", r.word(), human(r), r.word())),
        ("proxy url", format!("http://proxyuser:{}@proxy.corp.internal:3128", human(r))),
    ]
}

/// A password as people choose them.
fn human(r: &mut Random) -> String {
    let words = [
        "Winter", "summer", "Dragon", "monkey", "Liverpool", "sunshine", "Shadow", "master",
        "Batman", "hunter", "Trustno", "Charlie", "coffee", "Panda", "Berlin", "orange", "Falcon",
    ];
    let word = r.pick(&words);
    let number = r.below(9000) + 10;
    match r.below(4) {
        0 => format!("{word}{number}!"),
        1 => format!("{word}@{number}"),
        2 => format!("{word}{number}"),
        _ => format!(
            "{}#{number}{}",
            word.replace('a', "4").replace('e', "3").replace('o', "0"),
            capital(r.word())
        ),
    }
}

/// `(name, value)` where the name gives it away.
fn by_name(r: &mut Random) -> Vec<(&'static str, String)> {
    vec![
        ("db_password", human(r)),
        ("password", human(r)),
        ("admin_passwd", human(r)),
        (
            "smtp_password",
            r.chars("abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789!@#%^*", 14),
        ),
        ("root_password", r.alnum(12)),
        ("passphrase", format!("{}-{}-{}", human(r), r.word(), r.digits(3))),
        ("api_key", r.hex(32)),
        ("api_key", r.alnum(32)),
        ("apikey", r.alnum(24)),
        ("secret", r.base64(44)),
        ("client_secret", r.url(40)),
        ("secret_key", r.hex(64)),
        ("jwt_secret", r.base64(43) + "="),
        ("session_secret", r.alnum(40)),
        ("auth_token", r.hex(40)),
        ("access_token", r.url(64)),
        ("refresh_token", r.url(48)),
        ("token", r.alnum(20)),
        ("encryption_key", r.base64(43) + "="),
        ("signing_key", r.hex(64)),
        ("private_key", r.hex(64)),
        ("access_key", r.alnum(24)),
        ("aws_secret_access_key", r.base64(40)),
        ("credentials", r.alnum(28)),
        ("webhook_secret", r.alnum(32)),
        ("datadog_api_key", r.hex(32)),
        ("heroku_api_key", r.uuid()),
        ("cloudflare_api_token", r.url(40)),
        ("twilio_auth_token", r.hex(32)),
        ("storage_account_key", r.base64(86) + "=="),
        ("bearer_token", r.url(52)),
        ("license_key", r.alnum(32)),
    ]
}

/// The name in the way the surroundings write names.
fn env(name: &str) -> String {
    name.to_uppercase()
}

fn camel(name: &str) -> String {
    let mut parts = name.split('_');
    let first = parts.next().unwrap_or_default().to_string();
    parts.fold(first, |all, part| all + &capital(part))
}

/// A line that assigns `value` to `name`, in one of many languages.
fn assigned(r: &mut Random, name: &str, value: &str) -> String {
    let pascal = capital(&camel(name));
    match r.below(22) {
        0 => format!("{}={value}", env(name)),
        1 => format!("export {}=\"{value}\"", env(name)),
        2 => format!("{}='{value}'", env(name)),
        3 => format!("  {name}: {value}"),
        4 => format!("  {name}: \"{value}\""),
        5 => format!("    \"{name}\": \"{value}\","),
        6 => format!("    \"{}\": \"{value}\"", camel(name)),
        7 => format!("{name} = \"{value}\""),
        8 => format!("const {} = '{value}';", camel(name)),
        9 => format!("    {name} = '{value}'"),
        10 => format!("let {name}: &str = \"{value}\";"),
        11 => format!("\tcfg.{pascal} = \"{value}\""),
        12 => format!("private static final String {} = \"{value}\";", env(name)),
        13 => format!("      - {}={value}", env(name)),
        14 => format!("ENV {}={value}", env(name)),
        15 => format!("<{name}>{value}</{name}>"),
        16 => format!("{}={value}", name.replace('_', ".")),
        17 => format!("./deploy --env prod --{} {value} --yes", name.replace('_', "-")),
        18 => format!("os.environ[\"{}\"] = \"{value}\"", env(name)),
        19 => format!("{{\\\"{name}\\\": \\\"{value}\\\"}}"),
        20 => format!("+        {}: '{value}',", camel(name)),
        _ => format!("set(\"{name}\", \"{value}\");"),
    }
}

/// A line around a value that needs no telling name.
fn around(r: &mut Random, value: &str) -> String {
    let word = r.word();
    match r.below(14) {
        0 => format!("{}={value}", word.to_uppercase()),
        1 => format!("{word}: {value}"),
        2 => format!("  \"{word}\": \"{value}\","),
        3 => format!("let {word} = \"{value}\";"),
        4 => format!("{word} = '{value}'"),
        5 => format!("- use `{value}` for the {word}"),
        6 => format!("curl -H \"X-{}: {value}\" https://api.example.net/v1/{word}", capital(word)),
        7 => format!("2026-03-04T11:22:33Z INFO {word} sent {value} ok"),
        8 => value.to_string(),
        9 => format!("https://api.example.net/{word}?x={value}&y=1"),
        10 => format!("// {word} {value}"),
        11 => format!("<{word}>{value}</{word}>"),
        12 => format!("echo {value} | {word}"),
        _ => format!("{word}(\"{value}\")"),
    }
}

fn private_keys(r: &mut Random) -> Vec<(&'static str, String)> {
    let mut block = |label: &str, lines: usize, separator: &str| {
        let body: Vec<String> = (0..lines).map(|_| r.base64(64)).collect();
        // Put together here, so that no line of this source is one.
        let (begin, end) = (format!("-----BEGIN {label}-----"), format!("-----END {label}-----"));
        format!("{begin}{separator}{}{separator}{end}", body.join(separator))
    };
    let key = ["PRIVATE", "KEY"].join(" ");
    vec![
        ("rsa key", block(&format!("RSA {key}"), 25, "\n")),
        ("pkcs8 key", block(&key, 27, "\n")),
        ("ec key", block(&format!("EC {key}"), 4, "\r\n")),
        ("openssh key", block(&format!("OPENSSH {key}"), 6, "\n")),
        ("pgp key", block(&format!("PGP {key} BLOCK"), 20, "\n")),
        ("encrypted key", block(&format!("ENCRYPTED {key}"), 28, "\n")),
        ("key in json", block(&key, 26, "\\n")),
    ]
}

/// At least 700 texts.
pub fn all() -> Vec<Sample> {
    let mut r = Random::new(20_260_304);
    let mut samples = Vec::new();
    let sample = |label: &str, text: String, secret: String| Sample {
        label: label.to_string(),
        text: format!("# settings\n{text}\nend\n"),
        secret: Some(secret),
    };
    for _ in 0..4 {
        for (label, secret) in by_shape(&mut r) {
            // The password is the secret of a URL.
            let marked = secret.split_once("://").and_then(|(_, rest)| {
                let (login, _) = rest.rsplit_once('@')?;
                Some(login.split_once(':')?.1.to_string())
            });
            let text = around(&mut r, &secret);
            samples.push(sample(label, text, marked.unwrap_or(secret)));
        }
    }
    for _ in 0..10 {
        for (name, value) in by_name(&mut r) {
            let text = assigned(&mut r, name, &value);
            samples.push(sample(name, text, value));
        }
    }
    for _ in 0..3 {
        for (label, key) in private_keys(&mut r) {
            samples.push(sample(label, key.clone(), key));
        }
    }
    for _ in 0..30 {
        let word = r.word();
        let bearer = r.url(40);
        let text =
            format!("curl -H 'Authorization: Bearer {bearer}' https://api.example.net/v1/{word}");
        samples.push(sample("bearer", text, bearer));
        let basic = r.base64(32);
        samples.push(sample("basic", format!("Authorization: Basic {basic}"), basic));
        let login = human(&mut r);
        samples.push(sample(
            "curl user",
            format!("curl -s -u deploy:{login} https://ci.example.net/"),
            login,
        ));
    }
    samples
}
