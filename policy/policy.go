package policy

import (
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"
)

// Policy is what one server, or one tool of a stateless server, may do: merged,
// validated and with every default filled in. It does not know the host yet.
// Build one with [Config.Policy] or [InPlace].
type Policy struct {
	Server string
	Tool   string // "" for the whole server, or for the discovery of a stateless one

	Command     string
	Arguments   []string
	Workspace   string // as written; "" is the client's working directory
	Description string

	Stateful           bool
	Warm               int
	MaxConcurrentCalls int
	Startup            time.Duration // first request to first answer, and to build the jail; 0 waits for ever
	Call               time.Duration // 0 is no limit
	Roots              string        // "off", "narrow" or "advertise"
	Advertise          bool          // messages tell the server its limits
	HomeReal           bool          // home = "real"
	Project            string        // the project's file that has a part in what runs

	// Default tells that there is no access table. Fs, Net and Env hold the
	// default policy then, as rules like any other: who enforces, shows or
	// explains a policy never has to know a second one.
	Default   bool
	Fs        []FsRule
	Net       []NetRule
	Inbound   []InboundRule
	Env       []EnvRule
	Commands  []CommandRule // nil: any program; sorted by name
	Sensitive []string      // beyond the built-in list
	Limits    Limits
	Waive     []Axis // sorted

	// InPlace tells that the policy comes from the command line: a relative
	// command is then meant from the working directory, as a shell reads it.
	InPlace bool
	Where   string // the server's table, the tool's access table, or the command line

	// others are the policies of the server's other processes, and of the other servers
	// of the configuration: see Reach.
	others []*Policy
	idle   []Warning // what the configuration says and this policy makes no use of
}

// Defaults of a server that does not say otherwise (docs/reference.md).
const (
	DefaultStartup            = 60 * time.Second
	DefaultMaxConcurrentCalls = 8
)

const theDefault = "the default policy"

// defaultFs is the filesystem of the default policy (docs/policy.md "Default
// and explicit policy"): the workspace, read and write.
func defaultFs() []FsRule {
	return []FsRule{{Path: ".", Read: true, Create: true, Update: true, Delete: true, Where: theDefault}}
}

// UnknownServerError is a server name that no configuration file declares.
type UnknownServerError struct {
	Server string
	Known  []string
	Files  []string // the files that were read
}

func (e *UnknownServerError) Error() string {
	msg := fmt.Sprintf("there is no server %q in the configuration", e.Server)
	switch near := Nearest(e.Server, e.Known); {
	case near != "":
		msg += fmt.Sprintf("; did you mean %q?", near)
	case len(e.Known) > 0:
		msg += "; declared are " + strings.Join(e.Known, ", ")
	case len(e.Files) == 0:
		msg += ": no configuration file was found"
	}
	return msg
}

// Policy returns the policy of a server. tool names a tool where every call has a
// process of its own; "" is the whole of a stateful server, and of a stateless one the
// process that lists its tools, for which there is only the default policy.
func (c *Config) Policy(server, tool string) (*Policy, error) {
	s := c.Servers[server]
	if s == nil {
		return nil, &UnknownServerError{server, c.ServerNames(), c.Files}
	}
	if err := s.validate().err(); err != nil {
		return nil, err
	}
	if tool != "" && s.IsStateful() {
		file, line := splitWhere(s.Where)
		return nil, Problems{{file, line, "servers." + bareOrQuoted(server), fmt.Sprintf(
			"server %q is stateful: one process serves all of its tools, so tool %q has no policy of its own", server, tool)}}
	}
	p := s.process(tool)
	p.others = c.others(server, tool)
	return p, p.validate()
}

// others are the policies of all processes of the configuration but one: each tool with
// a table, what lists the tools of a server and runs those without one, and servers that
// are one process. Those of the same server come first.
func (c *Config) others(server, tool string) (out []*Policy) {
	names := slices.DeleteFunc(c.ServerNames(), func(name string) bool { return name == server })
	for _, name := range append([]string{server}, names...) {
		s := c.Servers[name]
		processes := []string{""}
		for _, t := range sortedKeys(s.Tools) {
			if !s.IsStateful() && s.Tools[t].Access.declared() {
				processes = append(processes, t)
			}
		}
		for _, t := range processes {
			if name != server || t != tool {
				out = append(out, s.process(t))
			}
		}
	}
	return out
}

// process is the policy of one process of a server, not validated.
func (s *Server) process(tool string) *Policy {
	p := s.policy()
	access := s.Access
	if p.Tool = tool; tool != "" {
		access = nil
		if t := s.Tools[tool]; t != nil {
			if access = t.Access; access.declared() {
				p.Where = access.Where
			}
			if t.Warm != nil {
				p.Warm = *t.Warm
			}
		}
	}
	if !access.replaces() {
		p.Default = true
		p.Fs = defaultFs()
	}
	if access != nil {
		p.Fs = append(p.Fs, access.Fs...)
		p.Net = append(p.Net, access.Net...)
		p.Inbound = slices.Clone(access.Inbound)
		p.Env = append(slices.Clone(access.Env), p.Env...)
		p.Sensitive = slices.Clone(access.SensitivePaths)
		if access.Commands != nil {
			p.Commands = []CommandRule{}
			for _, name := range sortedKeys(access.Commands) {
				p.Commands = append(p.Commands, access.Commands[name])
			}
		}
	}
	return p
}

// Declared lists the tools of a server that have a table, sorted.
func (c *Config) Declared(server string) []string {
	s := c.Servers[server]
	if s == nil {
		return nil
	}
	return sortedKeys(s.Tools)
}

// policy fills in everything but the access rules.
func (s *Server) policy() *Policy {
	number := func(p *int, preset int) int {
		if p == nil {
			return preset
		}
		return *p
	}
	p := &Policy{
		Server:             s.Name,
		Command:            s.Command,
		Arguments:          slices.Clone(s.Arguments),
		Workspace:          s.Workspace,
		Description:        s.Description,
		Stateful:           s.IsStateful(),
		Warm:               number(s.Warm, 0),
		MaxConcurrentCalls: number(s.MaxConcurrentCalls, DefaultMaxConcurrentCalls),
		Startup:            time.Duration(number(s.StartupTimeoutSecs, int(DefaultStartup/time.Second))) * time.Second,
		Call:               time.Duration(number(s.CallTimeoutSecs, 0)) * time.Second,
		Roots:              s.Roots,
		Advertise:          s.Advertise != nil && *s.Advertise,
		HomeReal:           s.Home == "real",
		Project:            s.Project,
		Net:                []NetRule{},
		Env:                slices.Clone(s.Variables),
		Limits: Limits{
			MemoryMB:   number(s.Limits.MemoryMB, DefaultLimits.MemoryMB),
			Processes:  number(s.Limits.Processes, DefaultLimits.Processes),
			OpenFiles:  number(s.Limits.OpenFiles, DefaultLimits.OpenFiles),
			FileSizeMB: number(s.Limits.FileSizeMB, DefaultLimits.FileSizeMB),
			MessageMB:  number(s.Limits.MessageMB, DefaultLimits.MessageMB),

			NetOutMB:    number(s.Limits.NetOutMB, DefaultLimits.NetOutMB),
			Connections: number(s.Limits.Connections, DefaultLimits.Connections),
		},
		Waive: sortAxes(s.Waive),
		Where: s.Where,
		idle:  s.idle(),
	}
	if p.Roots == "" {
		p.Roots = "off"
	}
	return p
}

func sortAxes(axes []Axis) []Axis {
	out := slices.Clone(axes)
	sort.Slice(out, func(i, j int) bool { return out[i] < out[j] })
	return slices.Compact(out)
}

// validate refuses rules that contradict each other in a way that can be seen
// without a disk. Resolve looks again when symlinks are known.
func (p *Policy) validate() error {
	_, ps := p.allSecrets()
	ps = append(ps, p.clashes()...)
	if n := len(p.inboundPorts()); n > maxInbound {
		file, line := splitWhere(p.Where)
		ps = append(ps, Problem{file, line, "inbound", fmt.Sprintf("%d ports; more than %d are refused", n, maxInbound)})
	}
	if err := ps.err(); err != nil {
		return err
	}
	return lexicalConflict(p.Fs)
}

// maxInbound bounds the ports of one jail that can be reached from outside.
const maxInbound = 64

// clashes are ports that lead into the jail and out of it: both ways need the
// same listener inside of it.
func (p *Policy) clashes() (ps Problems) {
	for _, in := range p.Inbound {
		for _, r := range p.Net {
			use := "leads to " + r.Host
			if in.Port == 53 {
				use = "is where names are looked up"
			}
			if r.Allow && (in.Port == 53 || slices.Contains(r.Ports(), in.Port)) {
				file, line := splitWhere(in.Where)
				ps = append(ps, Problem{file, line, "inbound", fmt.Sprintf("port %d %s as well (%s): the server cannot listen on it", in.Port, use, r.Where)})
			}
		}
	}
	return ps
}

// inboundPorts are the ports of the rules, each once, sorted.
func (p *Policy) inboundPorts() (ports []int) {
	for _, r := range p.Inbound {
		ports = append(ports, r.Port)
	}
	slices.Sort(ports)
	return slices.Compact(ports)
}

// Remarks says in words what an explicit policy leaves out, for check and plan
// (docs/policy.md "Default and explicit policy").
func (p *Policy) Remarks() (ws []Warning) {
	add := func(code, format string, args ...any) {
		ws = append(ws, Warning{code, fmt.Sprintf(format, args...), p.Where})
	}
	if !p.Default {
		if len(p.Fs) == 0 {
			add("no-fs", "access declares no fs rule: the workspace cannot be reached")
		}
		if len(p.Net) == 0 {
			add("no-net", "access declares no net rule: no host can be reached")
		}
		if len(p.Env) == 0 {
			add("no-env", "access declares no env rule: only the minimal environment is passed")
		}
	}
	if p.Commands != nil {
		add("commands", "access.commands confines which programs the kernel starts; what a started program does is confined by the other axes")
	}
	return append(ws, p.idle...)
}

// idle are the keys that only a server with a process for each call makes use of.
func (s *Server) idle() (ws []Warning) {
	if !s.IsStateful() {
		return nil
	}
	add := func(key, where string) {
		ws = append(ws, Warning{"no-effect", fmt.Sprintf("%s has no effect: server %q is stateful, so one process serves all calls", key, s.Name), where})
	}
	if s.Warm != nil && *s.Warm > 0 {
		add("warm", s.Where)
	}
	if s.MaxConcurrentCalls != nil {
		add("max_concurrent_calls", s.Where)
	}
	for _, name := range sortedKeys(s.Tools) {
		if t := s.Tools[name]; t.Warm != nil && *t.Warm > 0 {
			add("tools."+bareOrQuoted(name)+".warm", t.Where)
		}
	}
	return ws
}
