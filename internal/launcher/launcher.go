// Package launcher knows programs that an entry of a client has in front of its server. Some fetch or
// build what they run, such as go run and deno run, and mcp-jail does not do that for them. Others
// bring the secrets of the server, such as op run. It says what each does and what
// to start instead. No advice of it opens the network for a registry.
package launcher

import (
	"path"
	"slices"
	"strings"
)

// A Launcher is a program that fetches or builds what it runs.
type Launcher struct {
	Name    string // as a user calls it: "go run"
	Does    string // what it does at each start, after its name: "downloads and compiles …"
	Instead string // what to do once, in the imperative
	Local   bool   // it runs what the project has, and fetches only what that needs
	Project bool   // it has the packages of Python in an environment, which may be missing

	program  string // its file
	compiles bool
	host     string // where its program comes from, if the line says that
}

// Compiles reports whether the first start compiles, which takes time and no network.
func (l Launcher) Compiles() bool { return l.compiles }

// Refused reports whether it was the launcher, and not the server, that the jail refused a host or a
// file. program is the file that tried it, or "".
func (l Launcher) Refused(program, target string, net bool) bool {
	if !net {
		return l.program == "nix" && (target == "/nix" || strings.HasPrefix(target, "/nix/"))
	}
	host, _, _ := strings.Cut(strings.ToLower(target), ":")
	switch {
	case IsRegistry(target), l.host != "" && host == l.host:
		return true
	case l.program == "deno", l.program == "dx": // the server is the same process
		return false
	}
	return l.program != "" && path.Base(program) == l.program
}

// Of returns the launcher with which a command line begins.
func Of(argv []string) (l Launcher, ok bool) {
	if len(argv) < 2 {
		return l, false
	}
	name := strings.TrimSuffix(path.Base(strings.ReplaceAll(argv[0], `\`, "/")), ".exe")
	if l, ok = of(name, argv[1:]); !ok {
		return l, false
	}
	switch l.program = name; name {
	case "nix-shell":
		l.program = "nix"
	case "dnx":
		l.program = "dotnet"
	}
	return l, true
}

func of(name string, words []string) (l Launcher, ok bool) {
	switch name {
	case "deno", "dx":
		return deno(name, words)
	case "go":
		return goRun(words)
	case "uv":
		return project(name, words, "uv sync", ".venv/bin/%s of the project")
	case "poetry":
		return environment(name, words, "poetry install", "poetry env info --path")
	case "pdm":
		return project(name, words, "pdm install", ".venv/bin/%s of the project")
	case "rye":
		return project(name, words, "rye sync", ".venv/bin/%s of the project")
	case "pipenv":
		return environment(name, words, "pipenv install", "pipenv --venv")
	case "hatch":
		return environment(name, words, "hatch env create", "hatch env find")
	case "pixi":
		return project(name, words, "pixi install", ".pixi/envs/default/bin/%s of the project")
	case "nix", "nix-shell":
		return nix(name, words)
	case "dnx", "dotnet":
		return dotnet(name, words)
	case "cargo":
		return cargo(words)
	}
	return l, false
}

// after returns the words after a command of a program, and whether the line has it before any other
// word that is no option. valued are the options before it with a value in the next word.
func after(words []string, command string, valued ...string) (rest []string, ok bool) {
	for i := 0; i < len(words); i++ {
		switch w := words[i]; {
		case w == command:
			return words[i+1:], true
		case slices.Contains(valued, w):
			i++
		case !strings.HasPrefix(w, "-"):
			return nil, false
		}
	}
	return nil, false
}

// first returns the first word that is no option, or "".
func first(words []string, valued ...string) string {
	for i := 0; i < len(words); i++ {
		switch w := words[i]; {
		case w == "--" && i+1 < len(words):
			return words[i+1]
		case slices.Contains(valued, w):
			i++
		case w != "" && w[0] != '-':
			return w
		}
	}
	return ""
}

func deno(name string, words []string) (l Launcher, ok bool) {
	command := ""
	for _, c := range []string{"run", "x", "serve"} {
		if rest, is := after(words, c, "-L", "--log-level"); is {
			command, words, ok = " "+c, rest, true
			break
		}
	}
	if !ok && name == "deno" {
		return l, false
	}
	what := first(words, "-c", "--config", "--import-map", "--lock", "--cert", "--location", "--seed", "-p", "--package")
	l = Launcher{Name: name + command, Does: "downloads " + orWhat(what) + " and what it imports"}
	switch kind, pkg, _ := strings.Cut(what, ":"); {
	case kind == "npm" || name == "dx" && kind != "jsr", command == " x" && kind == what:
		if kind == what {
			pkg = what
		}
		l.Instead = "If the server runs on Node.js, start it with npx -y " + orWhat(strings.TrimPrefix(pkg, "/")) + ", which mcp-jail fetches once and pins; else make one program of it with deno compile, and start that"
	case kind == "jsr" || kind == "http" || kind == "https":
		l.Instead = "Make one program of it, once and with the options of the line: deno compile -o ~/.local/bin/NAME " + what + ", and start that"
		if rest, isURL := strings.CutPrefix(pkg, "//"); isURL {
			l.host, _, _ = strings.Cut(strings.ToLower(rest), "/")
			l.host, _, _ = strings.Cut(l.host, ":")
		}
	default:
		l.Local, l.Does = true, "downloads what "+orWhat(what)+" imports, unless the project has it in vendor or node_modules"
		l.Instead = "Make one program of it, once and with the options of the line: deno compile -o ~/.local/bin/NAME " + orWhat(what) + ", and start that"
	}
	return l, true
}

func orWhat(word string) string {
	if word == "" {
		return "what it runs"
	}
	return word
}

func goRun(words []string) (l Launcher, ok bool) {
	if words, ok = after(words, "run", "-C"); !ok {
		return l, false
	}
	what := first(words, "-C", "-p", "-asmflags", "-buildmode", "-buildvcs", "-compiler", "-exec", "-gccgoflags", "-gcflags", "-installsuffix", "-ldflags", "-mod", "-modfile", "-overlay", "-pgo", "-pkgdir", "-tags", "-toolexec", "-coverpkg", "-covermode")
	module, _, remote := strings.Cut(what, "@")
	if remote {
		name := path.Base(module)
		if len(name) > 1 && name[0] == 'v' && strings.Trim(name[1:], "0123456789") == "" { // a major version
			name = path.Base(path.Dir(module))
		}
		return Launcher{Name: "go run", compiles: true, Does: "downloads and compiles " + what, Instead: "Install it once: go install " + what + ", and start ~/go/bin/" + name}, true
	}
	return Launcher{Name: "go run", compiles: true, Local: true, Does: "compiles " + orWhat(what) + ", and downloads modules that it needs", Instead: "Compile it once: go build -o NAME " + orWhat(what) + ", and start the program NAME by its path"}, true
}

// project returns the launcher of an environment that a project describes. prepare makes the
// environment, and in says where its programs are.
func project(name string, words []string, prepare, in string) (l Launcher, ok bool) {
	words, ok = after(words, "run", "--directory", "--project", "-C", "-p", "--python", "-P", "--env", "-e", "--manifest-path", "--config-file", "--cache-dir")
	if !ok {
		return l, false
	}
	program := first(words, "--directory", "--project", "--with", "--with-editable", "--with-requirements", "--extra", "--group", "--only-group", "--no-group", "--env-file", "-p", "--python", "--package", "--index", "--index-url", "--default-index", "-w", "-m", "--module", "-e", "--environment", "--manifest-path")
	if strings.HasSuffix(program, ".py") || program == "" {
		program = "python"
	}
	l = Launcher{Name: name + " run", Local: true, Project: true, Does: "brings the project's environment up to date, and downloads what is missing there"}
	l.Instead = "Make the environment once: " + prepare + ", and start " + strings.Replace(in, "%s", path.Base(program), 1)
	if slices.ContainsFunc(words, func(w string) bool { return w == "-w" || strings.HasPrefix(w, "--with") }) {
		l.Local, l.Does = false, "downloads what --with names, beside the project's environment"
		l.Instead = strings.Replace(l.Instead, prepare, "add what --with names to the project ("+name+" add), then "+prepare, 1)
	}
	return l, true
}

// environment returns the launcher of an environment that lies outside of the project, in a cache of
// the user. A jail makes an empty one. where is the command that prints the directory.
func environment(name string, words []string, prepare, where string) (l Launcher, ok bool) {
	l, ok = project(name, words, prepare, "the file that `"+where+"` prints, with /bin/%s after it")
	if ok {
		l.Does = "uses an environment outside of the project, which the jail does not have, and its packages would be downloaded again"
	}
	return l, ok
}

func nix(name string, words []string) (l Launcher, ok bool) {
	if name == "nix-shell" {
		if slices.Contains(words, "--run") || slices.Contains(words, "--command") || slices.Contains(words, "-p") {
			return Launcher{Name: name, Does: "asks the Nix daemon to fetch or build what it runs", Instead: "Build it once: nix-build -o ~/.local/state/NAME, and start the program in ~/.local/state/NAME/bin"}, true
		}
		return l, false
	}
	for _, command := range []string{"run", "shell", "develop"} {
		if rest, is := after(words, command, "--option", "--extra-experimental-features", "--experimental-features"); is {
			what := first(rest, "--option", "--extra-experimental-features", "--experimental-features", "-c", "--command", "--override-input", "-f", "--file", "--expr")
			return Launcher{Name: "nix " + command, Does: "asks the Nix daemon to fetch or build " + orWhat(what), Instead: "Build it once: nix build -o ~/.local/state/NAME " + what + ", and start the program in ~/.local/state/NAME/bin"}, true
		}
	}
	return l, false
}

func dotnet(name string, words []string) (l Launcher, ok bool) {
	command := ""
	switch {
	case name == "dnx":
	case len(words) > 1 && words[0] == "tool" && (words[1] == "exec" || words[1] == "execute"):
		command, words = " tool "+words[1], words[2:]
	case words[0] == "run":
		return Launcher{Name: "dotnet run", compiles: true, Local: true, Does: "compiles the project, and downloads packages that it needs", Instead: "Publish it once: dotnet publish -o DIRECTORY, and start the program in DIRECTORY"}, true
	default:
		return l, false
	}
	what := first(words, "--version", "--add-source", "--source", "--configfile", "--framework", "-v", "--verbosity")
	pkg, version, _ := strings.Cut(what, "@")
	install := "dotnet tool install --global " + orWhat(pkg)
	if version != "" {
		install += " --version " + version
	}
	return Launcher{Name: name + command, Does: "downloads the tool " + orWhat(what) + " from NuGet", Instead: "Install it once: " + install + ", and start the program that it names in ~/.dotnet/tools"}, true
}

func cargo(words []string) (l Launcher, ok bool) {
	if len(words) > 0 && strings.HasPrefix(words[0], "+") { // the toolchain
		words = words[1:]
	}
	if _, ok = after(words, "run", "--manifest-path", "-C", "--config", "--color"); !ok {
		_, ok = after(words, "r")
	}
	return Launcher{Name: "cargo run", compiles: true, Local: true, Does: "compiles the project, and downloads crates that it needs", Instead: "Compile it once: cargo build --release, and start the program in target/release"}, ok
}

// registries are the hosts that launchers fetch packages from.
var registries = []string{
	"registry.npmjs.org", "registry.yarnpkg.com", "jsr.io", "npm.jsr.io", "deno.land", "esm.sh", "dl.deno.land", "cdn.jsdelivr.net", "unpkg.com",
	"pypi.org", "files.pythonhosted.org", "proxy.golang.org", "sum.golang.org", "goproxy.io", "goproxy.cn", "gopkg.in",
	"cache.nixos.org", "channels.nixos.org", "api.nuget.org", "www.nuget.org", "globalcdn.nuget.org",
	"crates.io", "index.crates.io", "static.crates.io", "rubygems.org", "index.rubygems.org", "repo.maven.apache.org", "repo1.maven.org",
}

// IsRegistry reports whether launchers fetch packages from a host. A port may follow its name.
func IsRegistry(host string) bool {
	host, _, _ = strings.Cut(strings.ToLower(host), ":")
	return slices.Contains(registries, strings.TrimSuffix(host, "."))
}

// keepers are programs that give the server secrets, each with the command that prints one of them.
var keepers = map[string][]string{
	"op":         {"op", "read", "op://VAULT/ITEM/FIELD"},
	"doppler":    {"doppler", "secrets", "get", "NAME", "--plain"},
	"infisical":  {"infisical", "secrets", "get", "NAME", "--plain", "--silent"},
	"aws-vault":  {"aws-vault", "exec", "PROFILE", "--", "printenv", "NAME"},
	"chamber":    {"chamber", "read", "--quiet", "SERVICE", "KEY"},
	"envchain":   {"envchain", "NAMESPACE", "printenv", "NAME"},
	"gopass":     {"gopass", "show", "--password", "ENTRY"},
	"direnv":     {"direnv", "exec", "DIRECTORY", "printenv", "NAME"},
	"dotenvx":    {"dotenvx", "get", "NAME"},
	"sops":       {"sops", "decrypt", "--extract", `["NAME"]`, "FILE"},
	"secretspec": {"secretspec", "get", "NAME"},
	"phase":      {"phase", "secrets", "get", "NAME"},
	"vlt":        {"vlt", "secrets", "get", "--plaintext", "NAME"},
}

// SecretCommand returns the command that prints one secret of a program that gives the server its
// secrets, with words to replace in capitals; nil if it is not known.
func SecretCommand(program string) []string {
	program, _, _ = strings.Cut(program, " ")
	return keepers[program]
}
