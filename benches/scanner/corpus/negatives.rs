//! Texts without a secret: code, lock files, minified text, digests, placeholders, notes.

use super::{Random, Sample, capital};

type Make = fn(&mut Random) -> String;

/// Every kind with its maker.
const KINDS: &[(&str, Make)] = &[
    ("rust", rust),
    ("typescript", typescript),
    ("python", python),
    ("go", go),
    ("java", java),
    ("shell", shell),
    ("sql", sql),
    ("html and css", markup),
    ("minified", minified),
    ("minified names", minified_names),
    ("Cargo.lock", cargo_lock),
    ("package-lock.json", package_lock),
    ("yarn.lock", yarn_lock),
    ("pnpm-lock.yaml", pnpm_lock),
    ("go.sum", go_sum),
    ("poetry.lock", poetry_lock),
    ("Pipfile.lock", pipfile_lock),
    ("composer.lock", composer_lock),
    ("Gemfile.lock", gemfile_lock),
    ("flake.lock", flake_lock),
    ("gradle verification", gradle),
    ("git log", git_log),
    ("git ids", git_ids),
    ("digests", digests),
    ("uuids", uuids),
    ("long paths", long_paths),
    ("hashed assets", hashed_assets),
    ("data urls", data_url),
    ("certificate", certificate),
    ("public keys", public_keys),
    ("source map", source_map),
    ("password hashes", password_hashes),
    ("placeholders", placeholders),
    ("references to secrets", references),
    ("code about secrets", about_secrets),
    ("translations", translations),
    ("types about secrets", types),
    ("ci", ci),
    ("terraform", terraform),
    ("kubernetes", kubernetes),
    ("urls", urls),
    ("numbers", numbers),
    ("logs", logs),
    ("csv", csv),
    ("notes", notes),
    ("test vectors", test_vectors),
    ("c header", c_header),
    ("symbols", symbols),
    ("jupyter", jupyter),
    ("openapi", openapi),
];

/// At least 2,500 texts: 50 of each kind.
pub fn all() -> Vec<Sample> {
    let mut samples = Vec::new();
    for (index, (label, make)) in KINDS.iter().enumerate() {
        for round in 0..50 {
            let mut random = Random::new((index * 1000 + round) as u64 + 17);
            let text = make(&mut random);
            samples.push(Sample { label: (*label).to_string(), text, secret: None });
        }
    }
    samples
}

fn rust(r: &mut Random) -> String {
    let (a, b, c) = (r.name(2), r.word(), capital(r.word()));
    format!(
        "impl {c} {{\n    /// Reads the {b}.\n    pub fn {b}_{a}(&self, token: &Token) -> Result<Vec<u8>, Error> {{\n        \
         let key = self.keys.get(&token.id).ok_or(Error::Missing)?;\n        let password = prompt_password(\"Password: \")?;\n        \
         let secret = Secret::new(password.as_bytes(), key.salt());\n        Ok(self.{b}.lookup({}, 0x{})?.to_vec())\n    }}\n}}\n",
        r.below(4096),
        r.hex(8)
    )
}

fn typescript(r: &mut Random) -> String {
    let (a, b, c) = (r.word(), r.name(3), capital(r.word()));
    format!(
        "export const {a}Token = createToken<{c}>('{b}');\nconst secret = process.env.{}_SECRET ?? '';\n\
         export async function fetch{c}(apiKey: string, password?: string): Promise<{c}[]> {{\n  \
         const res = await fetch(`${{BASE}}/v1/{a}?token=${{token}}`, {{ headers: {{ Authorization: `Bearer ${{apiKey}}` }} }});\n  \
         if (!res.ok) throw new Error('invalid password or token');\n  return res.json();\n}}\n\
         <input type=\"password\" name=\"password\" placeholder=\"Your password\" autoComplete=\"current-password\" />\n",
        a.to_uppercase()
    )
}

fn python(r: &mut Random) -> String {
    let (a, b) = (r.word(), r.name(2).replace('-', "_"));
    format!(
        "def {b}(self, {a}, password=None, token=None):\n    \"\"\"Log in with a password or a token.\"\"\"\n    \
         api_key = os.environ.get(\"{}_API_KEY\")\n    secret_key = settings.SECRET_KEY\n    \
         self.password = getpass.getpass('Password: ')\n    token_url = f\"https://{a}.example.org/oauth2/token\"\n    \
         return hashlib.sha256(secret_key.encode()).hexdigest()[:{}]\n",
        a.to_uppercase(),
        r.below(32)
    )
}

fn go(r: &mut Random) -> String {
    let (a, c) = (r.word(), capital(r.word()));
    format!(
        "func (s *{c}Service) Get{c}(ctx context.Context, token string) (*pb.{c}, error) {{\n\t\
         password := os.Getenv(\"{}_PASSWORD\")\n\tsecret, err := s.vault.Read(ctx, \"kv/data/{a}/credentials\")\n\t\
         if err != nil {{\n\t\treturn nil, fmt.Errorf(\"read secret %q: %w\", \"{a}\", err)\n\t}}\n\t\
         key := fmt.Sprintf(\"{a}:%s:%d\", token, {})\n\treturn s.cache.Get(key)\n}}\n",
        a.to_uppercase(),
        r.below(10_000)
    )
}

fn java(r: &mut Random) -> String {
    let c = capital(r.word());
    format!(
        "@Value(\"${{{}.api.key}}\")\nprivate String apiKey;\nprivate static final String PASSWORD_PROPERTY = \"spring.datasource.password\";\n\
         public {c}Token authenticate({c}Credentials credentials) throws {c}Exception {{\n    \
         String token = tokenProvider.createToken(credentials.getUsername(), credentials.getPassword());\n    \
         return new {c}Token(token, Duration.ofSeconds({}L));\n}}\n",
        r.word(),
        r.below(100_000)
    )
}

fn shell(r: &mut Random) -> String {
    let a = r.word();
    format!(
        "#!/bin/sh\nset -eu\n: \"${{{0}_TOKEN:?set {0}_TOKEN}}\"\nPASSWORD=$(pass show {a}/db)\nAPI_KEY=\"$1\"\n\
         curl -fsS -H \"Authorization: Bearer ${{{0}_TOKEN}}\" -u \"$USER:$PASSWORD\" https://api.example.org/{a}\n\
         docker login -u ci -p \"$DOCKER_PASSWORD\" registry.example.org\nopenssl rand -hex {1}\n",
        a.to_uppercase(),
        r.below(64)
    )
}

fn sql(r: &mut Random) -> String {
    let (a, b) = (r.word(), r.word());
    format!(
        "CREATE TABLE {a}_tokens (\n  id BIGSERIAL PRIMARY KEY,\n  token_hash CHAR(64) NOT NULL,\n  password VARCHAR(255) NOT NULL,\n  \
         secret TEXT,\n  FOREIGN KEY ({b}_id) REFERENCES {b} (id)\n);\nINSERT INTO {a} (id, total) VALUES ({}, {});\n\
         UPDATE {a} SET password = crypt($1, gen_salt('bf')) WHERE token = $2;\n",
        r.below(1_000_000),
        r.below(9999)
    )
}

fn markup(r: &mut Random) -> String {
    let (a, b) = (r.name(2), r.name(3));
    format!(
        "<div class=\"{a} {b}\" data-token=\"{}\" id=\"{}\">\n<label for=\"password\">Password</label>\n\
         <a href=\"/reset-password?step=2\">Forgot your password?</a>\n</div>\n.{a}--{b} {{ color: #{}; background: url(/static/{b}.{}.svg); }}\n",
        r.word(),
        r.name(2),
        r.hex(6),
        r.hex(8)
    )
}

fn minified(r: &mut Random) -> String {
    let mut text = String::from("!function(e,t){\"use strict\";");
    for _ in 0..30 {
        let (a, b, c) = (
            r.chars("abcdefghijklmnopqrstuvwxyz", 1),
            r.word(),
            r.chars("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefg", 2),
        );
        match r.below(6) {
            0 => text += &format!("var {a}=t.{b}({c},{}),", r.below(99)),
            1 => text += &format!("{c}.prototype.{b}=function(e){{return e.token||this.{b}Key}},"),
            2 => text += &format!("e.{b}=\"{}\",", r.name(2)),
            3 => text += &format!("if({a}===\"{b}\"&&!e.password)throw Error({});", r.below(400)),
            4 => {
                text += &format!(
                    "n.d({a},\"{}\",(function(){{return {c}}})),",
                    r.chars("abcdefghijklmnopqrstuvwxyzABCDEFGHIJ", 1)
                )
            }
            _ => text += &format!("{a}.secret={a}.getSecret&&{a}.getSecret({}),", r.below(9)),
        }
    }
    text + "}(window);\n"
}

fn minified_names(r: &mut Random) -> String {
    let mut text = String::new();
    for _ in 0..12 {
        text += &format!(
            ".{}_{}__{}{{margin:{}px}}",
            r.word(),
            r.word(),
            r.chars("abcdefghijklmnopqrstuvwxyzABCDEF0123456789", 5),
            r.below(64)
        );
        text += &format!("\"{}\":\"{}-module--{}--{}\",", r.word(), r.word(), r.word(), r.hex(5));
    }
    text + "\n"
}

fn cargo_lock(r: &mut Random) -> String {
    format!(
        "[[package]]\nname = \"{}\"\nversion = \"{}.{}.{}\"\nsource = \"registry+https://github.com/rust-lang/crates.io-index\"\n\
         checksum = \"{}\"\ndependencies = [\n \"{}\",\n]\n",
        r.name(2),
        r.below(9),
        r.below(30),
        r.below(99),
        r.hex(64),
        r.word()
    )
}

fn package_lock(r: &mut Random) -> String {
    let a = r.name(2);
    format!(
        "    \"node_modules/@{0}/{a}\": {{\n      \"version\": \"{1}.0.{2}\",\n      \"resolved\": \"https://registry.npmjs.org/@{0}/{a}/-/{a}-{1}.0.{2}.tgz\",\n      \
         \"integrity\": \"sha512-{3}==\",\n      \"dev\": true\n    }},\n    \"shasum\": \"{4}\"\n",
        r.word(),
        r.below(20),
        r.below(50),
        r.base64(86),
        r.hex(40)
    )
}

fn yarn_lock(r: &mut Random) -> String {
    let a = r.name(2);
    format!(
        "\"@{0}/{a}@^{1}.2.0\":\n  version \"{1}.2.{2}\"\n  resolved \"https://registry.yarnpkg.com/@{0}/{a}/-/{a}-{1}.2.{2}.tgz#{3}\"\n  \
         integrity sha512-{4}==\n  checksum: 10c0/{5}\n",
        r.word(),
        r.below(20),
        r.below(50),
        r.hex(40),
        r.base64(86),
        r.hex(128)
    )
}

fn pnpm_lock(r: &mut Random) -> String {
    format!(
        "  /@{}/{}@{}.{}.0:\n    resolution: {{integrity: sha512-{}==}}\n    engines: {{node: '>=14'}}\n    dev: false\n",
        r.word(),
        r.name(2),
        r.below(9),
        r.below(50),
        r.base64(86)
    )
}

fn go_sum(r: &mut Random) -> String {
    let (a, b) = (r.word(), r.name(2));
    format!(
        "github.com/{a}/{b} v1.{0}.2 h1:{1}=\ngithub.com/{a}/{b} v1.{0}.2/go.mod h1:{2}=\n\
         golang.org/x/{a} v0.0.0-20230{3}-{4}/go.mod h1:{5}=\n",
        r.below(40),
        r.base64(43),
        r.base64(43),
        r.digits(9),
        r.hex(12),
        r.base64(43)
    )
}

fn poetry_lock(r: &mut Random) -> String {
    let a = r.name(2);
    format!(
        "[[package]]\nname = \"{a}\"\nversion = \"{0}.1\"\nfiles = [\n    {{file = \"{a}-{0}.1-py3-none-any.whl\", hash = \"sha256:{1}\"}},\n    \
         {{file = \"{a}-{0}.1.tar.gz\", hash = \"sha256:{2}\"}},\n]\n[metadata]\ncontent-hash = \"{3}\"\n",
        r.below(30),
        r.hex(64),
        r.hex(64),
        r.hex(64)
    )
}

fn pipfile_lock(r: &mut Random) -> String {
    format!(
        "        \"{}\": {{\n            \"hashes\": [\n                \"sha256:{}\",\n                \"sha256:{}\"\n            ],\n            \
         \"version\": \"=={}.0.1\"\n        }},\n",
        r.name(2),
        r.hex(64),
        r.hex(64),
        r.below(9)
    )
}

fn composer_lock(r: &mut Random) -> String {
    format!(
        "            \"source\": {{\n                \"type\": \"git\",\n                \"url\": \"https://github.com/{0}/{1}.git\",\n                \
         \"reference\": \"{2}\"\n            }},\n            \"dist\": {{\n                \"url\": \"https://api.github.com/repos/{0}/{1}/zipball/{2}\",\n                \
         \"shasum\": \"{3}\"\n            }},\n    \"content-hash\": \"{4}\"\n",
        r.word(),
        r.name(2),
        r.hex(40),
        r.hex(40),
        r.hex(32)
    )
}

fn gemfile_lock(r: &mut Random) -> String {
    format!(
        "GEM\n  remote: https://rubygems.org/\n  specs:\n    {} ({}.{}.1)\n      {} (~> 2.{})\nGIT\n  revision: {}\nCHECKSUMS\n  {} (1.0) sha256={}\n",
        r.name(2),
        r.below(9),
        r.below(20),
        r.name(2),
        r.below(9),
        r.hex(40),
        r.word(),
        r.hex(64)
    )
}

fn flake_lock(r: &mut Random) -> String {
    format!(
        "      \"locked\": {{\n        \"lastModified\": 17{},\n        \"narHash\": \"sha256-{}=\",\n        \"owner\": \"{}\",\n        \"rev\": \"{}\",\n        \
         \"type\": \"github\"\n      }}\nsha256 = \"{}\";\nhash = \"sha256-{}=\";\nvendorHash = \"sha256-{}=\";\n",
        r.digits(8),
        r.base64(43),
        r.word(),
        r.hex(40),
        r.chars("0123456789abcdfghijklmnpqrsvwxyz", 52),
        r.base64(43),
        r.base64(43)
    )
}

fn gradle(r: &mut Random) -> String {
    format!(
        "<component group=\"org.{0}\" name=\"{1}\" version=\"{2}.0\">\n  <artifact name=\"{1}-{2}.0.jar\">\n    <sha256 value=\"{3}\" origin=\"Generated by Gradle\"/>\n    \
         <pgp value=\"{4}\"/>\n  </artifact>\n</component>\ndistributionSha256Sum={5}\n",
        r.word(),
        r.name(2),
        r.below(9),
        r.hex(64),
        r.chars("0123456789ABCDEF", 40),
        r.hex(64)
    )
}

fn git_log(r: &mut Random) -> String {
    format!(
        "commit {0}\nMerge: {1} {2}\nAuthor: Ada <ada@example.com>\n\n    Rotate the {3} token; see {4}\n\ndiff --git a/src/{3}.rs b/src/{3}.rs\nindex {5}..{6} 100644\n",
        r.hex(40),
        r.hex(9),
        r.hex(9),
        r.word(),
        r.hex(12),
        r.hex(11),
        r.hex(11)
    )
}

fn git_ids(r: &mut Random) -> String {
    format!(
        "uses: actions/checkout@{0} # v4.1.{1}\nrev = \"{2}\"\n  rev: {3}\ncommit: {4}\n{5}\trefs/heads/{6}\n\"sha\": \"{7}\",\nFROM alpine@sha256:{8}\nSubproject commit {9}\n",
        r.hex(40),
        r.below(9),
        r.hex(40),
        r.hex(40),
        r.hex(40),
        r.hex(40),
        r.name(2),
        r.hex(40),
        r.hex(64),
        r.hex(40)
    )
}

fn digests(r: &mut Random) -> String {
    format!(
        "{0}  {1}.tar.gz\nMD5 ({1}.zip) = {2}\nsha512: {3}\nX-Amz-Content-Sha256: {0}\nETag: \"{2}\"\nexpected_hash = \"{4}\"\n\
         <script src=\"https://cdn.example.org/{1}.js\" integrity=\"sha384-{5}\" crossorigin=\"anonymous\"></script>\n\
         Content-Security-Policy: script-src 'sha256-{6}='\nassert_eq!(digest(b\"{1}\"), \"{4}\");\n",
        r.hex(64),
        r.name(2),
        r.hex(32),
        r.hex(128),
        r.hex(64),
        r.base64(64),
        r.base64(43)
    )
}

fn uuids(r: &mut Random) -> String {
    format!(
        "id: {0}\nrequest_id={1} trace={2}\n<Guid(\"{3}\")>\n\"token_id\": \"{4}\",\nProject(\"{{{5}}}\") = \"{6}\"\nAccount token {7} was revoked\n",
        r.uuid(),
        r.uuid(),
        r.hex(32),
        r.uuid().to_uppercase(),
        r.uuid(),
        r.uuid().to_uppercase(),
        r.name(2),
        r.uuid()
    )
}

fn long_paths(r: &mut Random) -> String {
    let path: Vec<String> = (0..7).map(|_| r.name(2)).collect();
    let path = path.join("/");
    format!(
        "import {{ {0} }} from '../../{path}/{0}';\nsrc/{path}/v2/{1}.spec.ts\n/usr/lib/x86_64-linux-gnu/{path}.so.{2}\n\
         include(\"{path}/{1}2.cmake\")\nC:\\Users\\dev\\{3}\\token\\secret.txt\nlet key = \"{path}/part-{2:05}\";\n",
        r.word(),
        r.name(3),
        r.below(99),
        path.replace('/', "\\")
    )
}

fn hashed_assets(r: &mut Random) -> String {
    format!(
        "\"main.js\": \"/static/js/main.{0}.chunk.js\",\n<link href=\"/assets/{1}-{2}.css\" rel=\"stylesheet\">\n/_next/static/chunks/{3}-{4}.js\n\
         \"{1}.png\": \"{1}-{5}.png\"\n_buildManifest: \"/_next/static/{6}/_buildManifest.js\"\n",
        r.hex(8),
        r.word(),
        r.hex(20),
        r.digits(4),
        r.hex(16),
        r.hex(64),
        r.url(21)
    )
}

fn data_url(r: &mut Random) -> String {
    format!(
        "background: url(data:image/png;base64,iVBORw0KGgo{}=);\nsrc=\"data:font/woff2;base64,d09GMgABAAAAA{}\"\n<img src='data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP{}'>\n",
        r.base64(120),
        r.base64(400),
        r.base64(60)
    )
}

fn certificate(r: &mut Random) -> String {
    let lines: Vec<String> = (0..12).map(|_| r.base64(64)).collect();
    let last = r.base64(44);
    format!(
        "-----BEGIN CERTIFICATE-----\n{}\n{last}==\n-----END CERTIFICATE-----\n",
        lines.join("\n")
    )
}

fn public_keys(r: &mut Random) -> String {
    let lines: Vec<String> = (0..6).map(|_| r.base64(64)).collect();
    format!(
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{} ada@laptop\nssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAAB{} deploy\n\
         -----BEGIN PUBLIC KEY-----\n{}\n{}\n-----END PUBLIC KEY-----\nPublicKey = {}=\nPEM_HEADER = \"-----BEGIN PRIVATE KEY-----\"\npk_live_{}\n",
        r.base64(43),
        r.base64(340),
        lines.join("\n"),
        r.base64(30),
        r.base64(43),
        r.alnum(24)
    )
}

fn source_map(r: &mut Random) -> String {
    let mappings: Vec<String> =
        (0..60).map(|_| r.chars("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefgijkouvwxy", 4)).collect();
    format!(
        "{{\"version\":3,\"sources\":[\"{}.ts\"],\"names\":[\"token\",\"secret\"],\"mappings\":\"{}\"}}\n",
        r.word(),
        mappings.join(",")
    )
}

fn password_hashes(r: &mut Random) -> String {
    format!(
        "password: $2b$12${}\npassword_hash = \"$argon2id$v=19$m=65536,t=3,p=4${}${}\"\nPASSWORD_HASHER = 'pbkdf2_sha256'\npasswordDigest: \"sha256:{}\"\n",
        r.chars("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789./", 53),
        r.base64(22),
        r.base64(43),
        r.hex(64)
    )
}

fn placeholders(r: &mut Random) -> String {
    let a = r.word().to_uppercase();
    let one = [
        format!("{a}_API_KEY=your-api-key-here\nDB_PASSWORD=changeme\nTOKEN=<your token>\n"),
        format!("{a}_SECRET=xxxxxxxxxxxxxxxxxxxxxxxx\nPASSWORD=********\nAPI_KEY=\n"),
        "password: \"password\"\ntoken: \"REPLACE_ME\"\napi_key: \"YOUR_API_KEY\"\n".to_string(),
        "postgres://user:password@localhost:5432/db\nmysql://root:root@127.0.0.1/app\nredis://localhost:6379\n".to_string(),
        "AWS_ACCESS_KEY_ID=AKIAXXXXXXXXXXXXXXXX\naws_secret_access_key = <secret>\nGITHUB_TOKEN=ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\n".to_string(),
        format!("{{\"password\": \"string\", \"token\": \"example-token\", \"{}\": \"dummy-secret-value\"}}\n", r.word()),
        "secret: \"\"\npassword: null\ntoken: none\napi_key: 0\nclient_secret: TODO\n".to_string(),
    ];
    one[r.below(one.len())].clone()
}

fn references(r: &mut Random) -> String {
    let (a, b) = (r.word(), r.word().to_uppercase());
    format!(
        "password: ${{{{ secrets.{b}_PASSWORD }}}}\ntoken: {{{{ .Values.{a}.token }}}}\nDB_PASSWORD=${{DB_PASSWORD}}\nsecret = var.{a}_secret\n\
         api_key: !Ref {a}ApiKey\npassword = config.require(\"{a}Password\")\ntoken = ENV.fetch('{b}_TOKEN')\n\
         client_secret: env(\"{b}_CLIENT_SECRET\")\nkey: op://vault/{a}/credential\npassword_file: /run/secrets/{a}\n\
         secretName: {a}-tls-secret\nDATABASE_URL: postgres://{a}:${{PGPASSWORD}}@db:5432/{a}\nAuthorization: Bearer $TOKEN\n"
    )
}

fn about_secrets(r: &mut Random) -> String {
    let (a, c) = (r.word(), capital(r.word()));
    format!(
        "if password == nil || len(token) < {0} {{\nlet token = self.tokens.next().unwrap_or_default();\nraise Invalid{c}Token('token expired')\n\
         const TOKEN_KIND = TokenKind::Identifier;\nsecret: SecretString,\npasswords.push(hash(password));\nexpect(form.password).toBe(undefined);\n\
         this.apiKey = options.apiKey || defaults.apiKey;\nself.token_{a} = token_{a}\nreturn credentials.map(|c| c.password());\n\
         key = f\"{a}:{{user.id}}:{{token}}\"\npasswordInput.value = '';\nTOKEN_TTL_SECONDS = 86400\nmax_tokens: 4096\n\
         private_key: ec.EllipticCurvePrivateKey,\nsecret_key_ref: {a}-key\ntokenizer = AutoTokenizer.from_pretrained(\"{a}-base-v1.5\")\n",
        r.below(40)
    )
}

fn translations(r: &mut Random) -> String {
    format!(
        "\"password\": \"Passwort\",\n\"password_confirmation\": \"Passwort bestätigen\",\n\"forgot_password\": \"Mot de passe oublié ?\",\n\
         \"password.too_short\": \"Das Passwort muss mindestens {} Zeichen lang sein\",\n\"token_expired\": \"Ссылка больше не действует\",\n\
         \"secret_question\": \"Geheime Frage\",\n\"api_key_hint\": \"Find it under Settings > {}\",\n\"пароль\": \"Введите пароль\"\n",
        r.below(20),
        capital(r.word())
    )
}

fn types(r: &mut Random) -> String {
    let c = capital(r.word());
    format!(
        "interface {c}Credentials {{\n  username: string;\n  password: string;\n  accessToken?: string | null;\n  apiKey: ApiKeyCredentials;\n}}\n\
         struct {c} {{ token: Option<String>, secret_key: SecretKey, password: Zeroizing<String> }}\ntype Token = Brand<string, '{c}Token'>;\n\
         password = models.CharField(max_length=128)\ntoken = Column(String(64), unique=True, nullable=False)\n\
         public string Password {{ get; set; }}\nprivateKey: KeyLike | Uint8Array;\nstring api_key = {};\n",
        r.below(30)
    )
}

fn ci(r: &mut Random) -> String {
    let a = r.word();
    format!(
        "jobs:\n  build:\n    runs-on: ubuntu-24.04\n    permissions:\n      id-token: write\n    env:\n      GITHUB_TOKEN: ${{{{ github.token }}}}\n      \
         NPM_TOKEN: ${{{{ secrets.NPM_TOKEN }}}}\n    steps:\n      - uses: docker/login-action@{}\n        with:\n          password: ${{{{ secrets.GHCR }}}}\n      \
         - uses: actions/cache@v4\n        with:\n          key: {a}-${{{{ hashFiles('**/Cargo.lock') }}}}-{}\n",
        r.hex(40),
        r.below(99)
    )
}

fn terraform(r: &mut Random) -> String {
    let a = r.word();
    format!(
        "resource \"aws_secretsmanager_secret\" \"{a}\" {{\n  name       = \"{a}/db/password\"\n  kms_key_id = \"arn:aws:kms:eu-west-1:{}:key/{}\"\n}}\n\
         data \"aws_ami\" \"x\" {{ image_id = \"ami-0{}\" }}\nvariable \"db_password\" {{\n  type      = string\n  sensitive = true\n}}\n\
         password = random_password.{a}.result\nsubnet_id = \"subnet-0{}\"\n",
        r.digits(12),
        r.uuid(),
        r.hex(16),
        r.hex(16)
    )
}

fn kubernetes(r: &mut Random) -> String {
    let a = r.name(2).to_lowercase();
    format!(
        "apiVersion: v1\nkind: Pod\nmetadata:\n  name: {a}-{}-{}\n  uid: {}\nspec:\n  containers:\n    - image: registry.example.org/{a}@sha256:{}\n      env:\n        \
         - name: DB_PASSWORD\n          valueFrom:\n            secretKeyRef:\n              name: {a}-credentials\n              key: password\n      \
         volumeMounts:\n        - mountPath: /var/run/secrets/kubernetes.io/serviceaccount\n          name: kube-api-access-{}\n",
        r.hex(10),
        r.chars("bcdfghjklmnpqrstvwxz2456789", 5),
        r.uuid(),
        r.hex(64),
        r.chars("bcdfghjklmnpqrstvwxz2456789", 5)
    )
}

fn urls(r: &mut Random) -> String {
    let a = r.name(2);
    format!(
        "https://github.com/{0}/{a}/blob/{1}/src/{a}.rs#L{2}-L{3}\nhttps://docs.example.org/{a}/reset-password?lang=en&page={2}\n\
         https://www.youtube.com/watch?v={4}\nhttps://example.org:8443/{a}/@{0}/status\nhttps://user@example.org/{a}.git\nssh://git@example.org:22/{a}\n\
         https://gist.github.com/{0}/{5}\nhttps://docs.google.com/document/d/1{6}/edit\nhttps://img.shields.io/badge/{a}-passing-green.svg?logo=rust\n",
        r.word(),
        r.hex(40),
        r.below(99),
        r.below(400),
        r.url(11),
        r.hex(32),
        r.url(43)
    )
}

fn numbers(r: &mut Random) -> String {
    format!(
        "phone: +1 {0}-555-{1}\n2026-03-{2:02}T10:20:30.{3}Z\nlet big = {4}u64;\n192.168.{5}.{6}\n0x{7}\nisbn: 978-3-16-{8}-0\n1.{9}e-10\n\
         order #{4}\nts={10}\n{11} {12} {13} {14}\nlat: 52.{9}, lon: 13.{3}\niban-like: DE{15}\n[{16}, {17}, {18}]\n",
        200 + r.below(700),
        r.digits(4),
        1 + r.below(28),
        r.digits(9),
        r.digits(19),
        r.below(256),
        r.below(256),
        r.hex(16),
        r.digits(6),
        r.digits(16),
        1_700_000_000_000u64 + r.below(999_999_999) as u64,
        r.digits(3),
        r.digits(4),
        r.digits(2),
        r.digits(7),
        r.digits(20),
        r.digits(10),
        r.digits(12),
        r.digits(9)
    )
}

fn logs(r: &mut Random) -> String {
    format!(
        "2026-03-04T11:22:33.{0}Z INFO  http request_id={1} path=/v1/{2} status=200 duration={3}ms\n\
         [2026-03-04 11:22:33,{3}] ERROR invalid token for user {4}: signature mismatch\nat {5}.{2}({5}.java:{3})\n\
         goroutine {3} [running]: main.{2}(0xc000{6}, 0x{7})\n\tthread '{2}' panicked at src/{2}.rs:{3}:{8}\ntraceparent: 00-{9}-{10}-01\n",
        r.digits(6),
        r.uuid(),
        r.word(),
        r.below(999),
        r.below(9999),
        capital(r.word()),
        r.hex(6),
        r.hex(8),
        r.below(80),
        r.hex(32),
        r.hex(16)
    )
}

fn csv(r: &mut Random) -> String {
    let mut text = String::from("id,name,token_count,created_at,hash\n");
    for _ in 0..6 {
        text += &format!(
            "{},{},{},2026-0{}-1{},{}\n",
            r.below(100_000),
            r.name(2),
            r.below(9000),
            1 + r.below(9),
            r.below(9),
            r.hex(40)
        );
    }
    text
}

fn notes(r: &mut Random) -> String {
    let (a, b) = (r.word(), r.word());
    format!(
        "## Decision: {a} tokens\n\nTokens are issued by the {b} service and expire after {} minutes. The password is never stored; we keep a hash.\n\
         Secrets live in the vault under `kv/{a}/{b}`. Rotate the API key every quarter (see docs/{a}-{b}.md).\n\
         - The `Authorization: Bearer` header is checked by the gateway.\n- `DB_PASSWORD` comes from the environment.\n\
         - Private keys: never commit them. The secret is in the sauce. The token is refreshed when needed.\n",
        r.below(90)
    )
}

fn test_vectors(r: &mut Random) -> String {
    format!(
        "const KAT: &str = \"{0}\";\nmsg = {1}\nassert hash(b\"abc\") == \"{2}\"\nlet expected = hex!(\"{3}\");\nCiphertext = {4}\n[0x{5}, 0x{6}, 0x{7}]\n\
         alphabet = \"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/\"\nabcdefghijklmnopqrstuvwxyz0123456789\n",
        r.hex(96),
        r.hex(200),
        r.hex(64),
        r.hex(48),
        r.hex(128),
        r.hex(2),
        r.hex(2),
        r.hex(2)
    )
}

fn c_header(r: &mut Random) -> String {
    let a = r.word().to_uppercase();
    format!(
        "#ifndef {a}_TOKEN_H\n#define {a}_MAGIC 0x{}UL\n#define {a}_SECRET_LEN {}\nstatic const unsigned char {}_key[] = {{ 0x{}, 0x{}, 0x{}, 0x{} }};\n\
         typedef struct {{ char *password; size_t token_len; }} {a}_CTX;\nint {}_set_private_key({a}_CTX *ctx, const char *private_key);\n#endif\n",
        r.hex(16),
        r.below(64),
        r.word(),
        r.hex(2),
        r.hex(2),
        r.hex(2),
        r.hex(2),
        r.word()
    )
}

fn symbols(r: &mut Random) -> String {
    format!(
        "_ZN4core3fmt9Formatter{0}{1}17h{2}E\n_ZNKSt6vectorI{3}SaIS0_EE{4}Ev\nRUSTFLAGS=-Clink-arg=-Wl,--build-id=0x{5}\n\
         Convert{6}Utf8ToBase64StringWithPadding2\nORG_{7}_AUTH_OAUTH2_PROVIDER_RESOURCE_SERVER_JWT_ISSUER_URI\nBuildID[sha1]={8}\n",
        r.below(9),
        r.name(2).replace(['-', '_'], ""),
        r.hex(16),
        r.word(),
        r.name(3).replace('-', ""),
        r.hex(40),
        capital(r.word()),
        r.word().to_uppercase(),
        r.hex(40)
    )
}

fn jupyter(r: &mut Random) -> String {
    format!(
        "{{\"cells\": [{{\"cell_type\": \"code\", \"execution_count\": {0}, \"id\": \"{1}\", \"outputs\": [{{\"data\": {{\"image/png\": \"iVBORw0KGgo{2}\"}}}}],\n\
         \"source\": [\"token_counts = df['token'].value_counts()\\n\", \"model.fit(X, y, key='{3}')\"]}}]}}\n",
        r.below(99),
        r.hex(8),
        r.base64(600),
        r.word()
    )
}

fn openapi(r: &mut Random) -> String {
    let a = r.word();
    format!(
        "  /{a}/token:\n    post:\n      operationId: create{}Token\n      security:\n        - api_key: []\n      requestBody:\n        content:\n          \
         application/json:\n            schema:\n              properties:\n                password: {{ type: string, format: password, minLength: {} }}\n                \
         client_secret: {{ type: string, example: \"<secret>\" }}\ncomponents:\n  securitySchemes:\n    api_key: {{ type: apiKey, in: header, name: X-API-Key }}\n",
        capital(a),
        r.below(20)
    )
}
