package config

import (
	"cmp"
	"fmt"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config/internal/reader"
)

// CommandLineOptions are the flags of `run -- COMMAND`. If any of Read, Write, Execute and
// Net is set, they form an access table, together with Deny and Inbound. Without these, Deny takes
// away from the default policy, and Inbound adds to it. Env and Limit form no table.
type CommandLineOptions struct {
	Command   []string      // the program and its arguments
	Workspace string        // --workspace; "" is the working directory
	Read      []string      // --read PATH
	Write     []string      // --write PATH, which also reads
	Execute   []string      // --execute PATH, which also reads
	Deny      []string      // --deny PATH, which takes away
	Net       []string      // --net HOST[:PORT]
	Inbound   []string      // --inbound PORT
	Env       []string      // --env NAME
	Limit     []string      // --limit KEY=NUMBER
	Home      string        // --home: "", "private" or "real"
	Name      string        // of the server
	Called    string        // --name: what the server is called in the list of servers, and nowhere else
	Key       string        // see policy.Policy.Key
	Waive     []policy.Axis // --waive
	Preset    string        // for Declared: the preset of the server
	Below     *Server       // its table, made to fit Command; nil without Preset
	Defaults  *Defaults     // the table [defaults]; nil for none
	File      *ServerFile   // what the user has granted to the line; nil for nothing
	Dir       string        // the working directory
}

// FromCommandLine returns the policy of a server that is given on the command line. Its
// error is [policy.Problems], whose File is the flag.
func FromCommandLine(o CommandLineOptions) (*policy.Policy, error) {
	s, err := o.server()
	if err != nil {
		return nil, err
	}
	o.keepWord(s)
	// From here on, the flags are treated as a file with one server.
	c := Config{Servers: map[string]*Server{s.Name: s}, Defaults: o.Defaults}
	if o.File != nil {
		if err := c.Servers[s.Name].grant(o.File); err != nil {
			return nil, err
		}
	}
	p := c.process(c.Servers[s.Name], "")
	p.FromCommandLine, p.Key = true, o.Key
	return p, p.Validate()
}

// Table returns the table of a server that grants what the flags do. It has neither command nor name.
func (o CommandLineOptions) Table() (*Server, error) {
	o.Command, o.Name = []string{"-"}, "-"
	s, err := o.server()
	if err == nil {
		s.Command, s.Arguments, s.Name, s.Where = "", nil, "", ""
	}
	return s, err
}

// Declared returns the table of a file that declares the same server, with the same name and policy. It
// has what its preset gives.
func (o CommandLineOptions) Declared() (*Server, error) {
	s, err := o.server()
	if err != nil {
		return nil, err
	}
	if c := s.Command; strings.Contains(c, "/") && !path.IsAbs(c) && !strings.HasPrefix(c, "~/") && o.Dir != "" {
		s.Command = path.Join(o.Dir, c) // in a file it belongs to the workspace
	}
	o.keepWord(s)
	if s.Access != nil {
		s.Access.Fs = o.denyNarrow(s.Access.Fs)
	}
	if o.Below == nil {
		return s, nil
	}
	c := Config{Servers: map[string]*Server{s.Name: s}}
	c.LayBelow(s.Name, o.Below)
	return c.Servers[s.Name], nil
}

// keepWord writes into the table of the flags the word for the workspace that holds without them, if they are not about
// files and hosts.
func (o CommandLineOptions) keepWord(s *Server) {
	if s.Access == nil || len(o.Read)+len(o.Write)+len(o.Execute)+len(o.Net) > 0 {
		return
	}
	var below *Access
	if o.Below != nil {
		below = o.Below.Access
	}
	if s.Access.Workspace = below.workspace(); !below.hasRules() {
		s.Access.workspaceAt = policy.DefaultSource
	}
}

// denyNarrow returns the rules of flags as a file says them. A flag that does not write, inside one that
// writes, is a denial of writing there. Nothing inside it writes.
func (o CommandLineOptions) denyNarrow(rules []policy.FsRule) (out []policy.FsRule) {
	at := func(p string) string {
		if strings.HasPrefix(p, "/") || strings.HasPrefix(p, "~") {
			return path.Clean(p)
		}
		return path.Join(cmp.Or(o.Workspace, o.Dir), p)
	}
	var narrow []string
	for _, r := range rules {
		inside := func(w policy.FsRule) bool {
			return w.Update && at(w.Path) != at(r.Path) && policy.Within(at(r.Path), at(w.Path))
		}
		if r.Rights() != 0 && !r.Update && slices.ContainsFunc(rules, inside) {
			narrow = append(narrow, at(r.Path))
		}
	}
	for _, r := range rules {
		switch is := slices.ContainsFunc(narrow, func(n string) bool { return policy.Within(at(r.Path), n) }); {
		case !is || r.Deny != 0:
			out = append(out, r)
			continue
		case r.Execute || policy.HasProtectedName(at(r.Path)) || strings.HasPrefix(path.Base(r.Path), ".env"): // what is named there counts
			out = append(out, policy.FsRule{Path: r.Path, Read: true, Execute: r.Execute})
		}
		if slices.Contains(narrow, at(r.Path)) {
			out = append(out, policy.FsRule{Path: r.Path, Deny: policy.Write})
		}
	}
	return out
}

func (o CommandLineOptions) server() (*Server, error) {
	if len(o.Command) == 0 || o.Command[0] == "" {
		return nil, policy.Problems{{Message: "there is no command: mcp-jail run [options] -- COMMAND [ARG...]"}}
	}
	var bad flagProblems
	s := &Server{Name: cmp.Or(o.Name, "server"), Command: o.Command[0], Arguments: slices.Clone(o.Command[1:]), Workspace: o.Workspace, Home: o.Home, Waive: o.Waive, Preset: o.Preset, Where: "the command line"}
	o.checkWords(&bad)
	var env []policy.EnvRule // names that end with "*": a file may have them only in an access table
	s.Variables, env = o.envRules(&bad)
	for _, l := range o.Limit {
		for _, p := range s.limitFlag(l) {
			bad.add("--limit", l, "%s", p.Message)
		}
	}
	if fs, net, inbound := o.fsRules(&bad), o.netRules(&bad), o.inboundRules(&bad); len(fs)+len(net)+len(inbound)+len(env) > 0 {
		s.Access = &Access{Fs: fs, Net: net, Inbound: inbound, Env: env, Where: s.Where}
	}
	if err := bad.Err(); err != nil {
		return nil, err
	}
	return s, nil
}

// flagProblems are the problems of flags.
type flagProblems struct{ policy.Problems }

func (o CommandLineOptions) checkWords(bad *flagProblems) {
	if slices.ContainsFunc(o.Command, func(arg string) bool { return strings.ContainsRune(arg, 0) }) {
		bad.Problems = append(bad.Problems, policy.Problem{File: "COMMAND", Message: "the command contains a NUL"})
	}
	if o.Called != "" && !policy.ValidServerName(o.Called) {
		bad.add("--name", o.Called, "a name consists of letters, digits, '.', '_' and '-', and does not begin with '.'")
	}
	if o.Home != "" && o.Home != "private" && o.Home != "real" {
		bad.add("--home", o.Home, `must be "private" or "real"`)
	}
	for _, a := range o.Waive {
		if !slices.Contains(policy.Waivers(), a) {
			bad.add("--waive", string(a), "must be one of %s", strings.Join(axisTexts(policy.Waivers()), ", "))
		}
	}
}

func (o CommandLineOptions) envRules(bad *flagProblems) (exact, prefixes []policy.EnvRule) {
	for _, v := range o.Env {
		if err := policy.CheckEnvName(v); err != nil {
			bad.add("--env", v, "%s", err)
		}
		to := &exact
		if strings.HasSuffix(v, "*") {
			to = &prefixes
		}
		*to = append(*to, policy.EnvRule{Name: v, Read: true, Where: "--env " + v})
	}
	return exact, prefixes
}

// fsRules returns the rules of --read, --write, --execute and --deny. A path that is given to
// several of the first three has the rights of all.
func (o CommandLineOptions) fsRules(bad *flagProblems) (rules []policy.FsRule) {
	add := func(flag, p string, write, execute bool) {
		if err := policy.CheckPath(p); err != nil {
			bad.add(flag, p, "%s", err)
		}
		r := policy.FsRule{Path: p, Read: true, Create: write, Update: write, Delete: write, Execute: execute, Where: show.Flag(flag, p)}
		if i := slices.IndexFunc(rules, func(e policy.FsRule) bool { return e.Path == p }); i >= 0 {
			write = write || rules[i].Update
			r.Create, r.Update, r.Delete, r.Execute = write, write, write, execute || rules[i].Execute
			if rules[i].Where != r.Where {
				r.Where = rules[i].Where + " " + r.Where
			}
			rules = slices.Delete(rules, i, i+1)
		}
		rules = append(rules, r)
	}
	for _, p := range o.Read {
		add("--read", p, false, false)
	}
	for _, p := range o.Write {
		add("--write", p, true, false)
	}
	for _, p := range o.Execute {
		add("--execute", p, false, true)
	}
	for _, p := range o.Deny {
		if err := policy.CheckPath(p); err != nil {
			bad.add("--deny", p, "%s", err)
		}
		switch i := slices.IndexFunc(rules, func(e policy.FsRule) bool { return e.Path == p }); {
		case i < 0:
			rules = append(rules, policy.FsRule{Path: p, Deny: policy.AllRights, Where: show.Flag("--deny", p)})
		case rules[i].Rights() != 0:
			bad.add("--deny", p, "%s grants the same path: leave one of them out", rules[i].Where)
		default:
			bad.add("--deny", p, "it is given twice")
		}
	}
	return rules
}

func (o CommandLineOptions) netRules(bad *flagProblems) (rules []policy.NetRule) {
	for _, n := range o.Net {
		host, port, err := policy.ParseHostPort(n)
		if err != nil {
			bad.add("--net", n, "%s", err)
		}
		rules = append(rules, policy.NetRule{Host: host, Port: port, Allow: true, Where: "--net " + n})
	}
	return rules
}

func (o CommandLineOptions) inboundRules(bad *flagProblems) (rules []policy.InboundRule) {
	for _, p := range o.Inbound {
		port, err := strconv.Atoi(p)
		if err != nil || port < 1 || port > math.MaxUint16 || strconv.Itoa(port) != p {
			bad.add("--inbound", p, "write a port as a number between 1 and %d: it leads to the same port of the server", math.MaxUint16)
		}
		rules = append(rules, policy.InboundRule{Port: port, Where: show.Flag("--inbound", p)})
	}
	return rules
}

// limitFlag reads KEY=NUMBER as the limits table of a file is read. The time to start is a limit here, too.
func (s *Server) limitFlag(text string) policy.Problems {
	if key, value, ok := strings.Cut(text, "="); !ok || key == "" || strings.Trim(value, "0123456789") != "" || value == "" {
		return policy.Problems{{Message: "write KEY=NUMBER, as in memory_mb=8192"}}
	}
	in, root := reader.New([]byte(text), "")
	var given Settings
	startup := slices.DeleteFunc(given.keys(), func(k key) bool { return k.Name != "startup_timeout_secs" })
	in.Read(root, "", value{Kind: show.Table, Keys: append(given.limits().Value.Keys, startup...)})
	for _, set := range given {
		set.Where = ""
		s.Settings.set(set)
	}
	return in.Problems
}

func (p *flagProblems) add(flag, value, format string, args ...any) {
	p.Problems = append(p.Problems, policy.Problem{File: flag + " " + policy.Abbreviate(value), Message: fmt.Sprintf(format, args...)})
}

// This package knows presets by name only. Its caller finds the preset of a table, and lays
// it below the table before it asks for a policy.

// LayBelow lays a table below the configured server name, as if a layer before all others had
// it: values of the server's own table win, and its lists join those of below by the strategies
// that were written for them. The server's name, its place and its preset stay. below is not
// changed. A server that is not configured, or has a table below it already, stays as it is.
//
// Tools that only below has a table for are not among [Config.DeclaredTools]. ws are what
// [Config.Warnings] says of the preset.
func (c *Config) LayBelow(name string, below *Server, ws ...policy.Warning) {
	own := c.Servers[name]
	if own == nil || own.hasBelow {
		return
	}
	s := &Server{Name: name}
	s.overlay(below)
	for _, l := range own.laidTables() {
		s.overlay(l)
	}
	for tool, t := range s.Tools {
		t.below = own.Tools[tool] == nil
	}
	s.Preset, s.PresetWhere, s.Where = own.Preset, own.PresetWhere, own.Where
	s.Project, s.replaces, s.hasBelow, s.warnings = own.Project, own.replaces, true, ws
	c.Servers[name] = s
}

// checkPresets returns an error if a server names a preset and nothing is laid below it. Its
// policy would lack rules, and what other processes may write would be unknown.
func (c *Config) checkPresets() error {
	for _, name := range c.ServerNames() {
		if s := c.Servers[name]; s.Preset != "" && !s.hasBelow {
			return fmt.Errorf("%s: the preset %s of server %q was not applied: this is a mistake in mcp-jail", s.PresetWhere, s.Preset, name)
		}
	}
	return nil
}

// Warnings returns the warnings about the layers of a server: what a project's server does not have, what of a
// project's file has no effect, and those of its preset, which LayBelow got.
func (c *Config) Warnings(server string) []policy.Warning {
	s := c.Servers[server]
	if s == nil {
		return nil
	}
	_, _, without := c.inForce(s)
	return slices.Concat(s.droppedGrants(), without, s.warnings)
}

// PresetProblem returns an error about the preset that a server names, with its place.
func (s *Server) PresetProblem(err error) policy.Problem {
	return policy.ProblemAt(s.PresetWhere, "servers."+show.Key(s.Name)+".preset", "%s", err)
}
