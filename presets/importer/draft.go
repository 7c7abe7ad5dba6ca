package importer

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/schema"
	"github.com/mcp-jail/mcp-jail/presets"
)

// A draft is what was read from a file, before it is written as a table.
type draft struct {
	format, name, about string
	mcpName             string // in the MCP registry; "" if the file has none
	packages            []presets.Package
	command             string // "": it has to be filled in
	args                []argument
	variables           []variable
	hosts               []host
	noNetwork           bool // the publisher says that it needs none
	hostsKnown          bool // the publisher says which: others are refused
	paths               []grant
	notes               []string
	missing             []string // what the file requires and does not give
}

// An argument is a word, or one to fill in.
type argument struct {
	word, about string
	open        bool
}

type variable struct {
	name, about, value string
	required, secret   bool
	fixed              bool // value is the publisher's, and not only a default
}

// A host is one that the file names. Without a scheme, it is https if port is 0 or 443, and tcp
// otherwise.
type host struct {
	name, scheme string
	port         int
	secrets      []policy.Secret
}

func (h host) rule() (policy.NetRule, error) {
	name, err := policy.NormalizeHost(h.name)
	r := policy.NetRule{Host: name, Scheme: h.scheme, Port: h.port, Secrets: h.secrets, Allow: true}
	if r.Port == 443 && r.Scheme != "tcp" {
		r.Port = 0
	}
	if r.Scheme == "" {
		if r.Scheme = "https"; r.Port != 0 {
			r.Scheme = "tcp"
		}
	}
	if err == nil {
		err = policy.CheckNetRule(r)
	}
	return r, err
}

// A grant is a path that the file names, or one to fill in if path is "".
type grant struct {
	path, about string
	write       bool
}

func (d *draft) word(words ...string) {
	for _, w := range words {
		d.args = append(d.args, argument{word: w})
	}
}

func (d *draft) note(format string, args ...any) {
	d.notes = append(d.notes, fmt.Sprintf(format, args...))
}

func (d *draft) preset() {
	for _, pkg := range d.packages {
		if p, ok := presets.ForPackage(pkg.Ecosystem, pkg.Name); ok {
			d.note("A preset knows this package, with its hosts and how its secrets are sent: mcp-jail preset %s", p.Name)
			if pkg.Ecosystem == presets.Image {
				return // the command is docker, whose container no rule confines
			}
			d.note("To use it, write  preset = %s  into the table, and remove the access table.", show.TOML(p.Name))
			return
		}
	}
}

func (d *draft) render() string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	if d.name == "" {
		d.name = "server"
	}
	b.WriteString(schema.Line)
	line("# From %s. Read it before you use it: it was written by the server's publisher.", d.format)
	for _, v := range d.variables {
		if v.required && !v.fixed && (v.value == "" || v.secret) && policy.CheckVariable(v.name) == nil {
			d.missing = append(d.missing, "the variable "+v.name)
		}
	}
	if len(d.missing) > 0 {
		slices.Sort(d.missing)
		d.note("It does not start without %s.", strings.Join(slices.Compact(d.missing), ", "))
	}
	for _, n := range d.notes {
		line("# %s", oneLine(n))
	}
	line("[servers.%s]", show.Key(d.name))
	if d.about != "" {
		line("description = %s", show.TOML(oneLine(d.about)))
	}
	if d.mcpName != "" {
		line("mcp_name = %s # install says if the package calls itself otherwise", show.TOML(d.mcpName))
	}
	if d.command == "" {
		line("command = \"fill-in\" # fill in: the program")
	} else {
		line("command = %s", show.TOML(d.command))
	}
	d.renderArguments(line)
	d.renderVariables(line)
	d.renderAccess(line)
	return b.String()
}

func (d *draft) renderArguments(line func(string, ...any)) {
	if len(d.args) == 0 {
		return
	}
	line("arguments = [")
	for _, a := range d.args {
		about := ""
		if a.about != "" {
			about = " # " + oneLine(a.about)
		}
		if a.open {
			line("  # %s,%s", show.TOML(oneLine(a.word)), strings.Replace(about, "# ", "# fill in: ", 1))
			continue
		}
		line("  %s,%s", show.TOML(a.word), about)
	}
	line("]")
}

func (d *draft) renderVariables(line func(string, ...any)) {
	if len(d.variables) == 0 {
		return
	}
	slices.SortStableFunc(d.variables, func(a, b variable) int { return strings.Compare(a.name, b.name) })
	d.variables = slices.CompactFunc(d.variables, func(a, b variable) bool { return a.name == b.name })
	line("variables = [ # set them where mcp-jail is started, for example in the client's entry")
	for _, v := range d.variables {
		if err := policy.CheckVariable(v.name); err != nil {
			line("  # refused: a variable called %s", show.TOML(oneLine(v.name)))
			continue
		}
		comment := []string{}
		if v.secret {
			comment = append(comment, "a secret: where it goes out in a header field, put it into the net rule instead, as secret = { env = "+show.TOML(v.name)+" }")
		}
		switch {
		case v.fixed:
			comment = append(comment, "has to be "+v.value)
		case v.value != "" && !v.secret:
			comment = append(comment, "default "+v.value)
		}
		if v.about != "" {
			comment = append(comment, v.about)
		}
		off := ""
		if !v.required {
			off = "# "
			comment = slices.Insert(comment, 0, "optional")
		}
		text := ""
		if len(comment) > 0 {
			text = " # " + oneLine(strings.Join(comment, "; "))
		}
		line("  %s%s,%s", off, show.TOML(v.name), text)
	}
	line("]")
}

func (d *draft) renderAccess(line func(string, ...any)) {
	line("")
	line("[servers.%s.access] # replaces the default policy: no file, no host but these", show.Key(d.name))
	key := "servers." + show.Key(d.name) + ".access"
	for _, g := range d.paths {
		off := "# "
		if g.path != "" && policy.CheckPath(g.path) == nil {
			off = ""
		}
		line("")
		line("%s[[%s.fs]] # %s", off, key, oneLine(g.about))
		line("%spath = %s", off, show.TOML(oneLine(orElse(g.path, "/fill/in"))))
		line("%sread = true", off)
		if g.write {
			line("%swrite = true", off)
		}
	}
	for _, h := range d.hosts {
		rule, err := h.rule()
		line("")
		if err != nil {
			line("# refused: a host called %s", show.TOML(oneLine(h.name)))
			continue
		}
		line("[[%s.net]]", key)
		for _, f := range rule.TOMLFields() {
			line("%s", f)
		}
	}
	line("")
	switch {
	case d.noNetwork:
		line("# The publisher says that it needs no network.")
	case d.hostsKnown:
		line("# The publisher names these hosts and no others.")
	default:
		line("# [[%s.net]] # fill in: the hosts that it reaches; without any it has no network", key)
		line("# host = \"api.example.com\"")
		line("# scheme = \"https\"")
		line("# allow = true")
	}
}

func orElse(text, other string) string {
	if text == "" {
		return other
	}
	return text
}
