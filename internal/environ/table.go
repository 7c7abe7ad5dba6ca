package environ

import (
	"slices"
	"strings"
)

// A Reader is what reads a variable outside of a server's jail.
type Reader string

// Readers.
const (
	jail    Reader = "mcp-jail"                              // mcp-jail and mcp-jail-cli, with Go's runtime
	Loader  Reader = "the loader, a shell or an interpreter" // what starts a program, and may load code into it
	Secret  Reader = "a secret's command"                    // see policy.Secret
	lock    Reader = "the lock file's keys"                  // a package is pinned for the registry that they choose
	files   Reader = "wrap and status"                       // where the files of clients are
	Presets Reader = "presets"                               // hosts and files of a preset\'s server, and its secrets
	servers Reader = "servers with granted hosts"            // a server gets the variable without a rule
	refused Reader = "none"                                  // no program gets it, though some would obey it
)

// Setter says whose entries may set a variable.
type Setter int

// Setters. Each includes those before it.
const (
	Nobody  Setter = iota
	User           // an entry of the user's own file
	Direct         // an entry of a project's file too, if mcp-jail fetches no package for its line and no preset grants it anything
	Project        // every entry of a project's file
)

// A Row is a line of the table.
type row struct {
	// Names are names of variables, or beginnings of names that end in "*". Letter case does not
	// count, and "-" is the same as "_": npm reads its variables so, and Windows all.
	Names   []string
	Readers []Reader
	May     Setter
	For     string // what the readers use the variables for
}

// ofPresets are the variables of presets that no other row has. A test compares them with the
// presets.
var ofPresets = []string{
	"AIRTABLE_*", "ANTHROPIC_*", "BRAVE_*", "CHROME_DEVTOOLS_*", "CONFLUENCE_*", "CONTEXT7_*", "EXA_*", "FIGMA_*", "FIRECRAWL_*", "GDRIVE_*", "GMAIL_*", "GRAFANA_*", "GZIP_*",
	"JIRA_*", "K8S_*", "LINEAR_*", "MDB_MCP_*", "MYSQL_*", "NOTION_*", "OBSIDIAN_*", "OPENAI_*", "OPENAPI_*", "PERPLEXITY_*", "PLAYWRIGHT_*", "PUPPETEER_*",
	"REDIS_*", "SENTRY_*", "SLACK_*", "STRIPE_*", "SUPABASE_*", "TAVILY_*",
	"ALLOWED_TOOLS", "ALLOW_DANGEROUS", "ALLOW_*_OPERATION", "ALLOW_ONLY_*_TOOLS", "AUTH_HEADER", "AUTH_TOKEN", "DATABASE_URI", "DEBUG", "DEFAULT_PARAMETERS",
	"DESKTOP_COMMANDER_*", "DISABLE_THOUGHT_LOGGING", "DOCKER_CONTAINER", "DSN", "EMBEDDED_AGENT_PROVIDER", "ENABLED_TOOLS", "ENABLE_PII_REDACTION",
	"FASTMCP_*", "KUBECONFIG_*", "MASK_SECRETS", "MCP_DISABLE_SKILLS", "MCP_REMOTE_*", "MCP_USER_AGENT", "MEMORY_FILE_PATH", "MULTI_DB_WRITE_MODE",
	"READ_ONLY_MODE", "READ_OPERATIONS_ONLY", "REQUIRE_MUTATION_CONSENT", "SCHEMA_*_PERMISSIONS", "SPAWN_MAX_BUFFER", "TOOLSETS",
	"USE_GITLAB_WIKI", "USE_MILESTONE", "USE_PIPELINE",
}

// Rows returns the table. The row with the longest matching name counts.
func Rows() []row {
	return []row{
		{names("HOME", "USERPROFILE"), readers(jail, Secret), Nobody, "the user's files"},
		{names("USER", "LOGNAME"), readers(jail, Secret), User, "the name of the user"},
		{names("PATH"), readers(jail, Secret), User, "programs. The commands get only directories that no server may write"},
		{names("PWD"), readers(jail), Project, "another name of the working directory, which the jail has too if it leads there"},
		{names("XDG_CONFIG_HOME", "XDG_CONFIG_DIRS"), readers(jail, Secret, files), Nobody, "configurations: mcp-jail's own, where the value is absolute, and those of git, pip and uv"},
		{names("XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME"), readers(jail, Secret, files), Nobody, "mcp-jail's own directories, where they are absolute, and what version managers installed"},
		{names("XDG_RUNTIME_DIR"), readers(jail, Secret), Nobody, "systemd's manager of the user"},
		{names("XDG_*"), readers(Secret), Nobody, "the desktop"},
		{names("TMPDIR"), readers(jail, Secret), User, "long messages, and without user namespaces the server's `TMPDIR`"},
		{names("TMP", "TEMP"), readers(jail), User, "the same on Windows"},
		{names("NO_COLOR", "TERM"), readers(jail, Secret), Project, "colours"},
		{names("COLUMNS"), readers(jail), Project, "the width of text and tables, in place of that of the terminal: a large number keeps each message on one line"},
		{names("SANDBOX_RUNTIME", "CODEX_SANDBOX", "CODEX_SANDBOX_NETWORK_DISABLED", "SNAP_NAME", "KUBERNETES_SERVICE_HOST"), readers(jail), Project, "the name of the sandbox around mcp-jail, in messages alone"},
		{names("LANG", "LANGUAGE", "LC_*", "TZ"), readers(Secret), Project, "language and time"},
		{names("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "REQUEST_METHOD"), readers(jail, Secret), User, "the way to [granted hosts](policy.md#network-rules) and registries"},
		{names("SSL_CERT_FILE", "SSL_CERT_DIR"), readers(jail, Secret, servers), User, "authorities of `mcp-jail-tls`, unless a server could write them, of registries, and of [granted hosts](policy.md#network-rules)"},
		{names("GODEBUG", "GOTRACEBACK", "GOGC", "GOMEMLIMIT", "GOMAXPROCS", "GORACE", "GOCOVERDIR", "ZONEINFO", "LOCALDOMAIN", "RES_OPTIONS"), readers(jail), User, "Go's runtime"},
		{names("MCP_JAIL_*", "MCPJAIL_*"), readers(jail), Nobody, "mcp-jail's programs among themselves, and its tests"},
		{names("LD_*", "DYLD_*", "GCONV_PATH", "BASH_ENV", "ENV"), readers(Loader), Nobody, "code that is loaded before a program begins. No command gets them"},
		{names("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "DYLD_FALLBACK_LIBRARY_PATH"), readers(Loader), User, "libraries of a server. No command gets them, and mcp-jail loads none"},
		{names("BASH_FUNC_*", "BASHOPTS", "SHELLOPTS", "PS4", "IFS", "CDPATH", "GLIBC_TUNABLES", "LOCPATH", "NLSPATH", "GETCONF_DIR", "MALLOC_*", "HOSTALIASES", "RESOLV_HOST_CONF", "TZDIR", "TERMINFO*", "TERMCAP", "SYSTEMROOT", "WINDIR", "COMSPEC", "PATHEXT"), readers(Loader), User, "settings of the loader, the C library and shells. No command gets them"},

		{names("NODE_OPTIONS", "NODE_PATH", "NODE_REPL_EXTERNAL_MODULE", "NODE_COMPILE_CACHE", "BUN_OPTIONS", "DENO_DIR", "PYTHONPATH", "PYTHONSTARTUP", "PYTHONHOME", "PYTHONUSERBASE", "PYTHONPLATLIBDIR", "PYTHONEXECUTABLE", "PYTHONPYCACHEPREFIX", "PYTHONWARNINGS", "PYTHONBREAKPOINT", "PYTHON_PRESITE", "OPENSSL_CONF", "OPENSSL_MODULES", "OPENSSL_ENGINES"), readers(Loader), Project, "code that node and Python load into a server. A [preset](#presets) does not hold beside it"},

		{names("PYENV_VERSION", "NODENV_VERSION", "RBENV_VERSION", "GOENV_VERSION", "PLENV_VERSION", "PHPENV_VERSION", "JENV_VERSION", "ASDF_*_VERSION", "MISE_*_VERSION"), readers(jail), Direct, "the version that a version manager would start"},
		{names("NVM_DIR", "FNM_DIR", "VOLTA_HOME", "ASDF_DATA_DIR", "MISE_DATA_DIR", "NODENV_ROOT", "N_PREFIX", "PYENV_ROOT", "UV_PYTHON_INSTALL_DIR", "NVM_HOME", "PYENV"), readers(jail), User, "what version managers installed"},
		{names("ZDOTDIR", "FPATH", "CARGO_HOME", "RUSTUP_HOME", "GOPATH", "GOBIN", "BUN_INSTALL", "DENO_INSTALL", "PNPM_HOME", "WORKON_HOME", "UV_CACHE_DIR", "CODEX_HOME", "COPILOT_HOME", "QWEN_HOME", "CLAUDE_CONFIG_DIR", "CRUSH_GLOBAL_*", "GEMINI_CLI_HOME", "GOOSE_PATH_ROOT", "JP_GLOBAL_CONFIG_DIR", "KILO_CONFIG*", "OPENCODE_CONFIG*"), readers(jail, files), User, "programs, caches, start-up files and files of clients that are [protected](policy.md#protected-names) there too"},
		{names("NVM_*", "FNM_*", "VOLTA_*", "ASDF_*", "MISE_*", "RTX_*", "NODENV_*", "PYENV_*", "RBENV_*", "GOENV_*", "PLENV_*", "PHPENV_*", "JENV_*", "PROTO_*"), readers(refused), Direct, "version managers, which mcp-jail does not start"},

		{names("NPM_CONFIG_CACHE", "PIP_CACHE_DIR"), readers(jail), User, "caches of packages, which are [protected](policy.md#protected-names) there too"},
		{names("NPM_CONFIG_LOGLEVEL", "NPM_CONFIG_YES", "NPM_CONFIG_UPDATE_NOTIFIER", "NPM_CONFIG_FUND", "NPM_CONFIG_AUDIT", "NPM_CONFIG_PROGRESS", "NPM_CONFIG_COLOR"), readers(refused), Project, "what npm prints and asks"},
		{names("NPM_*"), readers(jail), Direct, "[fetching packages](packages.md#the-first-start): registries, their credentials and authorities"},
		{names("NPM_CONFIG_REGISTRY", "NPM_CONFIG_@*:REGISTRY", "NPM_CONFIG_USERCONFIG", "NPM_CONFIG_GLOBALCONFIG", "NPM_CONFIG_PREFIX"), readers(jail, lock), Direct, "the registry of npm's packages, or of a scope, and files that name one"},
		{names("NPM_CONFIG_NODE_OPTIONS", "NPM_CONFIG_SCRIPT_SHELL", "NPM_CONFIG_SHELL", "NPM_CONFIG_VIEWER", "NPM_CONFIG_EDITOR", "NPM_CONFIG_GIT", "NPM_EXECPATH", "NPM_NODE_EXECPATH", "PREFIX", "DESTDIR"), readers(refused), Direct, "programs that npm starts, and another file of its configuration"},
		{names("NODE_EXTRA_CA_CERTS", "PIP_CERT"), readers(jail, servers), Direct, "authorities of registries and of [granted hosts](policy.md#network-rules)"},
		{names("NODE_ENV", "NODE_DEBUG", "NODE_NO_WARNINGS", "NODE_PENDING_DEPRECATION", "NODE_DISABLE_COLORS", "NODE_TLS_REJECT_UNAUTHORIZED", "NODE_USE_ENV_PROXY", "NODE_USE_SYSTEM_CA"), readers(refused), Project, "node and its libraries"},
		{names("NODE_*", "OPENSSL_*", "COREPACK_*", "BUN_*", "YARN_*", "PNPM_*", "DENO_*"), readers(refused), Direct, "node and the launchers beside npm"},

		{names("UV_INDEX", "UV_INDEX_URL", "UV_DEFAULT_INDEX", "UV_EXTRA_INDEX_URL", "UV_FIND_LINKS", "UV_NO_INDEX", "UV_CONFIG_FILE", "UV_NO_CONFIG"), readers(jail, lock), Direct, "the same for uv's packages"},
		{names("UV_INDEX_*", "UV_INSECURE_HOST", "UV_PRERELEASE"), readers(jail), Direct, "logins and other settings of uv"},
		{names("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS", "PIP_NO_INDEX", "PIP_CONFIG_FILE"), readers(jail, lock), Direct, "the same for pip's packages"},
		{names("PIP_*", "NETRC"), readers(jail), Direct, "other settings of pip, and logins"},
		{names("PIP_PYTHON", "PIP_LOG", "PIP_LOG_FILE"), readers(refused), Direct, "programs that pip starts, and files that it writes"},
		{names("UV_*", "PIPX_*", "PYTHON*", "VIRTUAL_ENV", "CONDA_*"), readers(refused), Direct, "Python and its installers"},
		{names("PYTHONUNBUFFERED", "PYTHONIOENCODING", "PYTHONUTF8", "PYTHONDONTWRITEBYTECODE", "PYTHONOPTIMIZE", "PYTHONHASHSEED", "PYTHONFAULTHANDLER", "PYTHONDEVMODE", "PYTHONTRACEMALLOC", "PYTHONMALLOC", "PYTHONASYNCIODEBUG", "PYTHONVERBOSE", "PYTHONNOUSERSITE", "PYTHONSAFEPATH", "PYTHONLEGACYWINDOWSSTDIO", "PYTHON_COLORS"), readers(refused), Project, "how Python runs and what it prints"},
		{names("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO", "DENO_CERT", "CARGO_HTTP_CAINFO", "AWS_CA_BUNDLE", "NIX_SSL_CERT_FILE"), readers(servers), Direct, "authorities of [granted hosts](policy.md#network-rules)"},
		{names("GIT_*"), readers(refused), Direct, "git"},
		{names("GIT_AUTHOR_*", "GIT_COMMITTER_*", "GIT_TERMINAL_PROMPT"), readers(refused), Project, "who commits with git"},

		{names("SHELL", "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "DBUS_SESSION_BUS_ADDRESS", "SSH_AUTH_SOCK", "SSH_TTY"), readers(Secret), Project, "asking the user, and the keys of the session"},
		{names("GNUPGHOME", "GPG_*", "PINENTRY_*", "PASSWORD_STORE_*", "GOPASS_*", "OP_*", "BW_*", "BWS_*", "KEEPASS*", "LPASS_*", "AWS_*", "AZURE_*", "CLOUDSDK_*", "GOOGLE_*", "VAULT_*", "BAO_*", "GH_*", "GITHUB_*", "GITLAB_*", "DOPPLER_*", "INFISICAL_*", "SOPS_*", "AGE_*", "KUBECONFIG", "DOCKER_CONFIG"), readers(Secret, Presets), Project, "keepers of secrets, and [presets](presets.md) of their services. An entry of a project's file that starts a server of your configuration may not set them"},

		{names(ofPresets...), readers(Presets), Project, "hosts, files and secrets of a server with a [preset](presets.md), and what it is told. An entry of a project's file that starts a server of your configuration may not set them"},

		{names("CLINE_*", "GEMINI_CLI_SYSTEM_*", "QWEN_CODE_SYSTEM_*"), readers(files), Direct, "the files of clients"},
		{names("APPDATA", "LOCALAPPDATA", "PROGRAMDATA", "WSL_DISTRO_NAME"), readers(jail, files), User, "the same on Windows and beside WSL"},
	}
}

func names(names ...string) []string     { return names }
func readers(readers ...Reader) []Reader { return readers }

// Find returns the row of a variable. ok is false if the table does not have it.
func Find(name string) (row row, ok bool) { return find(Rows(), name) }

func find(rows []row, name string) (row row, ok bool) {
	name = fold(name)
	best := -1
	for _, r := range rows {
		for _, pattern := range r.Names {
			if name == "" || pattern[0] != name[0] { // this is quick, and rules out most
				continue
			}
			if literal := len(pattern) - strings.Count(pattern, "*"); literal > best && matches(pattern, name) {
				best, row = literal, r
			}
		}
	}
	return row, best >= 0
}

func fold(name string) string { return strings.ReplaceAll(strings.ToUpper(name), "-", "_") }

// matches reports whether a folded name has a pattern. A "*" stands for any text.
func matches(pattern, name string) bool {
	begin, end, wild := strings.Cut(pattern, "*")
	if !wild {
		return name == pattern
	}
	return len(name) >= len(begin)+len(end) && strings.HasPrefix(name, begin) && strings.HasSuffix(name, end)
}

// IsName reports whether all programs read a text as one name, and as the same one. An environment
// is a list of texts NAME=VALUE, so in a name with a "=" other programs find another name. Readers
// of files strip blanks that others keep, and systems differ in which letters are the same.
//
// In an entry of a project's file, a name has letters, digits and "_", as POSIX says, or is one of
// Windows. An entry of the user's own may have npm's names too, such as npm_config_@scope:registry.
func IsName(name string, project bool) bool {
	if slices.Contains(ofWindows, name) {
		return true
	}
	for i, c := range []byte(name) {
		switch {
		case c == '_', 'A' <= c && c <= 'Z', 'a' <= c && c <= 'z', '0' <= c && c <= '9' && i > 0:
		case project || c <= ' ' || c == '=' || c > '~':
			return false
		}
	}
	return name != ""
}

// ofWindows are the names of Windows that have other characters. Nothing reads them outside.
var ofWindows = []string{"ProgramFiles(x86)", "CommonProgramFiles(x86)"}

// MaySet reports whether an entry may set a variable: of the user's own file (User), of a project's
// (Project), or of a project's whose line starts no package and no preset's program (Direct).
func MaySet(name string, entry Setter) bool {
	row, known := Find(name)
	return IsName(name, entry != User) && (!known || row.May >= entry)
}

// Steers reports whether a variable acts on a server of the user's configuration: on the command of a
// secret, on the rules of a preset, which send secrets to the hosts that variables name, on the
// authorities that the server trusts, or on the code that it loads. So an entry of a project's file that starts such a server may not set it.
func Steers(name string) bool {
	row, known := Find(name)
	return known && (row.Reads(Secret) || row.Reads(Presets) || row.Reads(servers) || row.Reads(Loader))
}

// Loads reports whether a variable can make a program load code, or start other code than it would
// without the variable.
func Loads(name string) bool {
	row, known := Find(name)
	return known && row.Reads(Loader)
}

// Reads reports whether a reader reads the variables of a row.
func (r row) Reads(reader Reader) bool { return slices.Contains(r.Readers, reader) }

// Build returns the environment of a program: the variables of environ that its reader reads, and
// then set. If a name is there several times, the last one counts. A name of set counts before
// those of environ.
func Build(reader Reader, environ []string, set ...string) (built []string) {
	rows, at := Rows(), map[string]int{}
	add := func(pair string) {
		name, _, _ := strings.Cut(pair, "=")
		if i, there := at[name]; there {
			built[i] = pair
			return
		}
		at[name], built = len(built), append(built, pair)
	}
	for _, pair := range environ {
		name, _, ok := strings.Cut(pair, "=")
		if row, known := find(rows, name); ok && known && row.Reads(reader) {
			add(pair)
		}
	}
	for _, pair := range set {
		add(pair)
	}
	return built
}
