package config

import (
	"path"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/policy"
)

// Identity returns a text that tells programs apart. The arguments of a program or a script do not
// change it: a user edits them, and it stays the same server. dir is the working directory; it counts
// if the program or its script is looked for there.
//
// Where an argument may be code, or name another program, the whole command line counts. So it does
// if an option precedes a script: options of interpreters load code, too.
func Identity(argv []string, dir string) string {
	n := len(argv)
	if n == 0 {
		return ""
	}
	name := strings.TrimSuffix(path.Base(argv[0]), ".exe")
	lang := policy.InterpreterFamily(name)
	switch {
	case n > 1 && argv[1] != "" && argv[1][0] != '-' && (policy.IsShell(name) && name != "busybox" || slices.Contains([]string{"node", "python", "ruby", "perl", "php"}, lang)):
		n = 2
	case n > 2 && lang == "java" && argv[1] == "-jar":
		n = 3
	case lang == "" && !policy.IsShell(name) && !slices.Contains(startsOthers, strings.TrimRight(name, "0123456789.-")):
		n = 1
	}
	text := strings.Join(argv[:n], "\x00")
	if hasRelativeCode(argv) {
		text += "\x00\x00" + dir
	}
	return text
}

// startsOthers are programs that start what their arguments name, or take code from them. The list
// cannot be complete. A program that is missing here lets a line with other arguments into its
// private HOME, and nothing else.
var startsOthers = strings.Fields(`
	env sudo doas su nice ionice nohup timeout time setsid stdbuf unbuffer xargs parallel find exec command script screen tmux watch
	uv uvx pipx pip poetry pdm hatch rye pixi conda mamba micromamba pyenv ipython
	npm npx pnpm pnpx yarn bunx volta fnm nvm nodenv corepack asdf mise rtx direnv rbenv bundle gem
	docker podman nerdctl kubectl ssh mosh make just task cargo go nix nix-shell nix-env devbox flox bazel gradle gradlew mvn mvnw sbt
	dotenv dotenvx doppler op chamber envchain infisical aws-vault vault sops
	git awk gawk mawk sed ed vi vim nvim emacs less tclsh wish expect gdb lldb strace ltrace perf socat nc ncat
	chroot unshare nsenter bwrap firejail systemd-run flatpak snap mcp-jail mcp-jail-cli cmd powershell pwsh wsl osascript open
	ghci runghc scala groovy kotlin swift elixir iex mix erl racket guile sbcl tcc ld.so ld-linux-x86-64.so ld-linux.so qemu-x86_64 sqlite psql mysql`)
