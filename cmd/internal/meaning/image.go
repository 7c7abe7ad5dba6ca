package meaning

import (
	"path"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/presets"
)

// container is a line that starts a container.
type container struct {
	Image  string
	Args   []string          // after the image
	Env    map[string]string // that the line sets
	Mounts [][2]string       // a path of this host, and where the container has it
}

// plainOptions are the options of docker run and its relatives that have no value.
var plainOptions = []string{
	"--detach", "--disable-content-trust", "--help", "--init", "--interactive", "--no-healthcheck", "--no-hosts", "--oom-kill-disable", "--privileged",
	"--publish-all", "--quiet", "--read-only", "--replace", "--rm", "--rmi", "--rootfs", "--sig-proxy", "--tls-verify", "--tty", "--use-api-socket",
}

// ContainerOf takes apart a line of docker run, or of a program with the same options. It reports false
// for every other line.
func ContainerOf(argv []string) (c container, ok bool) {
	if len(argv) < 3 || !slices.Contains([]string{"docker", "podman", "nerdctl", "finch"}, strings.TrimSuffix(path.Base(strings.ReplaceAll(argv[0], `\`, "/")), ".exe")) {
		return c, false
	}
	words := argv[1:]
	if words[0] == "container" {
		words = words[1:]
	}
	if words[0] != "run" {
		return c, false
	}
	c.Env = map[string]string{}
	for words = words[1:]; len(words) > 0; words = words[1:] {
		word := words[0]
		if word == "--" && len(words) > 1 {
			words, word = words[1:], words[1]
		} else if strings.HasPrefix(word, "-") {
			name, value, joined := option(word)
			if !joined && !isPlain(name) {
				if words = words[1:]; len(words) == 0 {
					return c, false
				}
				value = words[0]
			}
			c.take(name, value)
			continue
		}
		c.Image, c.Args = word, words[1:]
		return c, true
	}
	return c, false
}

// option splits a word of an option. A short one may have its value in the same word.
func option(word string) (name, value string, joined bool) {
	switch {
	case strings.HasPrefix(word, "--"):
		return strings.Cut(word, "=")
	case len(word) > 2 && strings.Contains("eupvwlahmcHn", word[1:2]):
		return word[:2], strings.TrimPrefix(word[2:], "="), true
	}
	return word, "", false
}

func isPlain(name string) bool {
	if strings.HasPrefix(name, "--") {
		return slices.Contains(plainOptions, name)
	}
	// Short options without a value can be in one word: -it.
	return strings.Trim(name[1:], "ditqP") == ""
}

func (c *container) take(name, value string) {
	switch name {
	case "-e", "--env":
		if key, value, is := strings.Cut(value, "="); is {
			c.Env[key] = value
		}
	case "-v", "--volume":
		if from, rest, is := strings.Cut(value, ":"); is && strings.HasPrefix(from, "/") {
			to, _, _ := strings.Cut(rest, ":")
			c.Mounts = append(c.Mounts, [2]string{from, to})
		}
	case "--mount":
		var m [2]string
		for _, part := range strings.Split(value, ",") {
			switch key, path, _ := strings.Cut(part, "="); key {
			case "src", "source":
				m[0] = path
			case "dst", "target", "destination":
				m[1] = path
			}
		}
		if strings.HasPrefix(m[0], "/") && m[1] != "" {
			c.Mounts = append(c.Mounts, m)
		}
	}
}

// Instead returns a sentence with the line that starts the same server without a container, or "" if no
// preset knows its image.
func Instead(argv []string) string {
	c, ok := ContainerOf(argv)
	if !ok {
		return ""
	}
	p, ok := presets.ForPackage(presets.Image, c.Image)
	if !ok {
		return ""
	}
	line, what := lineOf(p)
	if line == nil {
		return ""
	}
	for _, arg := range c.Args {
		line = append(line, c.outside(arg))
	}
	text := "the preset " + p.Name + " knows " + what + ", which mcp-jail can confine: write the entry as " + terminal.ShownLine(line)
	if len(c.Env) > 0 {
		text += ", and move what -e sets into its variables"
	}
	return text
}

// lineOf returns how to start the server of a preset, and what that is in words.
func lineOf(p *presets.Preset) (line []string, what string) {
	for _, of := range []struct {
		ecosystem presets.Ecosystem
		start     []string
		what      string
	}{{presets.NPM, []string{"npx", "-y"}, "the package "}, {presets.PyPI, []string{"uvx"}, "the package "}, {presets.Command, nil, "the program "}} {
		for _, pkg := range p.Packages {
			if pkg.Ecosystem == of.ecosystem {
				return append(slices.Clone(of.start), pkg.Name), of.what + pkg.Name
			}
		}
	}
	return nil, ""
}

// outside returns an argument with the path of this host in place of the container's.
func (c *container) outside(arg string) string {
	for _, m := range c.Mounts {
		if rest, is := strings.CutPrefix(arg, strings.TrimSuffix(m[1], "/")); is && (rest == "" || rest[0] == '/') {
			return strings.TrimSuffix(m[0], "/") + rest
		}
	}
	return arg
}
