package policy

// startupFiles are what a user's own session, shells, tools and editors run or obey
// when they start: docs/policy.md "Protected names". A grant of the home directory, or of
// the directory of dotfiles that these are links into, does not extend to them. What is
// hidden as sensitive (.ssh, .npmrc, .docker/config.json) is not repeated.
func startupFiles(os string) []string {
	list := []string{
		// Shells.
		"~/.profile", "~/.bash_profile", "~/.bash_login", "~/.bashrc", "~/.bashrc.d", "~/.bash_aliases", "~/.bash_completion", "~/.bash_logout",
		"~/.zshenv", "~/.zprofile", "~/.zshrc", "~/.zlogin", "~/.zlogout", "~/.zsh", "~/.oh-my-zsh", "~/.config/zsh", "~/.config/bash",
		"~/.kshrc", "~/.mkshrc", "~/.cshrc", "~/.tcshrc", "~/.login", "~/.logout", "~/.shrc", "~/.inputrc",
		"~/.config/fish", "~/.config/nushell", "~/.config/powershell", "~/.config/starship.toml", "~/.config/direnv", "~/.direnvrc",
		// The session: environment, services, what starts with the desktop.
		"~/.pam_environment", "~/.environment", "~/.config/environment.d", "~/.config/systemd", "~/.local/share/systemd", "~/.local/share/dbus-1",
		"~/.config/autostart", "~/.config/autostart-scripts", "~/.config/plasma-workspace", "~/.local/share/applications",
		"~/.xprofile", "~/.xinitrc", "~/.xsession", "~/.xsessionrc", "~/.xserverrc", "~/.Xresources", "~/.Xdefaults",
		"~/.config/i3", "~/.config/sway", "~/.config/hypr", "~/.config/awesome", "~/.config/openbox", "~/.config/bspwm", "~/.config/sxhkd",
		"~/.forward", "~/.procmailrc", "~/.rhosts", "~/.shosts",
		// Programs by their names.
		"~/bin", "~/.local/bin", "~/.cargo/bin", "~/.docker/cli-plugins",
		// Version control.
		"~/.gitconfig", "~/.config/git", "~/.hgrc", "~/.config/hg", "~/.config/jj", "~/.subversion",
		// Terminals and pagers.
		"~/.tmux.conf", "~/.config/tmux", "~/.screenrc", "~/.config/kitty", "~/.config/alacritty", "~/.config/wezterm", "~/.wezterm.lua", "~/.config/ghostty", "~/.config/foot", "~/.lesskey", "~/.lessfilter",
		// Editors.
		"~/.vimrc", "~/.gvimrc", "~/.vim", "~/.exrc", "~/.config/vim", "~/.config/nvim", "~/.local/share/nvim", "~/.ideavimrc", "~/.emacs", "~/.emacs.d", "~/.config/emacs", "~/.doom.d", "~/.config/doom",
		"~/.nanorc", "~/.config/nano", "~/.config/helix", "~/.config/kak", "~/.config/micro", "~/.config/sublime-text", "~/.config/JetBrains", "~/.config/zed",
		"~/.config/Code/User", "~/.config/Code - Insiders/User", "~/.config/VSCodium/User", "~/.config/Cursor/User", "~/.config/Windsurf/User",
		"~/.vscode-server", "~/.vscode-oss", "~/.cursor-server", "~/.windsurf-server",
		// Languages, their package managers and debuggers.
		"~/.local/lib", "~/.config/pip", "~/.pip", "~/.condarc", "~/.config/uv", "~/.pdbrc", "~/.pythonrc", "~/.node_modules", "~/.node_libraries", "~/.yarnrc", "~/.yarnrc.yml", "~/.config/pnpm", "~/.bunfig.toml",
		"~/.cargo/env", "~/.cargo/config", "~/.cargo/config.toml", "~/.gemrc", "~/.irbrc", "~/.pryrc", "~/.Rprofile", "~/.ghci", "~/.gdbinit", "~/.config/gdb", "~/.lldbinit",
		"~/.config/go", "~/.gradle/init.gradle", "~/.gradle/init.d", "~/.gradle/gradle.properties", "~/.m2/settings.xml", "~/.sbt",
		"~/.nvm/nvm.sh", "~/.asdfrc", "~/.tool-versions", "~/.config/mise", "~/.sqliterc", "~/.psqlrc", "~/.my.cnf", "~/.curlrc", "~/.config/curlrc", "~/.wgetrc", "~/.mailcap", "~/.ansible.cfg", "~/.terraformrc",
	}
	if os == "darwin" {
		support := "~/Library/Application Support/"
		list = append(list, "~/Library/LaunchAgents", "~/Library/Services", "~/Library/Scripts", "~/Library/Application Scripts", "~/Library/Input Methods", "~/Library/QuickLook",
			support+"Code/User", support+"Code - Insiders/User", support+"VSCodium/User", support+"Cursor/User", support+"Windsurf/User", support+"JetBrains", support+"Sublime Text", support+"iTerm2/Scripts", support+"nushell")
	}
	return list
}
