package places

import "slices"

// A DecidingGroup is a group of paths that decide what runs outside of the jail.
type DecidingGroup struct {
	Risk  string // what runs or obeys them: the end of a sentence that begins with the path
	Paths []string
}

// DecidingFiles returns the files that a user's session, shells, tools and editors run or obey
// when they start, the programs that they start by name, and the stores and caches from which
// package managers install (docs/protected.md "Protected names"). A grant of the home directory, or
// of a directory of dotfiles to which they are links, does not extend to them. Files that are
// hidden as sensitive (.ssh, .npmrc, .docker/config.json) are not repeated. The directories of
// version managers for node and python are in [hostfs.Host.VersionManagers].
func DecidingFiles(os string) []DecidingGroup {
	list := slices.Concat([]DecidingGroup{
		{"shells run it when they start", []string{ // Shells
			"~/.profile", "~/.bash_profile", "~/.bash_login", "~/.bashrc", "~/.bashrc.d", "~/.bash_aliases", "~/.bash_completion", "~/.bash_logout",
			"~/.zshenv", "~/.zprofile", "~/.zshrc", "~/.zlogin", "~/.zlogout", "~/.zsh", "~/.oh-my-zsh", "~/.config/zsh", "~/.config/bash",
			"~/.kshrc", "~/.mkshrc", "~/.cshrc", "~/.tcshrc", "~/.login", "~/.logout", "~/.shrc", "~/.inputrc",
			"~/.config/fish", "~/.config/nushell", "~/.config/powershell", "~/.config/starship.toml", "~/.config/direnv", "~/.direnvrc",
			"~/.bash_completion.d", "~/.local/share/bash-completion", "~/.oh-my-bash", "~/.bash_it", "~/.zcompdump", "~/.p10k.zsh", "~/.zim", "~/.zimrc", "~/.antigen", "~/.zplug", "~/.zinit", "~/.local/share/zinit",
			"~/.fzf", "~/.fzf.bash", "~/.fzf.zsh", "~/.local/share/fish", "~/.local/share/nushell", "~/.local/share/powershell", "~/.selected_editor",
			"~/.zshenv.zwc", "~/.zprofile.zwc", "~/.zshrc.zwc", "~/.zlogin.zwc", "~/.zlogout.zwc", "~/.zfunc", "~/.zcompdump.zwc", "~/.local/share/zsh", "~/.cache/zsh", "~/.config/bash_completion", "~/.local/share/direnv", "~/.config/atuin", "~/.config/carapace", "~/.config/zoxide", "~/.config/thefuck",
			"~/.zprezto", "~/.zpreztorc", "~/.cache/fish", "~/.cache/oh-my-zsh", "~/.local/state/mise", "~/.rvmrc", // plugins and completions that a shell reads; what mise trusts; rvm runs .rvmrc
		}},
		{"the session of the user starts it or obeys it", []string{ // The session: environment, services, what starts with the desktop
			"~/.pam_environment", "~/.environment", "~/.config/environment.d", "~/.config/systemd", "~/.local/share/systemd", "~/.local/share/dbus-1",
			"~/.config/autostart", "~/.config/autostart-scripts", "~/.config/plasma-workspace", "~/.local/share/applications",
			"~/.xprofile", "~/.xinitrc", "~/.xsession", "~/.xsessionrc", "~/.xserverrc", "~/.Xresources", "~/.Xdefaults",
			"~/.config/i3", "~/.config/sway", "~/.config/hypr", "~/.config/awesome", "~/.config/openbox", "~/.config/bspwm", "~/.config/sxhkd",
			"~/.config/labwc", "~/.config/niri", "~/.config/river", "~/.config/qtile", "~/.config/xmonad", "~/.xmonad", "~/.config/herbstluftwm", "~/.fluxbox", "~/.icewm", "~/.config/lxsession", "~/.config/uwsm", "~/.config/waybar", "~/.config/polybar",
			"~/.config/user-dirs.dirs", "~/.config/locale.conf", "~/.config/dconf", "~/.config/xfce4", "~/.config/mimeapps.list", "~/.config/wireplumber", "~/.config/pulse/default.pa", "~/.config/pulse/client.conf", "~/.asoundrc", "~/.config/vulkan", "~/.local/share/vulkan",
			"~/.local/share/gnome-shell", "~/.local/share/cinnamon", "~/.local/share/plasma", "~/.local/share/kwin", "~/.local/share/kio", "~/.local/share/thumbnailers", "~/.local/share/nautilus", "~/.local/share/nautilus-python", "~/.local/share/flatpak",
			"~/.forward", "~/.procmailrc", "~/.rhosts", "~/.shosts",
			"~/.config/mpv", "~/.config/vlc", "~/.config/google-chrome", "~/.config/google-chrome-beta", "~/.config/google-chrome-unstable", "~/.config/microsoft-edge", "~/.config/vivaldi", "~/.config/opera", // what a browser's extensions start by name (NativeMessagingHosts)
			"~/.config/containers",                                                                                                                                                                                           // containers.conf(5) names the runtime and its hooks; podman-systemd.unit(5): systemd starts what containers/systemd has
			"~/.config/khotkeysrc", "~/.config/kglobalshortcutsrc", "~/.config/pipewire", "~/.local/share/wireplumber", "~/.config/dunst", "~/.config/autorandr", "~/.xbindkeysrc", "~/.config/espanso", "~/.config/autokey", // they start a program at a key, an event or the login
			"~/.config/Thunar", "~/.local/share/nemo", "~/.local/share/Steam", // actions of file managers
			"~/.acme.sh", "~/.config/borgmatic", "~/.config/chezmoi", "~/.local/share/chezmoi", // what a crontab or the user starts without looking: renewals, backups, dotfiles
		}},
		{ProgramsRisk, []string{ // Programs by their names
			"~/bin", "~/.local/bin", "~/.docker/cli-plugins", "~/.local/sbin", "~/.cargo/bin", "~/go/bin", "~/.rbenv", "~/.sdkman", "~/.rustup",
			"~/.local/share/pipx", "~/.npm-global", "~/.dotnet", "~/.krew/bin", "~/.ghcup/bin", "~/.cabal/bin",
			"~/.bun", "~/.deno", "~/.yarn", "~/.config/yarn", "~/.local/share/pnpm", "~/.pnpm", "~/.npm-packages", "~/.local/share/uv", "~/.local/share/rtx", "~/.rye", "~/.pixi", "~/.proto", "~/.goenv", "~/.jenv", "~/.phpenv", "~/.plenv", "~/perl5", "~/.rvm", "~/.gem", "~/.local/share/gem", "~/.composer/vendor", "~/.config/composer", "~/.luarocks", "~/.opam", "~/.local/share/gh",
			"~/.nix-profile", "~/.nix-defexpr", "~/.nix-channels", "~/.config/nix", "~/.config/nixpkgs", "~/.config/home-manager", "~/.local/state/nix", "~/.local/state/home-manager", "~/.guix-profile", "~/.config/guix", "~/.linuxbrew", "~/.conda", "~/miniconda3", "~/anaconda3", "~/miniforge3", "~/mambaforge", "~/micromamba",
			"~/.local/share/claude", "~/.local/share/cursor-agent", "~/.local/share/opencode", "~/.local/share/goose", "~/.local/share/amazon-q", "~/.local/share/kiro-cli", "~/.lmstudio/bin", "~/.lmstudio/extensions", "~/Applications", // programs of MCP clients
			"~/.virtualenvs", "~/.venv", "~/.poetry", "~/.local/share/pypoetry", "~/.local/pipx", // virtualenvwrapper runs its hooks there, the installers of poetry and pipx put these themselves there
			"~/.julia/juliaup",
		}},
	}, filesOfTools())
	if os == "darwin" {
		list = append(list, macFiles()...)
	}
	return list
}

func filesOfTools() []DecidingGroup {
	return []DecidingGroup{
		{"version control starts the programs that it names", []string{ // Version control
			"~/.gitconfig", "~/.config/git", "~/.hgrc", "~/.config/hg", "~/.config/jj", "~/.subversion", "~/.tigrc", "~/.gitk", "~/.config/lazygit",
		}},
		{"terminals and pagers obey it", []string{ // Terminals and pagers
			"~/.tmux.conf", "~/.tmux", "~/.config/tmux", "~/.byobu", "~/.config/zellij", "~/.screenrc", "~/.config/kitty", "~/.config/alacritty", "~/.config/wezterm", "~/.wezterm.lua", "~/.config/ghostty", "~/.config/foot", "~/.lesskey", "~/.lessfilter",
			"~/.tmuxinator", "~/.config/tmuxinator", "~/.config/terminator", "~/.local/share/konsole", "~/.config/bat", "~/.muttrc", "~/.mutt", "~/.config/mutt", "~/.neomuttrc", "~/.config/neomutt",
		}},
		{"editors run it when they start", []string{ // Editors
			"~/.vimrc", "~/.gvimrc", "~/.vim", "~/.exrc", "~/.config/vim", "~/.config/nvim", "~/.local/share/nvim", "~/.ideavimrc", "~/.emacs", "~/.emacs.el", "~/.emacs.d", "~/.spacemacs", "~/.spacemacs.d", "~/.config/emacs", "~/.doom.d", "~/.config/doom",
			"~/.nanorc", "~/.config/nano", "~/.config/helix", "~/.config/kak", "~/.config/micro", "~/.config/sublime-text", "~/.config/JetBrains", "~/.config/zed",
			"~/.config/Code/User", "~/.config/Code - Insiders/User", "~/.config/VSCodium/User", "~/.config/Cursor/User", "~/.config/Windsurf/User", "~/.var/app/com.visualstudio.code/config/Code/User", "~/.var/app/com.vscodium.codium/config/VSCodium/User",
			"~/.local/share/JetBrains", "~/.local/share/zed", "~/.local/share/code-server", "~/.vscode-server", "~/.vscode-oss", "~/.cursor-server", "~/.windsurf-server",
			"~/.config/Antigravity/User", "~/.config/Trae/User", "~/.config/Kiro/User", "~/.antigravity", "~/.trae", "~/.vscode-insiders", "~/.vscode-server-insiders", "~/.vscodium-server", "~/.antigravity-server", "~/.trae-server", "~/.cache/nvim", // vim.loader runs what .cache/nvim has
		}},
		{"interpreters, build tools and debuggers obey it", []string{ // Languages, their package managers and debuggers
			"~/.local/lib", "~/.local/etc/npmrc", "~/.config/pip", "~/.pip", "~/.condarc", "~/.config/uv", "~/.pdbrc", "~/.pythonrc", "~/.node_modules", "~/.node_libraries", "~/.yarnrc", "~/.yarnrc.yml", "~/.config/pnpm", "~/.bunfig.toml",
			"~/.cargo/env", "~/.cargo/config", "~/.cargo/config.toml", "~/.gemrc", "~/.irbrc", "~/.pryrc", "~/.Rprofile", "~/.Renviron", "~/.julia/config", "~/.iex.exs", "~/.ipython/profile_default/startup", "~/.ipython/profile_default/ipython_config.py", "~/.ipython/extensions", "~/.jupyter", "~/.local/share/jupyter/kernels", "~/.ghci", "~/.gdbinit", "~/.config/gdb", "~/.lldbinit",
			"~/.config/go", "~/.gradle/init.gradle", "~/.gradle/init.d", "~/.gradle/gradle.properties", "~/.m2/settings.xml", "~/.sbt",
			"~/.asdfrc", "~/.tool-versions", "~/.config/mise", "~/.sqliterc", "~/.psqlrc", "~/.my.cnf", "~/.curlrc", "~/.config/curlrc", "~/.wgetrc", "~/.mailcap", "~/.ansible.cfg", "~/.terraformrc",
			"~/.ansible", "~/.scons", "~/.cmake", "~/.bazelrc", "~/.rpmmacros", "~/.latexmkrc", "~/.ccache", "~/.config/ccache", "~/.config/pypoetry", "~/.config/pdm", "~/.config/hatch", // plugins of ansible; site_scons; what find_package runs; scripts that tools read
			"~/.node-version", "~/.nvmrc", "~/.python-version", "~/.ruby-version", "~/.java-version", "~/.go-version", "~/.terraform-version", "~/.sdkmanrc", "~/.prototools", "~/.mise.toml", "~/mise.toml", // version managers look for it in each directory above a project
			"~/.gdbearlyinit", "~/.perldb",
		}},
		{PackagesRisk, []string{
			"~/.npm", "~/.cache/pip", "~/.cache/uv", "~/.cache/pipx", "~/.cache/yarn", "~/.cache/pnpm", "~/.cache/deno", "~/.cache/node", "~/.cache/node-gyp", "~/.cache/go-build", "~/.cache/pre-commit", "~/.cache/ms-playwright", "~/.cache/puppeteer", "~/.cache/electron",
			"~/.cargo/registry", "~/.cargo/git", "~/go/pkg", "~/.m2/repository", "~/.gradle/caches", "~/.gradle/wrapper", "~/.nuget", "~/.pub-cache", "~/.hex", "~/.mix", "~/.ivy2", "~/.cache/coursier", "~/.stack", "~/.cabal/packages", "~/.local/share/virtualenv", "~/.local/share/virtualenvs", "~/.cache/pypoetry",
			"~/.local/share/containers", "~/.julia/packages", "~/.julia/compiled", "~/.cache/ccache", "~/.cache/sccache", "~/.cache/bazel",
		}},
	}
}

const (
	ProgramsRisk = "shells and MCP clients start programs from there"
	PackagesRisk = "package managers install and run what is there" // the risk of stores and caches
)

// ClientFiles returns the configurations of the supported clients. A server that could
// write one would choose what the client starts next. Those of editors are among the
// DecidingFiles.
func ClientFiles(os string) []string {
	list := []string{
		"~/.claude.json", "~/.claude", "~/.cursor/mcp.json", "~/.codex/config.toml", "~/.gemini/settings.json", "~/.mcp.json",
		"~/.config/Claude/claude_desktop_config.json", "~/.config/goose/config.yaml", "~/.config/jp", "~/.codeium/windsurf/mcp_config.json", "~/.codeium/mcp_config.json", "~/.cache/lm-studio/mcp.json",
		"~/.qwen", "~/.copilot", "~/.config/opencode", "~/.config/crush", "~/.local/share/crush", "~/.config/kilo", "~/.kiro", "~/.lmstudio/mcp.json", "~/.continue", "~/.junie", "~/.cline", "~/.aws/amazonq", "~/.warp",
	}
	if os == "darwin" {
		list = append(list, support+"Claude/claude_desktop_config.json", support+"goose", support+"jp", support+"Code/User/mcp.json", support+"Cursor/User/mcp.json", support+"Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json")
	}
	return list
}
