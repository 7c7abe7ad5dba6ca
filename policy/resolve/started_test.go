package resolve

import (
	"cmp"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// systems are the hosts on which the cases of testdata/started stand.
var systems = map[string]string{"none": "", "debian": aSystem, "mac": aMac, "brew": aMac + aHomebrew}

// A started is a case of testdata/started while it is read.
type started struct {
	system, dir, home string
	files, env        []string
	tree              string   // the installed package
	only              []string // the facts that are shown
	line              string   // what is started
	rules             []string // the rest of its table; without any, nothing is granted
	asked             []string // the paths whose rights are shown
}

// TestStarted has command lines on hosts, and what a start of each brings into its jail: the lines with >,
// which -update writes. Of the other lines, "== NAME" begins a host, "on SYSTEM" says which it is (none: only what follows), "d", "f",
// "x" and the like make files there (see newFake), "NAME=VALUE" sets a variable, "in DIR" is the working
// directory, "home DIR" that of the user, "tree DIR" an installed package, "only FACTS" says what is shown, with $NAME for a
// variable. CERT stands for a certificate.
// "$ LINE" starts a command line. "+ TOML" after it makes it one of a configuration, and "? PATH" shows the
// rights there.
func TestStarted(t *testing.T) {
	files, err := filepath.Glob("testdata/started/*.txt")
	testkit.Must(t, err)
	for _, file := range files {
		t.Run(path.Base(file), func(t *testing.T) { playStarts(t, strings.TrimPrefix(file, "testdata/")) })
	}
}

func playStarts(t *testing.T, file string) {
	var out strings.Builder
	var c started
	end := func() {
		if c.line != "" {
			out.WriteString(c.start(t))
		}
		c.line, c.rules, c.asked = "", nil, nil
	}
	for line := range strings.Lines(testkit.ReadFile(t, "testdata/"+file)) {
		line = strings.TrimSuffix(line, "\n")
		word, rest, _ := strings.Cut(line, " ")
		switch word {
		case ">":
			continue
		case "+":
			c.rules = append(c.rules, rest)
		case "?":
			c.asked = append(c.asked, rest)
		default:
			end()
		}
		switch {
		case word == "==":
			c = started{system: "debian", only: strings.Fields("warning error program called brings parts links PATH programs own start rights")}
		case word == "on":
			c.system = rest
		case word == "in":
			c.dir = rest
		case word == "home":
			c.home = rest
		case word == "only":
			c.only = strings.Fields(rest + " rights error")
		case word == "tree":
			c.tree = rest
		case word == "$":
			c.line = rest
		case strings.Contains(word, "="):
			c.env = append(c.env, line)
		case len(word) == 1 && strings.Contains("dfxlpscb0", word):
			c.files = append(c.files, strings.ReplaceAll(line, "CERT", aCertificate))
		}
		out.WriteString(line + "\n")
	}
	end()
	testkit.Golden(t, file, out.String())
}

func (c started) host() hostfs.Host {
	files := newFake(append([]string{systems[c.system]}, c.files...)...)
	h := files.host()
	if c.system == "mac" || c.system == "brew" {
		h = files.mac()
	}
	h.Dir = cmp.Or(c.dir, h.Dir)
	h.Home = cmp.Or(c.home, h.Home)
	h.Environ = append(h.Environ, c.env...)
	return h
}

// policy returns that of the line: one of the command line that grants nothing, or one with the rules.
func (c started) policy(t *testing.T) *policy.Policy {
	words := strings.Fields(c.line)
	for i, w := range words {
		words[i] = strings.ReplaceAll(w, "%20", " ")
	}
	if c.rules == nil {
		p, err := config.FromCommandLine(config.CommandLineOptions{Command: words, Net: []string{"x.example"}})
		testkit.Must(t, err)
		p.Packages.Tree = c.tree
		return p
	}
	text := "[servers.s]\ncommand = " + show.TOML(words[0]) + "\narguments = " + show.List(words[1:]) + "\n" + strings.Join(c.rules, "\n")
	decoded, err := config.Decode([]byte(text), "c.toml")
	testkit.Must(t, err)
	p, err := decoded.Policy("s", "")
	testkit.Must(t, err)
	return p
}

// start returns what a start of the line brings.
func (c started) start(t *testing.T) string {
	var b strings.Builder
	say := func(what string, values ...any) {
		if text := strings.Trim(fmt.Sprint(values...), "[]"); text != "" && slices.Contains(c.only, what) {
			fmt.Fprintf(&b, "> %s %s\n", what, text)
		}
	}
	of := c.policy(t)
	p, warnings, err := Resolve(of, c.host())
	for _, w := range warnings {
		say("warning", w)
	}
	if err != nil {
		say("error", err)
		return b.String()
	}
	say("program", p.Program)
	if p.Argv[0] != strings.ReplaceAll(strings.Fields(c.line)[0], "%20", " ") {
		say("called", p.Argv[0])
	}
	say("brings", brought(p))
	var parts, links []string
	for _, part := range p.Parts {
		if part.Work {
			part.Path += "/"
		}
		parts = append(parts, part.Path)
	}
	say("parts", parts)
	for _, l := range p.Links {
		if !slices.Contains([]string{"/bin", "/lib", "/etc", "/tmp", "/var", "/etc/localtime", "/private/etc/localtime", "/private/var/select/sh"}, l.Path) {
			links = append(links, l.Path)
		}
	}
	say("links", links)
	for _, v := range p.Env {
		say("$"+v.Name, v.Value+map[bool]string{true: " (secret)"}[v.Secret])
		if v.Name == "PATH" && c.env != nil {
			say("PATH", v.Value)
		}
	}
	say("withheld", p.Withheld)
	say("workspace", p.Workspace)
	if alone := HomeLinks(of, c.host()); fmt.Sprint(alone) != fmt.Sprint(p.HomeLinks) {
		t.Errorf("%s: without the rest of the profile %v, want %v", c.line, alone, p.HomeLinks)
	}
	for _, l := range p.HomeLinks {
		say("home", l.Path+map[bool]string{true: "/"}[l.Dir]+" is "+l.Target)
	}
	for _, s := range p.Secrets {
		say("secret", s.Env+": "+s.Program+" with PATH="+s.Path+", without "+strings.Join(s.Unset, " "))
	}
	say("programs", p.Programs)
	say("own", p.OwnPrograms)
	for _, command := range p.Commands {
		for _, s := range command.Starts {
			say("start", fmt.Sprintf("%s: %s as %q %v, after %q, of %q", command.Name, s.File, s.Name, s.Paths, s.Lead, s.Script))
		}
	}
	for _, name := range c.asked {
		say("rights", name+": "+p.RightsAt(name).String())
	}
	if !p.Allows(policy.OpExec, p.Program) || !p.Allows(policy.OpRead, p.Program) {
		t.Errorf("%s: the program: %s", c.line, p.RightsAt(p.Program))
	}
	checkProfile(t, p)
	return b.String()
}
