package naming

import (
	"path"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
)

// DefaultName returns a name for a server that is given on the command line: the base name of the
// program, script or package, and a short hash of the whole command, which keeps two servers from
// sharing a private HOME. It is always a valid server name. The hash includes the working directory
// if the line [NeedsDir].
func DefaultName(argv []string, dir string) string {
	// No argument contains a NUL, so two command lines never give one text.
	text := strings.Join(argv, "\x00")
	if NeedsDir(argv) {
		text += "\x00\x00" + dir
	}
	return sanitizeName(serverBaseName(argv)) + "-" + policy.ShortHash(text)
}

func serverBaseName(argv []string) string {
	if len(argv) == 0 {
		return "server"
	}
	program := path.Base(show.Program(argv[0]))
	var rest []string
	for i := 1; i < len(argv); i++ {
		if argv[i] == "--" {
			continue
		}
		if strings.HasPrefix(argv[i], "-") {
			// The package may be the value of an option.
			if name, ok := strings.CutPrefix(argv[i], "--package="); ok {
				rest = append(rest, name)
			}
			continue
		}
		rest = append(rest, argv[i])
	}
	switch program {
	case "npx", "uvx", "bunx", "pnpx":
		if len(rest) > 0 {
			return packageName(rest[0])
		}
	case "npm", "pnpm", "bun", "yarn", "uv", "pipx", "deno":
		if len(rest) > 1 && slices.Contains([]string{"exec", "x", "dlx", "tool", "run"}, rest[0]) {
			return packageName(rest[len(rest)-1])
		}
	case "node", "python", "python3", "java", "ruby", "php":
		if len(rest) > 0 {
			return scriptName(rest[0])
		}
	}
	return program
}

// PackageName returns the first part of the name that DefaultName gives to the server of a
// package, written with or without scope and version.
func PackageName(spec string) string {
	if strings.Trim(spec, "@/.") == "" {
		return ""
	}
	return sanitizeName(packageName(spec))
}

// packageName removes scope and version: "@scope/server-github@1.2.3" becomes
// "server-github".
func packageName(spec string) string {
	if i := strings.LastIndexByte(spec, '@'); i > 0 {
		spec = spec[:i]
	}
	spec, _, _ = strings.Cut(spec, "==")
	return path.Base(spec)
}

func scriptName(script string) string {
	base := path.Base(script)
	base = strings.TrimSuffix(base, path.Ext(base))
	if slices.Contains([]string{"index", "main", "server", "cli", "bin", "__main__"}, base) {
		dir := path.Dir(path.Clean(script))
		for dir != path.Dir(dir) && slices.Contains([]string{"dist", "build", "src", "lib", "bin", "out"}, path.Base(dir)) {
			dir = path.Dir(dir)
		}
		if name := path.Base(dir); name != "." && name != "/" && name != ".." {
			return name
		}
	}
	return base
}

func sanitizeName(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '.', r == '_', r == '-':
			return r
		}
		return '-'
	}, s)
	s = strings.Trim(s, ".-")
	if len(s) > 40 {
		s = s[:40]
	}
	if s == "" {
		return "server"
	}
	return s
}

// Identity returns a text that tells programs apart. The arguments of a program or a script do not
// change it: a user edits them, and it stays the same server. dir is the working directory; it counts
// if the line [NeedsDir]. The absolute path of a program or a script is the same server.
//
// Where an argument may be code, or name another program, the whole command line counts. So it does
// if an option precedes a script, as options of interpreters load code, too. Those that load nothing,
// such as -u of Python, do not count.
func Identity(argv []string, dir string) string {
	if len(argv) == 0 {
		return ""
	}
	name, lang := family(argv[0])
	argv = withoutHarmless(argv, lang)
	n, paths := len(argv), false // the words that count; each of them is a path
	switch {
	case n > 1 && argv[1] != "" && argv[1][0] != '-' && (policy.IsShell(name) && name != "busybox" || slices.Contains([]string{"node", "python", "ruby", "perl", "php"}, lang)):
		n, paths = 2, true
	case n > 2 && lang == "java" && argv[1] == "-jar":
		n = 3
	case !takesCode(name, lang):
		n, paths = 1, true
	}
	words := slices.Clone(argv[:n])
	if NeedsDir(argv) && !(paths && makeAbsolute(words, dir)) {
		return strings.Join(argv[:n], "\x00") + "\x00\x00" + dir
	}
	return strings.Join(words, "\x00")
}

// withoutHarmless returns a command line without the first options of an interpreter, as long as they load
// nothing. -I and -P of Python stay: with them, -m does not look in the working directory.
func withoutHarmless(argv []string, lang string) []string {
	i := 1
	for i < len(argv) && lang != "" && slices.Contains(harmless[lang], argv[i]) && !slices.Contains([]string{"-I", "-P"}, argv[i]) && !slices.Contains(valued[lang], argv[i]) {
		i++
	}
	if i == len(argv) {
		return argv
	}
	return slices.Concat(argv[:1], argv[i:])
}

// makeAbsolute puts the absolute paths into the first words of a command: its program, if that is a path, and
// its script. It reports whether it could: where ".." leads depends on links, and "~" on the user.
func makeAbsolute(words []string, dir string) bool {
	for i, w := range words {
		switch {
		case strings.HasPrefix(w, "/") || i == 0 && !strings.Contains(w, "/"):
		case !path.IsAbs(dir) || strings.HasPrefix(w, "~") || slices.Contains(strings.Split(w, "/"), ".."):
			return false
		default:
			words[i] = path.Join(dir, w)
		}
	}
	return true
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
	mcp fastmcp mcpo mcp-proxy supergateway inspector uvicorn gunicorn hypercorn flask streamlit jupyter pytest
	nodemon vite-node jiti esno pm2 concurrently cross-env env-cmd dotenv-cli
	ghci runghc scala groovy kotlin swift elixir iex mix erl racket guile sbcl tcc ld.so ld-linux-x86-64.so ld-linux.so qemu-x86_64 sqlite psql mysql`)
