package places

import (
	"path"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/winpath"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// The paths of a Windows are those of a host that [hostfs.Host.Slashed] has made, such as /C:/Users/u.

const (
	roaming = "~/AppData/Roaming/"
	local   = "~/AppData/Local/"
)

// secretsOfWindows are the sensitive paths of Windows beside sensitiveOfWindows, which WSL knows too.
var secretsOfWindows = []string{
	// What the system keeps: the user's part of the registry, passwords, keys, cookies, mail, clipboards.
	"~/NTUSER.DAT*", roaming + "Microsoft/Crypto", roaming + "Microsoft/SystemCertificates", local + "Microsoft/Windows/INetCookies", local + "Microsoft/Windows/WebCache", local + "Microsoft/Outlook", local + "Microsoft/TokenBroker", local + "Microsoft/OneAuth", local + "Microsoft/IdentityCache", local + "ConnectedDevicesPlatform", local + "Packages",
	roaming + "Microsoft/Windows/PowerShell/PSReadLine", roaming + "Microsoft/UserSecrets", roaming + "NuGet/NuGet.Config", roaming + "Subversion/auth",
	// Keys, tokens and passwords of tools.
	"~/_netrc", "~/_viminfo", roaming + "postgresql", roaming + "MySQL/.mylogin.cnf", roaming + "doctl", local + "1Password", roaming + "1Password", roaming + "Bitwarden*", roaming + "KeePass*", local + "KeePass*", roaming + "FileZilla", roaming + "WinSCP.ini", roaming + "rclone", roaming + "helm/registry", roaming + "glab-cli", roaming + "sops", roaming + "pypoetry/auth.toml", roaming + "Composer/auth.json", roaming + "com.vercel.cli", roaming + "netlify", local + "ngrok", roaming + "npm/etc/npmrc", roaming + "pip/pip.ini", roaming + "Electrum", roaming + "Bitcoin", roaming + "Ethereum",
	// Browsers that WSL does not look for.
	local + "Chromium", roaming + "librewolf", roaming + "Waterfox", roaming + "zen", local + "Google/Chrome*", local + "Microsoft/Edge*",
	// Logins of assistants and editors.
	roaming + "Claude", roaming + "Code/User/globalStorage", roaming + "Code - Insiders/User/globalStorage", roaming + "VSCodium/User/globalStorage", roaming + "Cursor/User/globalStorage", roaming + "Windsurf/User/globalStorage", local + "github-copilot",
	// Messengers.
	roaming + "Signal", roaming + "Slack", roaming + "discord*", roaming + "Element", roaming + "Telegram Desktop", roaming + "Microsoft/Teams",
}

// filesOfWindows returns what decides on Windows alone, beside the dotfiles of every system.
func filesOfWindows() []DecidingGroup {
	return []DecidingGroup{{"Windows, shells and editors run it or obey it", []string{
		roaming + "Microsoft/Windows/Start Menu", roaming + "Microsoft/Windows/SendTo", roaming + "Microsoft/Internet Explorer/Quick Launch", roaming + "Microsoft/Word/STARTUP", roaming + "Microsoft/Excel/XLSTART", roaming + "Microsoft/Templates", roaming + "Microsoft/AddIns", "~/NTUSER.DAT",
		"~/Documents/PowerShell", "~/Documents/WindowsPowerShell", "~/OneDrive/Documents/PowerShell", "~/OneDrive/Documents/WindowsPowerShell", "~/Documents/AutoHotkey.ahk", local + "Microsoft/PowerShell", local + "Microsoft/Windows PowerShell",
		local + "Packages", local + "Microsoft/Windows Terminal", local + "clink", roaming + "ConEmu.xml", "~/.wslconfig", "~/_vimrc", "~/_gvimrc", "~/vimfiles", local + "nvim", local + "nvim-data", roaming + "alacritty", roaming + "nushell", roaming + "lazygit", local + "lazygit", roaming + "helix",
		roaming + "Code/User", roaming + "Code - Insiders/User", roaming + "VSCodium/User", roaming + "Cursor/User", roaming + "Windsurf/User", roaming + "Antigravity/User", roaming + "Trae/User", roaming + "Kiro/User", roaming + "Zed", local + "Zed", roaming + "JetBrains", local + "JetBrains", roaming + "Sublime Text", "~/Documents/Visual Studio 2022", local + "Microsoft/VisualStudio",
		roaming + "go", roaming + "uv", roaming + "pip", "~/pip", roaming + "Python", roaming + "npm/etc", local + "pnpm/config", roaming + "jupyter", roaming + "NuGet", roaming + "bat", "~/_curlrc", roaming + "terraform.rc",
	}}, {ProgramsRisk, []string{
		roaming + "npm", local + "Microsoft/WindowsApps", local + "Microsoft/WinGet", local + "Programs", "~/scoop", local + "pnpm", local + "Yarn", local + "bun", local + "deno", local + "AnthropicClaude", local + "cursor-agent", roaming + "Python/Scripts", "~/pipx", local + "pipx", "~/miniconda3", "~/anaconda3", local + "fnm_multishells", local + "claude",
	}}, {PackagesRisk, []string{
		local + "npm-cache", roaming + "npm-cache", local + "pip/cache", local + "uv/cache", local + "Yarn/Cache", local + "pnpm-cache", local + "pnpm/store", local + "go-build", local + "NuGet", local + "ms-playwright", local + "electron", local + "node-gyp", local + "Composer", local + "pypoetry",
	}}}
}

// clientsOfWindows are the files of clients that lie elsewhere than on other systems.
var clientsOfWindows = []string{
	roaming + "Claude", roaming + "Block/goose", roaming + "jp", local + "crush", roaming + "opencode", local + "Warp",
}

// moves returns the variables that move a part of the home directory of a system, as in runtime.GOOS.
func moves(os string) []move {
	if os != "windows" {
		return moved
	}
	return append(slices.Clone(moved), move{roaming, "APPDATA"}, move{local, "LOCALAPPDATA"},
		move{local + "npm-cache", "npm_config_cache"}, move{local + "pip/cache", "PIP_CACHE_DIR"}, move{local + "uv/cache", "UV_CACHE_DIR"}, move{local + "pnpm", "PNPM_HOME"})
}

// addMovedSecrets adds the sensitive paths of AppData where variables put its directories.
func addMovedSecrets(b *Places) {
	for _, m := range []move{{roaming, "APPDATA"}, {local, "LOCALAPPDATA"}} {
		dir, _ := b.h.UserEnv(m.variable)
		usual, _ := b.Expand(m.prefix, "/")
		if _, ok := winpath.FromSlashed(dir); !ok || within(b.h, dir, usual) {
			continue
		}
		for _, s := range slices.Clone(b.Builtin) {
			if below, ok := strings.CutPrefix(s.Abs, usual+"/"); ok {
				abs := path.Join(dir, below)
				b.Builtin = append(b.Builtin, SensitivePath{Written: b.Abbreviate(abs), Abs: abs})
			}
		}
	}
}

// onDrive returns a path of Windows with slashes. One that begins with a backslash is on the drive of the
// directory to which it is relative. So is one of that drive without a backslash, in that directory.
func onDrive(h *hostfs.Host, p, dir string) string {
	if _, ok := winpath.FromSlashed(dir); !ok {
		dir = h.Dir
	}
	drive, ok := winpath.FromSlashed(dir[:min(3, len(dir))])
	if len(p) > 1 && p[1] == ':' && (len(p) == 2 || p[2] != '\\' && p[2] != '/') && ok && strings.EqualFold(p[:2], drive[:2]) {
		return path.Join(dir, winpath.Slashed("./"+p[2:]))
	}
	p = winpath.Slashed(p)
	if _, whole := winpath.FromSlashed(p); strings.HasPrefix(p, "/") && !strings.HasPrefix(p, "//") && !whole && ok {
		return dir[:3] + strings.TrimSuffix(p, "/")
	}
	return p
}

// isPlaceOfWindows reports whether a directory of a Windows belongs to the system, or to all users.
func isPlaceOfWindows(dir string) bool {
	native, ok := winpath.FromSlashed(dir)
	if !ok {
		return true // on another machine, or the root above the drives
	}
	first, below, _ := strings.Cut(strings.ToLower(native[3:]), `\`)
	switch first {
	case "", "windows", "program files", "program files (x86)", "programdata", "$recycle.bin", "recovery", "system volume information", "perflogs":
		return true
	case "users":
		return slices.Contains([]string{"", "public", "default", "all users"}, below)
	}
	return false
}

// secretOfWindows returns the directory of a path in which Windows keeps its own passwords and keys, or "". The
// path is folded.
func secretOfWindows(p string) string {
	for _, place := range [...]string{"Windows/System32/config", "Windows/System32/Microsoft/Protect", "ProgramData/Microsoft/Crypto", "ProgramData/ssh"} {
		if len(p) > 3 && policy.Within(p[3:], "/"+strings.ToLower(place)) {
			return "**/" + place
		}
	}
	return ""
}
