package resolve

// startupFiles returns the files that a user's session, shells, tools and editors run or obey
// when they start (docs/protected.md "Protected names"). A grant of the home directory, or of a
// directory of dotfiles to which they are links, does not extend to them. Files that are
// hidden as sensitive (.ssh, .npmrc, .docker/config.json) are not repeated.
func startupFiles(os string) []string {
	list := []string{
		// Shells.
		"~/.profile", "~/.bash_profile", "~/.bash_login", "~/.bashrc", "~/.bashrc.d", "~/.bash_aliases", "~/.bash_completion", "~/.bash_logout",
		"~/.zshenv", "~/.zprofile", "~/.zshrc", "~/.zlogin", "~/.zlogout", "~/.zsh", "~/.oh-my-zsh", "~/.config/zsh", "~/.config/bash",
		"~/.kshrc", "~/.mkshrc", "~/.cshrc", "~/.tcshrc", "~/.login", "~/.logout", "~/.shrc", "~/.inputrc",
		"~/.config/fish", "~/.config/nushell", "~/.config/powershell", "~/.config/starship.toml", "~/.config/direnv", "~/.direnvrc",
		"~/.bash_completion.d", "~/.local/share/bash-completion", "~/.oh-my-bash", "~/.bash_it", "~/.zcompdump", "~/.p10k.zsh", "~/.zim", "~/.zimrc", "~/.antigen", "~/.zplug", "~/.zinit", "~/.local/share/zinit",
		"~/.fzf", "~/.fzf.bash", "~/.fzf.zsh", "~/.local/share/fish", "~/.local/share/nushell", "~/.local/share/powershell", "~/.selected_editor",
		// The session: environment, services, what starts with the desktop.
		"~/.pam_environment", "~/.environment", "~/.config/environment.d", "~/.config/systemd", "~/.local/share/systemd", "~/.local/share/dbus-1",
		"~/.config/autostart", "~/.config/autostart-scripts", "~/.config/plasma-workspace", "~/.local/share/applications",
		"~/.xprofile", "~/.xinitrc", "~/.xsession", "~/.xsessionrc", "~/.xserverrc", "~/.Xresources", "~/.Xdefaults",
		"~/.config/i3", "~/.config/sway", "~/.config/hypr", "~/.config/awesome", "~/.config/openbox", "~/.config/bspwm", "~/.config/sxhkd",
		"~/.config/labwc", "~/.config/niri", "~/.config/river", "~/.config/qtile", "~/.config/xmonad", "~/.xmonad", "~/.config/herbstluftwm", "~/.fluxbox", "~/.icewm", "~/.config/lxsession", "~/.config/uwsm", "~/.config/waybar", "~/.config/polybar",
		"~/.config/user-dirs.dirs", "~/.config/locale.conf", "~/.config/dconf", "~/.config/xfce4", "~/.config/mimeapps.list", "~/.config/wireplumber", "~/.config/pulse/default.pa", "~/.config/pulse/client.conf", "~/.asoundrc", "~/.config/vulkan", "~/.local/share/vulkan",
		"~/.local/share/gnome-shell", "~/.local/share/cinnamon", "~/.local/share/plasma", "~/.local/share/kwin", "~/.local/share/kio", "~/.local/share/thumbnailers", "~/.local/share/nautilus", "~/.local/share/nautilus-python", "~/.local/share/flatpak",
		"~/.forward", "~/.procmailrc", "~/.rhosts", "~/.shosts",
		// Programs by their names.
		"~/bin", "~/.local/bin", "~/.cargo/bin", "~/.docker/cli-plugins", "~/.local/sbin", "~/go/bin", "~/.deno/bin", "~/.bun/bin", "~/.volta", "~/.pyenv", "~/.rbenv", "~/.asdf", "~/.nvm/versions", "~/.sdkman", "~/.rustup",
		"~/.local/share/mise", "~/.local/share/fnm", "~/.local/share/pipx", "~/.npm-global", "~/.dotnet/tools", "~/.krew/bin", "~/.ghcup/bin", "~/.cabal/bin", "~/.cache/pre-commit",
		// Version control.
		"~/.gitconfig", "~/.config/git", "~/.hgrc", "~/.config/hg", "~/.config/jj", "~/.subversion", "~/.tigrc", "~/.gitk", "~/.config/lazygit",
		// Terminals and pagers.
		"~/.tmux.conf", "~/.tmux", "~/.config/tmux", "~/.byobu", "~/.config/zellij", "~/.screenrc", "~/.config/kitty", "~/.config/alacritty", "~/.config/wezterm", "~/.wezterm.lua", "~/.config/ghostty", "~/.config/foot", "~/.lesskey", "~/.lessfilter",
		// Editors.
		"~/.vimrc", "~/.gvimrc", "~/.vim", "~/.exrc", "~/.config/vim", "~/.config/nvim", "~/.local/share/nvim", "~/.ideavimrc", "~/.emacs", "~/.emacs.el", "~/.emacs.d", "~/.spacemacs", "~/.spacemacs.d", "~/.config/emacs", "~/.doom.d", "~/.config/doom",
		"~/.nanorc", "~/.config/nano", "~/.config/helix", "~/.config/kak", "~/.config/micro", "~/.config/sublime-text", "~/.config/JetBrains", "~/.config/zed",
		"~/.config/Code/User", "~/.config/Code - Insiders/User", "~/.config/VSCodium/User", "~/.config/Cursor/User", "~/.config/Windsurf/User",
		"~/.local/share/JetBrains", "~/.local/share/zed", "~/.local/share/code-server", "~/.vscode-server", "~/.vscode-oss", "~/.cursor-server", "~/.windsurf-server",
		// Languages, their package managers and debuggers.
		"~/.local/lib", "~/.config/pip", "~/.pip", "~/.condarc", "~/.config/uv", "~/.pdbrc", "~/.pythonrc", "~/.node_modules", "~/.node_libraries", "~/.yarnrc", "~/.yarnrc.yml", "~/.config/pnpm", "~/.bunfig.toml",
		"~/.cargo/env", "~/.cargo/config", "~/.cargo/config.toml", "~/.gemrc", "~/.irbrc", "~/.pryrc", "~/.Rprofile", "~/.Renviron", "~/.julia/config", "~/.iex.exs", "~/.ipython/profile_default/startup", "~/.ipython/profile_default/ipython_config.py", "~/.ipython/extensions", "~/.jupyter", "~/.local/share/jupyter/kernels", "~/.ghci", "~/.gdbinit", "~/.config/gdb", "~/.lldbinit",
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
