package paths

import (
	"path/filepath"
	"slices"

	"github.com/mcp-jail/mcp-jail/diagnostics/internal/facts"
	"github.com/mcp-jail/mcp-jail/policy"
)

// risk returns a warning of what a rule for an absolute path would expose, or "". A server
// may name any path in order to get it granted, so a line for such a path always comes
// with the warning.
func risk(c *facts.Case, path string, rights policy.Rights) string {
	home := c.Evidence.UserHome
	entry, _ := c.Profile.Find(path)
	writes := rights&policy.Write != 0
	switch {
	case entry.Origin == policy.OriginSensitive && entry.Kind == policy.KindSpecial:
		return hostSocket(c, path)
	case IsSensitive(c, path):
		return c.Show(path) + " is a sensitive path: the line lets the server read what it holds (keys, tokens, passwords)"
	case writes && (entry.Origin == policy.OriginProtected || isReservedFile(c, path) || c.Profile.InGitInternals(path) || policy.HasProtectedName(path)):
		return c.Show(path) + " is a protected name: programs outside of the jail run or trust what is written there"
	case path == "/":
		return "this is the whole filesystem"
	case home != "" && policy.Within(home, path):
		return "this is a whole home directory or more"
	}
	if writes {
		switch place := autorunPlace(c, path); {
		case place != "" && policy.Within(path, place):
			return "programs outside of the jail run or obey what is written to " + c.Show(path)
		case place != "":
			return c.Show(path) + " holds " + c.Show(place) + ": programs outside of the jail run or obey what is written there"
		case !inWorkspace(c, path) && systemDir(path):
			return c.Show(path) + " belongs to the system"
		}
	}
	if !inWorkspace(c, path) && isShared(c, path) {
		return c.Show(path) + " contains the files of many other programs"
	}
	return ""
}

func hostSocket(c *facts.Case, path string) string {
	return c.Show(path) + " is a socket of the host: the program that listens there is outside of the jail"
}

func inWorkspace(c *facts.Case, path string) bool {
	return c.Profile.Workspace != "" && policy.Within(path, c.Profile.Workspace)
}

// systemDir reports whether path belongs to the system. Files below /opt and /srv, and in
// much of /var, belong to other owners.
func systemDir(path string) bool {
	switch path {
	case "/opt", "/private/var", "/srv", "/var":
		return true
	}
	for _, dir := range []string{
		"/bin", "/boot", "/dev", "/etc", "/lib", "/lib64", "/proc", "/root", "/run", "/sbin", "/sys", "/usr",
		"/var/cache", "/var/lib", "/var/log", "/var/mail", "/var/run", "/var/spool", "/Applications", "/Library", "/System", "/private/etc",
	} {
		if policy.Within(path, dir) {
			return true
		}
	}
	return false
}

// autorunPaths are paths in a home that programs outside the jail run, load or obey
// without being asked. A server that writes there escapes the jail.
var autorunPaths = []string{
	// Shells, and what starts a session.
	".profile", ".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".bashrc.d", ".zshrc", ".zshenv", ".zprofile",
	".zlogin", ".zlogout", ".oh-my-zsh", ".kshrc", ".mkshrc", ".cshrc", ".tcshrc", ".login", ".logout", ".inputrc",
	".config/fish", ".config/nushell", ".config/powershell", ".config/zsh", ".config/starship.toml",
	".xinitrc", ".xprofile", ".xsession", ".xsessionrc", ".Xresources", ".pam_environment", ".config/environment.d",
	".config/autostart", ".config/autostart-scripts", ".config/plasma-workspace", ".config/systemd", ".local/share/systemd", ".config/upstart",
	".config/i3", ".config/sway", ".config/hypr", ".config/awesome", ".config/openbox",
	".local/share/applications", ".local/share/dbus-1", ".local/share/gnome-shell", ".local/share/nautilus", ".config/mimeapps.list", ".crontab",
	"Library/LaunchAgents", "Library/Application Scripts", "Library/Services",
	// Programs, and what they load.
	"bin", ".local/bin", ".local/lib", "go/bin", ".cargo/bin", ".cargo/env", ".cargo/config", ".cargo/config.toml", ".rustup", ".deno/bin", ".bun/bin",
	".npm-global", ".nvm", ".volta", ".pyenv", ".rbenv", ".asdf", ".sdkman", ".local/share/mise", ".local/share/pnpm", ".local/share/uv", ".gem", ".dotnet", ".nix-profile",
	"perl5", ".perldb", ".pythonrc", ".pdbrc", ".irbrc", ".gdbinit", ".lldbinit", ".config/gdb", ".m2", ".gradle", ".config/pip", ".pip", ".condarc",
	// Programs that start others.
	".ssh", ".gnupg", ".gitconfig", ".config/git", ".hgrc", ".vim", ".vimrc", ".config/nvim", ".emacs", ".emacs.d", ".config/emacs",
	".tmux.conf", ".config/tmux", ".screenrc", ".mailcap", ".lesskey", ".config/lesskey", ".config/direnv", ".direnvrc", ".make", ".docker",
	// Clients of MCP, and mcp-jail.
	".claude.json", ".config/Claude", ".config/goose", ".config/zed", ".config/Code", ".config/Code - Insiders", ".config/VSCodium", ".codeium",
	".config/jp", ".config/mcp-jail", ".vscode-server", "Library/Application Support/Claude", "Library/Application Support/Code", "Library/Application Support/Code - Insiders",
}

// sharedPaths are directories of a home in which many programs keep their files.
var sharedPaths = []string{".config", ".local", ".local/share", ".local/state", ".local/lib", ".cache", ".var", ".var/app", "snap", "Library", "Library/Application Support", "Library/Caches", "Library/Preferences"}

// autorunPlace returns a place that programs outside the jail run or obey, and that is
// path, contains path or is in path. It returns "" when none is known.
func autorunPlace(c *facts.Case, path string) (place string) {
	places := homePaths(c, autorunPaths)
	for _, dir := range filepath.SplitList(c.Evidence.SearchPath) {
		if filepath.IsAbs(dir) && filepath.Clean(dir) != "/" {
			places = append(places, filepath.Clean(dir))
		}
	}
	for _, p := range places {
		if policy.Within(path, p) {
			return p
		}
		if place == "" && policy.Within(p, path) {
			place = p
		}
	}
	return place
}

func isShared(c *facts.Case, dir string) bool {
	switch dir {
	case "/home", "/Users", "/Volumes", "/mnt", "/media", "/private", "/tmp", "/var/tmp", "/private/tmp":
		return true
	}
	return filepath.Dir(dir) == "/" && systemDir(dir) || slices.Contains(homePaths(c, sharedPaths), dir)
}

// homePaths returns the paths of names in the home, and the targets of those that are links: many
// users link ~/.bashrc to a file in a directory of settings.
func homePaths(c *facts.Case, names []string) (paths []string) {
	home := c.Evidence.UserHome
	if home == "" {
		return nil
	}
	for _, name := range names {
		path := filepath.Join(home, name)
		paths = append(paths, path)
		if real := c.Canonical(path); real != path {
			paths = append(paths, real)
		}
	}
	return paths
}
