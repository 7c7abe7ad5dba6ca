package grantcmd

import (
	"fmt"
	"slices"

	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/index"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// Edit is a change of the file of one server that grows grant by grant, as mcp-jail grant would make them. Nothing is
// written before Write.
type Edit struct {
	g      grantCmd
	p      *plan // its file has the grants of before
	host   hostfs.Host
	before *config.ServerFile
	parts  []part
	now    map[string]*checked // of each tool, with the grants so far
}

// part is what is granted to one tool, or to the whole server.
type part struct {
	tool  string
	flags []flag
}

// Begin returns the change of a server, which has no grants yet.
func Begin(x *index.Index, word string) (*Edit, error) {
	e := &Edit{host: x.Host, g: grantCmd{server: word, home: x.Host.Home, dir: x.Host.Dir, last: true}}
	s, err := e.g.find(x)
	if err != nil {
		return nil, err
	}
	e.p = &plan{server: s, why: map[string]string{}}
	return e, e.begin()
}

// BeginLine returns the change of a file that does not exist: that of a command line, which no client starts yet.
func BeginLine(x *index.Index, name, id string, words []string) (*Edit, error) {
	e := &Edit{host: x.Host, g: grantCmd{server: name, home: x.Host.Home, dir: x.Host.Dir, last: true}}
	s := &server{others: x, name: name, id: id, words: words, dir: x.Host.Dir, place: "a command line"}
	e.p = &plan{server: s, why: map[string]string{}}
	e.p.saved = e.p.made(x.Host, true)
	return e, e.begin()
}

func (e *Edit) begin() error {
	if err := e.g.begin(e.host, e.p); err != nil {
		return err
	}
	e.before = e.p.file
	e.Reset()
	return nil
}

// Reset takes all grants back.
func (e *Edit) Reset() {
	e.p.file, e.parts, e.now = e.before, nil, map[string]*checked{}
}

// Name returns the name of the file, without ".toml".
func (e *Edit) Name() string { return e.p.name }

// Key returns the key of the server.
func (e *Edit) Key() string { return e.p.id }

// Changed reports whether there is a grant.
func (e *Edit) Changed() bool { return len(e.parts) > 0 }

// File returns the file as it would be written.
func (e *Edit) File() *config.ServerFile { return e.p.file }

// use has the plan be about a tool, or about the whole server for "".
func (e *Edit) use(tool string) (err error) {
	e.g.tool, e.p.grants.Tool = tool, tool
	if e.now[tool] == nil {
		if e.now[tool], err = e.p.check(e.p.file, tool); err != nil {
			return err
		}
	}
	e.p.now = e.now[tool]
	return nil
}

// Whole returns a flag with its value, as a file has it: with a whole path.
func (e *Edit) Whole(words []string) []string {
	f := split(words)[0]
	if f.isPath() && f.value != "." {
		if path, err := (person{e.host.OS, e.g.home, e.p.grants.At(".")}).path(f.value); err == nil {
			f.value = path
		}
	}
	return []string{f.name, f.value}
}

// At returns where the path of a grant leads.
func (e *Edit) At(path string) string { return real(e.p.grants.At(path)) }

// Judge judges a grant to a tool, or to the whole server, that no person typed.
func (e *Edit) Judge(tool string, words []string) (policy.Harm, error) {
	if err := e.use(tool); err != nil {
		return policy.Harm{}, err
	}
	return e.p.judge(split(words)[0]), nil
}

// Add grants a flag with its value. It reports whether the server did not have that before.
func (e *Edit) Add(tool string, words []string) (isNew bool, err error) {
	if err := e.use(tool); err != nil {
		return false, err
	}
	f := split(words)[0]
	if by, err := e.g.granted(e.p, f); by != "" || err != nil {
		return false, err
	}
	if e.p.grants.Table, err = e.p.tableOf([]flag{f}); err != nil {
		return false, err
	}
	file, after, err := e.g.apply(e.p, e.p.file)
	if err != nil {
		return false, err
	}
	if _, err := after.since(e.p.now); err != nil {
		return false, err
	}
	e.p.file, e.now = file, map[string]*checked{tool: after}
	at := slices.IndexFunc(e.parts, func(p part) bool { return p.tool == tool })
	if at < 0 {
		at, e.parts = len(e.parts), append(e.parts, part{tool: tool})
	}
	e.parts[at].flags = append(e.parts[at].flags, f)
	return true, nil
}

// Write shows the difference, asks unless yes is set, and writes the file.
func (e *Edit) Write(c terminal.Console, yes bool) error {
	e.g.yes = yes
	whole := e.p.file
	c.PrintText(c.Paint(terminal.Bold, show.Name(e.p.name)) + "  " + e.p.place + "\n")
	for _, p := range e.parts {
		if err := e.show(c, p, whole); err != nil {
			return err
		}
	}
	if err := e.g.confirm(c, e.p); err != nil {
		return err
	}
	return e.g.commit(c, e.host, e.p, e.build)
}

// show shows what the grants to one tool change.
func (e *Edit) show(c terminal.Console, p part, whole *config.ServerFile) error {
	e.p.file, e.now = e.before, map[string]*checked{}
	err := e.use(p.tool)
	e.p.file = whole
	if err != nil {
		return err
	}
	after, err := e.p.check(whole, p.tool)
	if err != nil {
		return err
	}
	if p.tool != "" {
		c.PrintText(fmt.Sprintf("  for the tool %s:\n", show.Name(p.tool)))
	}
	if err := e.p.show(c, after); err != nil {
		return err
	}
	e.p.grants.Table, err = e.p.tableOf(p.flags)
	if err != nil {
		return err
	}
	return e.g.askApart(c, e.p, after)
}

// build adds the grants to a file.
func (e *Edit) build(f *config.ServerFile) (_ *config.ServerFile, err error) {
	for _, p := range e.parts {
		for _, one := range p.flags {
			e.p.file, e.now = f, map[string]*checked{}
			if err = e.use(p.tool); err != nil {
				return nil, err
			}
			if e.p.grants.Table, err = e.p.tableOf([]flag{one}); err != nil {
				return nil, err
			}
			if f, _, err = e.g.apply(e.p, f); err != nil {
				return nil, err
			}
		}
	}
	return f, nil
}

// Command returns the command line that grants something to a tool, or to the whole server, for a shell.
func (e *Edit) Command(tool string, words []string) string {
	e.g.tool = tool
	return e.g.command(words...)
}

// Short returns a path for people.
func (e *Edit) Short(path string) string { return show.Line(cli.ShortPath(path, e.g.home)) }
