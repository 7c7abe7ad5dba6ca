package wrapper

import (
	"path"
	"slices"
	"strings"
)

// A Launcher is a program that fetches, builds or looks up what the server needs, and then starts the
// server.
type Launcher struct {
	Name    string // as a user calls it, with its command: "go run"
	Package bool   // it fetches a package from a registry; the others compile, or have a project or secrets
	Does    string // what it does at each start, after its name
	Instead string // what to do once, in the imperative
	Local   bool   // it runs what the project has, and fetches only what that needs
	// Secret is the command that prints one secret of a program which gives the server its secrets, with
	// words to replace in capitals.
	Secret []string

	fetches string // of a local one: it fetches at each start if a word has this in it
}

const (
	useNpx       = "Start the package with npx -y PACKAGE, which mcp-jail fetches once and pins"
	useUvx       = "Start the package with uvx PACKAGE, which mcp-jail fetches once and pins"
	compile      = "compiles what it runs, and downloads what is missing for that"
	fetchPackage = "downloads its package"
	findsTool    = "looks for a version of a tool in your home folder"
)

// launchers are the programs of docs/packages.md, "What mcp-jail does not download", after the four that it
// replaces.
var launchers = []Launcher{
	{Name: "npx", Package: true, Does: fetchPackage, Instead: useNpx},
	{Name: "npm exec", Package: true, Does: fetchPackage, Instead: useNpx},
	{Name: "npm x", Package: true, Does: fetchPackage, Instead: useNpx},
	{Name: "uvx", Package: true, Does: fetchPackage, Instead: useUvx},
	{Name: "uv tool run", Package: true, Does: fetchPackage, Instead: useUvx},

	{Name: "bunx", Package: true, Does: fetchPackage, Instead: useNpx},
	{Name: "bun x", Package: true, Does: fetchPackage, Instead: useNpx},
	{Name: "pnpx", Package: true, Does: fetchPackage, Instead: useNpx},
	{Name: "pnpm dlx", Package: true, Does: fetchPackage, Instead: useNpx},
	{Name: "yarn dlx", Package: true, Does: fetchPackage, Instead: useNpx},
	{Name: "pipx run", Package: true, Does: fetchPackage, Instead: useUvx},

	{Name: "go run", Local: true, fetches: "@", Does: compile,
		Instead: "Compile it once: go install MODULE@VERSION or go build, and start the program by its path"},
	{Name: "cargo run", Local: true, Does: compile,
		Instead: "Compile it once: cargo build --release, and start the program in target/release"},
	{Name: "dnx", Does: "downloads a tool from NuGet",
		Instead: "Install it once: dotnet tool install --global TOOL, and start the program in ~/.dotnet/tools"},
	{Name: "deno run", Local: true, fetches: ":", Does: "downloads what it runs and what that imports",
		Instead: "Make one program of it once: deno compile -o ~/.local/bin/NAME, and start that; a package of npm starts with npx -y"},
	{Name: "nix run", Does: "asks the Nix daemon to fetch or build what it runs",
		Instead: "Build it once: nix build -o ~/.local/state/NAME, and start the program in ~/.local/state/NAME/bin"},
	{Name: "uv run", Local: true, fetches: "--with", Does: "brings the project's environment up to date, and downloads what is missing there",
		Instead: "Make the environment once: uv sync, and start .venv/bin/PROGRAM of the project"},
	{Name: "poetry run", Local: true, Does: "uses an environment outside the project, which the jail does not have",
		Instead: "Make the environment once: poetry install, and start the program below the directory that poetry env info --path prints"},

	{Name: "mise exec", Local: true, fetches: "@", Does: findsTool, Instead: "Write the path that mise which PROGRAM prints in place of the program"},
	{Name: "mise x", Local: true, fetches: "@", Does: findsTool, Instead: "Write the path that mise which PROGRAM prints in place of the program"},
	{Name: "fnm exec", Local: true, Does: findsTool, Instead: "Write the path that fnm exec which node prints in place of node"},

	{Name: "supergateway --stdio", Local: true, Does: "starts the server by a shell and offers it at a port", Instead: "Write the command of --stdio itself: a client of this file needs no port"},

	{Name: "op run", Secret: []string{"op", "read", "op://VAULT/ITEM/FIELD"}},
	{Name: "doppler run", Secret: []string{"doppler", "secrets", "get", "NAME", "--plain"}},
	{Name: "infisical run", Secret: []string{"infisical", "secrets", "get", "NAME", "--plain", "--silent"}},
	{Name: "aws-vault exec", Secret: []string{"aws-vault", "exec", "PROFILE", "--", "printenv", "NAME"}},
	{Name: "sops exec-env", Secret: []string{"sops", "decrypt", "--extract", `["NAME"]`, "FILE"}},
}

// LauncherOf returns the launcher with which a command line begins.
func LauncherOf(argv []string) (l Launcher, ok bool) {
	if len(argv) == 0 {
		return l, false
	}
	name := ProgramName(argv[0])
	for _, l := range launchers {
		program, command, _ := strings.Cut(l.Name, " ")
		if program != name || !hasCommand(argv[1:], command) {
			continue
		}
		if l.fetches != "" && slices.ContainsFunc(argv[1:], func(w string) bool { return strings.Contains(w, l.fetches) }) {
			l.Local = false
		}
		return l, true
	}
	return l, false
}

// hasCommand reports whether words begin with the words of a command. Options may be before it, each with a
// value in the next word.
func hasCommand(words []string, command string) bool {
	for i := range words {
		if startsWith(words[i:], command) {
			return true
		}
		if !isOption(words[i]) && (i == 0 || !isOption(words[i-1])) {
			return false
		}
	}
	return command == ""
}

func startsWith(words []string, command string) bool {
	for part := range strings.FieldsSeq(command) {
		if len(words) == 0 || words[0] != part {
			return false
		}
		words = words[1:]
	}
	return true
}

func isOption(word string) bool { return len(word) > 1 && word[0] == '-' }

// Two of the places where programs have the server started.
const (
	InContainer = "in a container"
	AsOther     = "as another user" // where no program in a jail can start another one
	outside     = "outside of every jail"
)

// carriers are programs that have another process start the server, and where. It is then no child of
// mcp-jail, which confines the program alone.
var carriers = map[string]string{
	"docker": InContainer, "docker-compose": InContainer, "podman": InContainer, "nerdctl": InContainer, "kubectl": "in a cluster",
	"toolbox": InContainer, "distrobox": InContainer, "distrobox-enter": InContainer, "lxc": InContainer, "incus": InContainer, "machinectl": InContainer,
	"flatpak-spawn": outside, "host-spawn": outside, "distrobox-host-exec": outside, "systemd-run": outside, "ssh": "on another machine", "wsl": "in another system of this machine", "sudo": AsOther, "su": AsOther, "doas": AsOther,
}

// Elsewhere returns the program of a command line that has another process start the server, and where:
// "in a container". where is "" for every other line.
func Elsewhere(argv []string) (program, where string) {
	if line, _ := Unwrap(argv); len(line.Inner) > 0 {
		program = ProgramName(line.Inner[0])
	}
	return program, carriers[program]
}

// maxWrapped is how many wrappers may be around a command line.
const maxWrapped = 4

// Unwrap takes the wrappers off a command line, and the shells that run one simple command. Inner is the
// command line that is left, and Own are the words that have to stay in front of its program. With an
// error, an [*Error], Inner is the line of the wrapper that is not understood.
func Unwrap(argv []string) (all line, err error) {
	all.Inner = argv
	for range maxWrapped {
		if len(all.Inner) == 0 {
			return all, nil
		}
		name := ProgramName(all.Inner[0])
		var l line
		switch {
		case Is(name):
			l, err = Parse(name, all.Inner)
		case isShell(name):
			l, err = shell(all.Inner)
		case name == "cmd":
			l, err = windowsShell(all.Inner)
		default:
			return all, nil
		}
		if err != nil || len(l.Inner) == 0 {
			return all, err
		}
		all.around(l)
	}
	if len(all.Inner) > 0 && Wraps(all.Inner[0]) {
		return all, &Error{all.Inner[0], "there are too many wrappers around it"}
	}
	return all, nil
}

// around adds a line between the others.
func (all *line) around(l line) {
	all.Set, all.Unset = append(all.Set, l.Set...), append(all.Unset, l.Unset...)
	switch {
	case l.Dir == "":
	case all.Dir == "" || isAbsolute(l.Dir):
		all.Dir = l.Dir
	default:
		all.Dir = path.Join(all.Dir, l.Dir)
	}
	if !l.Plain {
		all.Own = append(all.Own, l.Own...)
	}
	all.Inner = l.Inner
}

// Wraps reports whether a program is a wrapper or a shell.
func Wraps(program string) bool {
	name := ProgramName(program)
	return Is(name) || isShell(name) || name == "cmd"
}

// ProgramName returns the name of a program without its directory and the ending that Windows knows. It is
// "" for a relative path: that is a file of the working directory, which need not be what it is called.
func ProgramName(word string) string {
	name := word[strings.LastIndexByte(word, '/')+1:]
	if isWindowsPath(word) {
		name = name[strings.LastIndexByte(name, '\\')+1:]
	} else if len(name) < len(word) && word[0] != '/' || strings.Contains(word, `\`) {
		return ""
	}
	for _, ending := range [...]string{".exe", ".cmd", ".ps1", ".bat"} {
		if n := len(name) - len(ending); n > 0 && strings.EqualFold(name[n:], ending) {
			return strings.ToLower(name[:n])
		}
	}
	return name
}

func isAbsolute(name string) bool { return strings.HasPrefix(name, "/") || isWindowsPath(name) }

func isWindowsPath(word string) bool {
	if len(word) < 3 {
		return false
	}
	letter := word[0] | 0x20
	drive := letter >= 'a' && letter <= 'z' && word[1] == ':' && (word[2] == '\\' || word[2] == '/')
	return drive || strings.HasPrefix(word, `\\`)
}
