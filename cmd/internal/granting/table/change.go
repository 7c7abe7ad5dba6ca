package table

import (
	"bytes"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/cmd/internal/cmdline"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/internal/winpath"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// A Change is what to grant to a server, or to take back.
type Change struct {
	File         string // the name of the file
	Server, Tool string // Tool is "" for a server with one process
	Flags        []string
	Lines        string // of a configuration, in place of Flags
	Remove       bool

	// Policy returns the policy of the process if the file has a text; nil takes the file alone.
	Policy func(text []byte) (*policy.Policy, error)
	// Home and Workspace are where "~/" and relative paths lead, on a system as in runtime.GOOS; "" for not
	// known.
	System, Home, Workspace string
	// Hidden reports whether a rule around a path does not reach it, because it is a sensitive path; nil
	// for never.
	Hidden func(path string) bool
}

// Result is a file with a change.
type Result struct {
	Text []byte
	// Already are the rules by which the process had a part of the grant, and Still those by which it
	// still has what was taken back: each with its place.
	Already, Still []string
	// Keeps says that the rule for "." was added, which keeps the workspace of the default policy.
	Keeps bool
}

// ByHandError reports a grant that cannot be written into a file or taken out of it, and what to do.
type ByHandError struct {
	Where  string // the table of the server
	Text   string // of the grant
	Remove bool
	Err    error
}

func (e *ByHandError) Error() string {
	done, do := "added", "add"
	if e.Remove {
		done, do = "taken back", "remove"
	}
	return fmt.Sprintf("it cannot be %s by itself: %s: %s `%s` (%s)", done, e.Where, do, e.Text, e.Err)
}

func (e *ByHandError) Unwrap() error { return e.Err }

// Apply returns the text of the file with the change. The text is the same if there is nothing to change.
func (c Change) Apply(text []byte) (Result, error) {
	grant, err := c.grant()
	if err != nil {
		return Result{}, err
	}
	w, err := c.begin(text)
	if err != nil {
		return Result{}, err
	}
	if a := w.accessOfGrant(grant); !w.was.Stateful && c.Tool == "" && (a.Fs != nil || a.Net != nil || a.Inbound != nil || a.Env != nil || a.Commands != nil) {
		return Result{}, fmt.Errorf("each tool of %s has its own process and table: name the tool with --tool TOOL; --tool '*' means all that have no table", show.Name(c.Server))
	}
	if c.Remove {
		err = w.remove(grant)
	} else {
		err = w.add(grant)
	}
	if err == nil && !bytes.Equal(w.text, text) {
		err = w.verify(grant)
	}
	if err != nil {
		if errors.Is(err, errForm) || errors.As(err, new(*faultError)) {
			err = w.byHand(grant, forAll(w, err))
		}
		return Result{}, err
	}
	return Result{w.text, w.already, w.still, w.kept && !c.Remove}, nil
}

// grant returns the grant as the table of a server.
func (c Change) grant() (*config.Server, error) {
	if c.Lines != "" {
		layer, err := config.DecodeLayer([]byte(c.Lines), "the lines to add")
		if err != nil {
			return nil, err
		}
		if s := layer.Servers[c.Server]; s != nil {
			return s, nil
		}
		return nil, fmt.Errorf("the lines to add are not for the server %s", show.Name(c.Server))
	}
	flags, err := cmdline.ParseRun(append([]string{"run"}, c.Flags...))
	if err != nil {
		return nil, err
	}
	f := flags.PolicyFlags
	switch {
	case flags.Server != "":
		return nil, fmt.Errorf("unexpected argument %s", flags.Server)
	case f.Name != "":
		return nil, errors.New("--name is not a grant: a server of the configuration has the name of its table")
	case flags.Config != nil || flags.Waive != nil || flags.LogFile != "" || flags.LogLevel != "":
		return nil, errors.New("--config, --waive, --log-level and --log-file are not grants")
	}
	return config.CommandLineOptions{Workspace: f.Workspace, Read: f.Read, Write: f.Write, Execute: f.Execute, Deny: f.Deny, Net: f.Net,
		Inbound: f.Inbound, Env: f.Env, Limit: f.Limit, Home: f.Home, GPU: f.GPU, Startup: f.Startup, Preset: f.Preset}.Table()
}

// work is a change in the making.
type work struct {
	Change
	*document
	was      *policy.Policy // of the process, before
	before   *config.Config // the file's tables
	want     *config.Config // as they should be after
	original []byte

	already, still []string
	kept           bool // the rule that keeps the workspace was added, or removed
}

func (c Change) begin(text []byte) (*work, error) {
	if c.Policy == nil {
		c.Policy = func(text []byte) (*policy.Policy, error) {
			cfg, err := config.Decode(text, c.File)
			if err != nil {
				return nil, err
			}
			return cfg.Policy(c.Server, c.Tool)
		}
	}
	w := &work{Change: c, original: text}
	var err error
	if w.before, err = config.DecodeLayer(text, c.File); err != nil {
		return nil, err
	}
	w.want, _ = config.DecodeLayer(text, c.File)
	if w.was, err = c.Policy(text); err != nil {
		return nil, err
	}
	w.document, err = parse(text)
	return w, err
}

// server returns the path of a key of the server's table.
func (w *work) server(keys ...string) []string {
	return append([]string{"servers", w.Change.Server}, keys...)
}

// access returns the path of a list of the table that grants something to the process.
func (w *work) access(axis string) []string {
	if w.Tool != "" {
		return w.server("tools", w.Tool, "access", axis)
	}
	return w.server("access", axis)
}

// table returns the table that grants something to the process, in a layer; nil if it has none.
func (w *work) accessOf(c *config.Config) *config.Access {
	s := c.Servers[w.Change.Server]
	switch {
	case s == nil:
		return nil
	case w.Tool == "":
		return s.Access
	case s.Tools[w.Tool] == nil:
		return nil
	}
	return s.Tools[w.Tool].Access
}

// placed returns the place that a path of a rule means, as far as that is known.
func (c Change) placed(p string) string {
	if c.System == "windows" {
		return c.placedOnWindows(p)
	}
	switch rest, below := strings.CutPrefix(p, "~/"); {
	case below, p == "~":
		if c.Home == "" {
			return path.Join("/~", rest)
		}
		return path.Join(c.Home, rest)
	case !path.IsAbs(p) && c.Workspace != "":
		return path.Join(c.Workspace, p)
	}
	return path.Clean(p)
}

// placedOnWindows is placed for names without case. The place has the form of [winpath.Slashed].
func (c Change) placedOnWindows(p string) string {
	rest, below := hostfs.CutHome(c.System, p)
	switch below = below || p == "~"; {
	case below && c.Home == "":
		p = "/~/" + strings.TrimPrefix(rest, "~")
	case below && p == "~":
		p = c.Home
	case below:
		p = winpath.Join(c.Home, rest)
	case c.Workspace != "":
		p = winpath.Join(c.Workspace, p)
	}
	return strings.ToLower(winpath.Slashed(p))
}

// native returns a place as the system writes it.
func (c Change) native(place string) string {
	if native, ok := winpath.FromSlashed(place); ok && c.System == "windows" {
		return native
	}
	return place
}

// rules are the rules of a process for files, placed.
func (c Change) rules(p *policy.Policy) config.Placed {
	out := config.Placed{Policy: p}
	for _, r := range p.Fs {
		at := c.placed(r.Path)
		if r.Base != "" {
			at = path.Join(r.Base, r.Path)
			if c.System == "windows" {
				at = c.placedOnWindows(winpath.Join(r.Base, r.Path))
			}
		}
		out.Paths = append(out.Paths, at)
	}
	return out
}

// lastRule returns the index of the last rule for a path, or -1.
func (c Change) lastRule(rules []policy.FsRule, path string) int {
	at := c.placed(path)
	for i := len(rules) - 1; i >= 0; i-- {
		if rules[i].Base == "" && c.placed(rules[i].Path) == at {
			return i
		}
	}
	return -1
}

// accessOfGrant returns the rules of a grant. Variables are for the whole server, so those for a tool are
// among the rules.
func (w *work) accessOfGrant(g *config.Server) config.Access {
	var a config.Access
	if g.Access != nil {
		a = *g.Access
	}
	if w.Tool != "" && g.Tools[w.Tool] != nil && g.Tools[w.Tool].Access != nil {
		a = *g.Tools[w.Tool].Access
	}
	a.Env = slices.Clone(a.Env)
	for _, v := range g.Variables {
		if w.Tool != "" || strings.HasSuffix(v.Name, "*") {
			a.Env = append(a.Env, v)
		}
	}
	return a
}

// variablesOfGrant returns the variables for the whole server.
func (w *work) variablesOfGrant(g *config.Server) (names []string) {
	for _, v := range g.Variables {
		if w.Tool == "" && !strings.HasSuffix(v.Name, "*") {
			names = append(names, v.Name)
		}
	}
	return names
}
