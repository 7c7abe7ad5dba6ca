package places

import (
	"path"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// sensitivePaths is the list of docs/protected.md "Sensitive paths". No rule shortens it.
// "~/x" is a path of the user, the last component may end with "*", and "**/x" is a name at
// any depth of a grant.
var sensitivePaths = []string{
	"~/.ssh", "~/.gnupg", "~/.gpg", "~/.aws", "~/.azure", "~/.config/gcloud", "~/.kube", "~/.docker/config.json",
	"~/.netrc", "~/.npmrc", "~/.config/npm/npmrc", "~/.pypirc", "~/.git-credentials", "~/.config/git/credentials", "~/.config/gh", "~/.config/op",
	"~/.password-store", "~/.local/share/keyrings", "~/.terraform.d", "~/.cargo/credentials*",
	// Shell histories, and those of the programs that take secrets on a line.
	"~/.bash_history", "~/.zsh_history", "~/.zhistory", "~/.histfile", "~/.sh_history", "~/.ksh_history", "~/.history", "~/.zsh_sessions", "~/.bash_sessions",
	"~/.local/share/fish/fish_history", "~/.config/fish/fish_history", "~/.local/share/powershell/PSReadLine", "~/.config/nushell/history*",
	"~/.python_history", "~/.node_repl_history", "~/.psql_history", "~/.mysql_history", "~/.sqlite_history", "~/.rediscli_history", "~/.irb_history",
	// Browser profiles: cookies, saved passwords.
	"~/.mozilla", "~/.librewolf", "~/.waterfox", "~/.zen", "~/.thunderbird",
	"~/.config/google-chrome*", "~/.config/chromium", "~/.config/BraveSoftware", "~/.config/microsoft-edge*", "~/.config/vivaldi*", "~/.config/opera*",
	"~/snap/firefox", "~/snap/chromium", "~/.var/app/org.mozilla.firefox", "~/.var/app/com.google.Chrome", "~/.var/app/org.chromium.Chromium", "~/.var/app/com.brave.Browser",
	// Private keys beside the certificates of the baseline.
	"/etc/ssl/private", "/etc/pki/tls/private",
	"/run/WSL", // the sockets by which WSL starts programs of Windows
	"**/.env", "**/.env.*",
}

// dotSensitive are what further programs keep in files of the home directory. On macOS many of them do the
// same, and macSensitive has what lies elsewhere there.
var dotSensitive = []string{
	// Keys, tokens and passwords.
	"~/.pgpass", "~/.my.cnf", "~/.mylogin.cnf", "~/.s3cfg", "~/.boto", "~/.vault-token", "~/.gem/credentials", "~/.subversion/auth", "~/.databrickscfg", "~/.oci", "~/.fly", "~/.kaggle", "~/.m2/settings-security.xml", "~/.composer/auth.json", "~/.config/composer/auth.json",
	"~/.cache/huggingface/token", "~/.cache/huggingface/stored_tokens", "~/.config/containers/auth.json", "~/.config/helm/registry", "~/.config/rclone", "~/.config/hub", "~/.config/glab-cli", "~/.config/github-copilot", "~/.config/sops", "~/.config/age", "~/.config/doctl", "~/.config/stripe", "~/.config/ngrok", "~/.config/netlify", "~/.config/configstore", "~/.config/filezilla", "~/.config/pypoetry/auth.toml",
	"~/.cloudflared", "~/.wrangler", "~/.config/.wrangler", "~/.supabase", "~/.railway", "~/.pulumi/credentials.json", "~/.databricks", "~/.snowflake", "~/.snowsql", "~/.huggingface/token", "~/.sentryclirc", "~/.circleci", "~/.ngrok2", "~/.ollama/id_ed25519", "~/.expo/state.json",
	"~/.local/share/kwalletd", "~/.local/share/com.vercel.cli", "~/.config/1Password", "~/.config/Bitwarden*", "~/.config/KeePassXC", "~/.electrum", "~/.bitcoin", "~/.ethereum", "~/.config/solana", "~/.Xauthority", "~/.ICEauthority",
	// The user's own files in which clients look for servers (clients.All, that is a test): they have the tokens and ids of other servers.
	"~/.claude.json", "~/.claude/.claude.json", "~/.claude/.config.json", "~/.config/Claude", "~/.codex/config.toml", "~/.gemini/settings.json", "~/.qwen/settings.json", "~/.copilot/mcp-config.json", "~/.cursor/mcp.json", "~/.codeium/mcp_config.json", "~/.codeium/windsurf/mcp_config.json",
	"~/.cache/lm-studio/mcp.json", "~/.lmstudio/mcp.json", "~/.cline/data/settings", "~/.continue/config.yaml", "~/.continue/agents", "~/.continue/assistants", "~/.continue/mcpServers", "~/.junie/mcp", "~/.kiro/agents", "~/.kiro/settings/mcp.json", "~/.warp/.mcp.json",
	"~/.kilo/*.json*", "~/.kilo/mcp", "~/.kilocode/*.json*", "~/.kilocode/mcp", "~/.opencode/opencode.json*", "~/.config/kilo", "~/.config/opencode", "~/.config/crush", "~/.config/goose/config.yaml", "~/.config/jp/config.toml", "~/.config/zed/settings.json",
	"~/.config/Code/User/mcp.json", "~/.config/Code/User/profiles", "~/.config/Code - Insiders/User/mcp.json", "~/.config/Code - Insiders/User/profiles", "~/.config/VSCodium/User/mcp.json", "~/.config/VSCodium/User/profiles", "~/.vscode-server/data/User/mcp.json", "~/.var/app/com.visualstudio.code/config/Code/User/mcp.json",
	// Logins of assistants and editors.
	"~/.claude/.credentials.json", "~/.codex/auth.json", "~/.gemini/oauth_creds.json", "~/.qwen/oauth_creds.json", "~/.local/share/opencode/auth.json",
	// Logins of assistants at servers, and those that mcp-remote keeps for all of its servers.
	"~/.mcp-auth", "~/.codex/.credentials.json", "~/.gemini/mcp-oauth-tokens*", "~/.qwen/mcp-oauth-tokens*", "~/.copilot/config.json", "~/.copilot/mcp-oauth-config", "~/.local/share/opencode/mcp-auth.json", "~/.config/goose/secrets.yaml", "~/.local/share/crush/crush.json", "~/.local/share/amazon-q", "~/.local/share/kiro-cli",
	"~/.config/Code/User/globalStorage", "~/.config/Code - Insiders/User/globalStorage", "~/.config/VSCodium/User/globalStorage", "~/.config/Cursor/User/globalStorage", "~/.config/Windsurf/User/globalStorage",
	// Messengers and mail.
	"~/.config/Signal", "~/.config/Slack", "~/.config/discord*", "~/.config/Element", "~/.config/Microsoft", "~/.local/share/TelegramDesktop", "~/.purple", "~/.config/evolution", "~/.local/share/evolution", "~/.config/geary", "~/.msmtprc", "~/.mbsyncrc", "~/.fetchmailrc",
	// What editors and pagers remember of the files that they showed.
	"~/.viminfo", "~/.lesshst", "~/.local/state/nvim/shada",
}

func builtinSensitive(os string) []string {
	all := append(slices.Clone(sensitivePaths), dotSensitive...)
	switch os {
	case "darwin":
		all = append(all, macSensitive...)
	case "windows":
		all = slices.DeleteFunc(all, func(s string) bool { return strings.HasPrefix(s, "/") })
	}
	return all
}

// sampleEnv are the .env names that are meant to be published.
var sampleEnv = []string{".env.example", ".env.sample", ".env.template"}

// Pattern is a sensitive path of the form **/x/y, split.
type Pattern struct {
	Text    string
	dir     string // the only directory of such names; "" for any
	Parts   []string
	Builtin bool
}

// Matches reports whether dir/name is sensitive by this pattern.
func (p Pattern) Matches(dir, name string) bool {
	n := len(p.Parts)
	if !MatchName(p.Parts[n-1], name) || p.dir != "" && p.dir != dir {
		return false
	}
	if p.Builtin && slices.Contains(sampleEnv, name) {
		return false
	}
	for i := n - 2; i >= 0; i-- {
		if dir == "/" || !MatchName(p.Parts[i], path.Base(dir)) {
			return false
		}
		dir = path.Dir(dir)
	}
	return true
}

func MatchName(pattern, name string) bool {
	if pattern == name {
		return true
	}
	ok, _ := path.Match(pattern, name) // checked by policy.CheckSensitivePath
	return ok
}

// Patterns returns the sensitive paths that match at any depth.
func (b *Places) Patterns() (out []Pattern) {
	for i, list := range [][]string{builtinSensitive(b.h.OS), b.p.Sensitive} {
		for _, s := range list {
			if rest, ok := strings.CutPrefix(s, "**/"); ok {
				out = append(out, Pattern{Text: s, Parts: strings.Split(Folded(b.h, rest), "/"), Builtin: i == 0})
			}
		}
	}
	return out
}

// A SensitivePath is a sensitive path on this host. The last component of abs may be a pattern,
// unless it is the file of a secret.
type SensitivePath struct {
	Written, Abs string
	Secret       bool
}

// Pattern returns the directory and the last component of a sensitive path whose last component is a
// pattern. ok is false for any other.
func (s SensitivePath) Pattern() (dir, base string, ok bool) {
	dir, base = hostfs.Split(s.Abs)
	return dir, base, !s.Secret && strings.ContainsAny(base, "*?[")
}

func (b *Places) listBuiltin() {
	moves := b.moves()
	for _, s := range builtinSensitive(b.h.OS) {
		if !strings.HasPrefix(s, "**/") {
			abs, _ := b.Expand(s, "/")
			b.Builtin = append(b.Builtin, SensitivePath{Written: s, Abs: abs})
			for _, at := range movedTo(s, moves) {
				b.Builtin = append(b.Builtin, SensitivePath{Written: b.Abbreviate(at), Abs: at})
			}
			b.SensitiveDirs = append(b.SensitiveDirs, strings.TrimSuffix(abs, "*"))
		}
	}
	for _, home := range b.windowsHomes() {
		for _, s := range sensitiveOfWindows {
			abs := path.Join(home, s)
			b.Builtin = append(b.Builtin, SensitivePath{Written: b.Abbreviate(abs), Abs: abs})
		}
	}
}

// usersOfWindows is where WSL shows the home directories of Windows, and sensitiveOfWindows are the
// sensitive paths in each.
const usersOfWindows = "/mnt/c/Users"

var sensitiveOfWindows = []string{
	".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker/config.json", ".netrc", "_netrc", ".npmrc", ".pypirc", ".git-credentials", ".config/gh", ".config/gcloud", ".terraform.d",
	"AppData/Roaming/gcloud", "AppData/Roaming/GitHub CLI", "AppData/Roaming/gnupg", "AppData/Roaming/Microsoft/Credentials", "AppData/Local/Microsoft/Credentials", "AppData/Roaming/Microsoft/Protect", "AppData/Roaming/Microsoft/Vault", "AppData/Local/Microsoft/Vault",
	"AppData/Roaming/Mozilla", "AppData/Roaming/Thunderbird", "AppData/Local/Google/Chrome/User Data", "AppData/Local/Microsoft/Edge/User Data", "AppData/Local/BraveSoftware", "AppData/Local/Vivaldi", "AppData/Roaming/Opera Software",
}

// windowsHomes returns the home directories of Windows, if a rule leads to them: to ask for each path
// there is slow.
func (b *Places) windowsHomes() (homes []string) {
	if b.h.OS == "windows" {
		return []string{b.h.Home}
	}
	if b.h.OS != "linux" || !slices.ContainsFunc(b.p.Fs, func(r policy.FsRule) bool {
		abs, _ := b.Expand(r.Path, b.WorkspaceOrDir())
		return policy.Within(abs, usersOfWindows) || policy.Within(usersOfWindows, abs)
	}) || !b.paths.Exists(usersOfWindows) {
		return nil
	}
	names, _ := b.paths.Names(usersOfWindows)
	for _, name := range names {
		homes = append(homes, path.Join(usersOfWindows, name))
	}
	return homes
}

// ListSensitive returns the sensitive paths that have a fixed place: those that are built in, those
// of the user, and the files of secrets.
func (b *Places) ListSensitive() []SensitivePath {
	all := slices.Clone(b.Builtin)
	for _, s := range b.p.Sensitive {
		if !strings.HasPrefix(s, "**/") {
			abs, _ := b.Expand(s, b.paths.Canonical(b.WorkspaceOrDir()))
			all = append(all, SensitivePath{Written: s, Abs: abs})
		}
	}
	for _, s := range b.p.SecretFiles() {
		abs, _ := b.Expand(s, "/")
		all = append(all, SensitivePath{Written: s, Abs: abs, Secret: true})
	}
	return all
}
