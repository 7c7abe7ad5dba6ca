package runline

import (
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/show"
)

// npx parses the words after npx. npx reads options up to the first other word, and passes
// everything after that word on unread. Where npx does not know whether an option has a
// value, it takes the next word for the value; this package refuses such a line.
func (p *parser) npx() error {
	p.line.Launcher = Npx
	words := p.words
	for len(words) > 0 && strings.HasPrefix(words[0], "-") {
		word := words[0]
		words = words[1:]
		if word == "--" {
			break
		}
		used, err := p.npmWord(word, words, true)
		if err != nil {
			return err
		}
		words = words[used:]
	}
	return p.npmProgram(words)
}

// npmExec parses the words after npm. npm reads options everywhere up to "--".
func (p *parser) npmExec() error {
	p.line.Launcher = NpmExec
	words := p.words
	var rest []string
	for len(words) > 0 {
		word := words[0]
		words = words[1:]
		if word == "--" {
			rest = append(rest, words...)
			break
		}
		if word == "" || word[0] != '-' || word == "-" {
			if rest = append(rest, word); rest[0] != "exec" && rest[0] != "x" {
				return ErrNotLauncher
			}
			continue
		}
		used, err := p.npmWord(word, words, false)
		if err != nil {
			return err
		}
		words = words[used:]
	}
	if len(rest) == 0 || rest[0] != "exec" && rest[0] != "x" {
		return ErrNotLauncher
	}
	return p.npmProgram(rest[1:])
}

func (p *parser) npmWord(word string, after []string, npx bool) (used int, err error) {
	name, value, hasValue := strings.Cut(word, "=")
	o := npmOption(strings.TrimLeft(name, "-"))
	// npm's parser splits -abc into letters, or takes -word for --word: both are refused.
	if long := strings.HasPrefix(name, "--"); long != (len(strings.TrimLeft(name, "-")) > 1) || strings.HasPrefix(name, "---") {
		return 0, p.bad(word, "a single hyphen has a single letter after it, and two have a word")
	}
	next := ""
	if len(after) > 0 {
		next = after[0]
	}
	switch name {
	case "-p":
		if !npx {
			return 0, p.bad(word, "npm exec takes -p for --parseable; --package names a package")
		}
		o = option{name: "package", use: pkg, value: true}
	case "-n", "--no":
		if npx && name == "-n" {
			return 0, p.bad(word, "npx drops it, and the next word with it")
		}
	case "--no-install", "--ignore-existing":
		if !npx {
			return 0, p.bad(word, "only npx has this option")
		}
	}
	switch {
	case o.use == refused || o.use == unknown:
		return 0, p.apply(o, word, "")
	case hasValue && !o.value:
		return 0, p.bad(word, "it has no value")
	case hasValue:
		return 0, p.apply(o, word, value)
	case !o.value:
		negated := strings.HasPrefix(name, "--no") && name != "--no-install"
		if npx && negated && next != "" && next[0] != '-' {
			return 0, p.bad(word, "npx takes the next word, "+show.Abbreviate(next)+", for its value. Write it before another option, or \"--\" after it")
		}
		if !npx && (next == "true" || next == "false" || next == "null") {
			return 0, p.bad(next, "npm takes it for the value of "+word)
		}
		return 0, p.apply(o, word, "")
	case next == "" || next[0] == '-':
		return 0, p.bad(word, "its value is missing, or begins with a hyphen")
	}
	return 1, p.apply(o, word, next)
}

func (p *parser) npmProgram(words []string) error {
	l := &p.line
	if l.Call == "" {
		if err := p.program(words); err != nil {
			return err
		}
		if !l.named && l.Packages[0].Kind == File && absolute(words[0]) {
			return p.bad(words[0], "npx executes such a file itself. --package=FILE PROGRAM installs it")
		}
		return nil
	}
	if len(words) > 0 {
		return p.bad(words[0], "--call and a program exclude each other")
	}
	if !l.named {
		return p.bad(l.Call, "--call without --package runs a command of this machine")
	}
	parts, assignments, part, why := splitShell(l.Call)
	switch {
	case why != "":
		return p.bad(part, why+". Only a --call whose words need no shell is taken apart")
	case assignments > 0 || len(parts) == 0 || keyword(parts[0]):
		return p.bad(l.Call, "this --call is not a program with arguments")
	}
	return p.program(parts)
}

// npmOption returns what npm and npx know of an option, by its name without hyphens. Only
// options are listed that npm 7 to 11 read in the same way.
func npmOption(name string) option {
	switch name {
	case "y", "yes":
		return option{name: "yes", use: yes}
	case "n", "no", "no-yes", "no-install":
		return option{name: "no-install", use: noInstall}
	case "package":
		return option{name: "package", use: pkg, value: true}
	case "c", "call":
		return option{name: "call", use: call, value: true}
	case "offline":
		return option{name: "offline", use: offline}
	case "node-options":
		return option{name: "node-options", use: nodeOptions, value: true}
	case "q", "quiet", "s", "silent", "d", "verbose", "ignore-existing", "prefer-offline", "prefer-online",
		"audit", "no-audit", "fund", "no-fund", "progress", "no-progress", "update-notifier", "no-update-notifier", "timing", "foreground-scripts":
		return quiet(name)
	case "loglevel", "cache", "fetch-retries", "fetch-timeout", "fetch-retry-mintimeout", "fetch-retry-maxtimeout", "maxsockets":
		return quietWith(name)
	case "force", "f", "legacy-peer-deps", "strict-peer-deps", "ignore-scripts", "engine-strict", "no-strict-ssl":
		if name == "f" {
			name = "force"
		}
		return fetches(name)
	case "registry", "reg", "userconfig", "before", "omit", "include", "tag", "cafile", "proxy", "https-proxy", "noproxy", "min-release-age":
		if name == "reg" {
			name = "registry"
		}
		return fetchesWith(name)
	case "prefix", "C", "workspace", "w", "workspaces", "ws", "include-workspace-root", "iwr", "global", "g", "location", "local", "L":
		return refuses(name, "it changes where npm looks for an installed program first")
	case "shell", "script-shell":
		return refuses(name, "it names another shell to run the program with")
	case "version", "v", "help", "h", "H", "?", "usage":
		return refuses(name, "npm only prints something then")
	}
	return option{name: name}
}
