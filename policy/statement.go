package policy

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	// StatementVar is the variable that tells a server its limits.
	StatementVar = "MCP_JAIL_POLICY"
	// StatementVersion is the version of a Statement's form. It grows when a member
	// changes its meaning, not when one is added.
	StatementVersion = 1
	// MaxStatement bounds a Statement, in bytes of JSON.
	MaxStatement = 8 << 10
	// OwnVariable begins the Rule of a variable that mcp-jail sets by itself.
	OwnVariable = "mcp-jail: "
	// MinimalEnvironment is the Rule of a variable that every server gets.
	MinimalEnvironment = "the minimal environment"
	// PackageEnvironment is the Rule of a variable that an installed package brings.
	PackageEnvironment = "the installed package"
)

// Statement tells a server what it may use. It does not list what is withheld. It is advice;
// the jail enforces the policy. It contains no value of a variable.
type Statement struct {
	Version   int           `json:"version"`
	Server    string        `json:"server"`
	Tool      string        `json:"tool,omitempty"`
	Workspace string        `json:"workspace,omitempty"`
	Home      string        `json:"home"`
	Temporary string        `json:"temporary"` // private, gone at the end
	Fs        []StatementFs `json:"fs"`        // the longest matching path decides, in full
	Net       StatementNet  `json:"net"`
	// Commands are the programs that may be started; null is any.
	Commands  []StatementCommand `json:"commands"`
	Variables []string           `json:"variables"` // names of the set ones, beyond the minimal set and mcp-jail's own
	Limits    limitsJSON         `json:"limits"`
	// Truncated: a list is incomplete, because MaxStatement leaves no room for an item, or a
	// path is not valid UTF-8.
	Truncated bool `json:"truncated,omitempty"`
}

// StatementFs is a path that the server was granted.
type StatementFs struct {
	Path   string   `json:"path"`
	Rights []string `json:"rights"` // of read, create, update, delete, execute
}

// StatementCommand is a program that may be started.
type StatementCommand struct {
	Name string     `json:"name"`           // as in the rule, or a path
	Args [][]string `json:"args,omitempty"` // "*" is any argument, "**" any number of them; none: any
	Envs *[]string  `json:"envs,omitempty"` // of the granted variables; none: all
}

// StatementNet describes the reachable part of the network. Access is "none", "hosts"
// (those in Hosts) or, where a waiver leaves the host's network open, "all". NewStatement never
// sets "all".
type StatementNet struct {
	Access  string          `json:"access"`
	Hosts   []StatementHost `json:"hosts"`
	Inbound []int           `json:"inbound,omitempty"` // ports that are reached from outside
	// Secrets are variables with a placeholder, which mcp-jail replaces by a value in requests
	// to its host.
	Secrets []string `json:"secrets,omitempty"`
}

// StatementHost is one host that may be reached.
type StatementHost struct {
	Host       string   `json:"host"`
	Scheme     string   `json:"scheme,omitempty"`
	Ports      []int    `json:"ports"`
	PathPrefix string   `json:"path_prefix,omitempty"`
	Methods    []string `json:"methods,omitempty"`
}

// Statement returns, as one line of JSON, what the server may use. Equal profiles have
// equal statements. For the filesystem it lists the grants of rules and the server's home,
// and leaves out the paths that every program can read.
func (p *Profile) Statement() []byte {
	s := NewStatement(p)
	return s.Encode()
}

// NewStatement returns what a server with this profile may use. Temporary is /tmp.
func NewStatement(p *Profile) Statement {
	s := Statement{
		Version: StatementVersion, Server: p.Server, Tool: p.Tool, Home: p.Home, Temporary: "/tmp",
		Fs: []StatementFs{}, Variables: []string{}, Net: StatementNet{Access: "none", Hosts: []StatementHost{}}, Limits: limitsJSON(p.Limits),
	}
	if !slices.ContainsFunc(p.Net, func(r NetRule) bool { return r.Allow }) {
		s.Limits.NetOutMB, s.Limits.Connections = 0, 0 // of a network that is not there
	}
	if e, _ := p.Find(p.Workspace); e.Rights != 0 {
		s.Workspace = p.Workspace
	}
	// The environment of a process is limited. The lists below take the room in this order.
	room := MaxStatement - len(s.Encode()) - len(`,"truncated":true,"access":"hosts","inbound":,"secrets":[]`)
	fits := func(v any) bool {
		text, err := json.Marshal(v)
		if room -= len(text) + 1; err != nil || room < 0 {
			s.Truncated, room = true, 0
			return false
		}
		return true
	}
	if p.Inbound != nil && fits(p.Inbound) {
		s.Net.Inbound = p.Inbound
	}
	for _, secret := range p.Secrets {
		if fits(secret.Env) {
			s.Net.Secrets = append(s.Net.Secrets, secret.Env)
		}
	}
	for _, r := range p.Net {
		if !r.Allow {
			continue
		}
		s.Net.Access = "hosts"
		if h := (StatementHost{r.Host, r.Scheme, list(r.Ports()), r.PathPrefix, r.Methods}); fits(h) {
			s.Net.Hosts = append(s.Net.Hosts, h)
		}
	}
	for _, e := range p.Entries {
		if e.Rights == 0 || e.Origin != OriginRule && e.Origin != OriginHome {
			continue
		}
		if !utf8.ValidString(e.Path) { // JSON cannot say it
			s.Truncated = true
			continue
		}
		if f := (StatementFs{e.Path, rightList(e.Rights)}); fits(f) {
			s.Fs = append(s.Fs, f)
		}
	}
	s.addNames(p, fits)
	return s
}

func (s *Statement) addNames(p *Profile, fits func(any) bool) {
	for _, v := range p.Env {
		own := IsMinimalVariable(v.Name) || strings.HasPrefix(v.Rule, OwnVariable)
		if !own && fits(v.Name) {
			s.Variables = append(s.Variables, v.Name)
		}
	}
	if p.Programs != nil {
		s.Commands = []StatementCommand{}
	}
	add := func(c StatementCommand) {
		if fits(c) {
			s.Commands = append(s.Commands, c)
		}
	}
	for _, c := range p.Commands {
		command := StatementCommand{Name: c.Name, Args: c.Args}
		if c.OnlyEnvs {
			envs := list(c.Envs)
			command.Envs = &envs
		}
		add(command)
	}
	if p.Commands != nil {
		return // Programs has their interpreters too, which need rules of their own
	}
	for _, file := range p.Programs {
		if !slices.Contains(p.Loaders, file) {
			add(StatementCommand{Name: file})
		}
	}
}

// Encode returns the statement on one line of JSON. It is not HTML, so <, > and & stay.
func (s *Statement) Encode() []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		panic(err) // strings, numbers and lists of them
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

func rightList(r Rights) []string {
	out := []string{}
	for _, n := range RightNames {
		if r.Has(n.Right) {
			out = append(out, n.Name)
		}
	}
	return out
}

// RootsIn returns dir and the directories below it that rules let the server read. It leaves
// out a directory inside another of them, unless a path between the two cannot be read.
// Clients show the result as roots.
func (p *Profile) RootsIn(dir string) (dirs []string) {
	for _, e := range p.Entries { // sorted: wider directories come first
		if e.Origin != OriginRule || e.Kind != KindDir || !e.Rights.Has(Read) || !Within(e.Path, dir) {
			continue
		}
		if !slices.ContainsFunc(dirs, func(wider string) bool { return Within(e.Path, wider) && !p.hasUnreadableParent(e.Path, wider) }) {
			dirs = append(dirs, e.Path)
		}
	}
	return dirs
}

func (p *Profile) hasUnreadableParent(path, wider string) bool {
	for at := path; at != wider; at = at[:max(strings.LastIndexByte(at, '/'), 1)] {
		if !p.RightsAt(at).Has(Read) {
			return true
		}
		if at == "/" {
			break
		}
	}
	return false
}
