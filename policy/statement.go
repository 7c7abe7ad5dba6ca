package policy

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	// StatementVersion is the version of a Statement's form. It grows when a member changes its
	// meaning, not when one is added.
	StatementVersion = 1
	// MaxBytes bounds a Statement, in bytes of JSON.
	MaxBytes = 8 << 10
)

// Statement tells a server what it may use. It does not list what is withheld.
type Statement struct {
	Version   int        `json:"version"`
	Server    string     `json:"server"`
	Tool      string     `json:"tool,omitempty"`
	Workspace string     `json:"workspace,omitempty"`
	Home      string     `json:"home"`
	Temporary string     `json:"temporary"` // private, gone at the end
	Fs        []StatedFs `json:"fs"`        // the longest matching path decides, in full
	Net       StatedNet  `json:"net"`
	// Commands are the programs that may be started; null is any.
	Commands []StatedCommand `json:"commands"`
	// AndCommands must allow each start as well; none: Commands decide alone.
	AndCommands []StatedCommand `json:"and_commands,omitzero"`
	Variables   []string        `json:"variables"` // names of the set ones, beyond the minimal set and mcp-jail's own
	Limits      Limits          `json:"limits"`
	// Truncated: a list is incomplete, because MaxBytes leaves no room for an item, or a
	// path is not valid UTF-8.
	Truncated bool `json:"truncated,omitempty"`
}

// StatedFs is a path that the server was granted.
type StatedFs struct {
	Path   string   `json:"path"`
	Rights []string `json:"rights"` // of read, create, update, delete, execute
}

// StatedCommand is a program that may be started.
type StatedCommand struct {
	Name string     `json:"name"`           // as in the rule, or a path
	Args [][]string `json:"args,omitempty"` // "*" is any argument, "**" any number of them; none: any
	Envs []string   `json:"envs,omitzero"`  // of the granted variables; none: all
}

// StatedNet describes the reachable part of the network. Access is "none", "hosts"
// (those in Hosts) or, where a waiver leaves the host's network open, "all". NewStatement never
// sets "all".
type StatedNet struct {
	Access  string       `json:"access"`
	Hosts   []StatedHost `json:"hosts"`
	Inbound []int        `json:"inbound,omitempty"` // ports that are reached from outside
	// Secrets are variables with a placeholder, which mcp-jail replaces by a value in requests
	// to its host.
	Secrets []string `json:"secrets,omitempty"`
}

// StatedHost is one host that may be reached.
type StatedHost struct {
	Host       string   `json:"host"`
	Scheme     string   `json:"scheme,omitempty"`
	Ports      []int    `json:"ports"`
	PathPrefix string   `json:"path_prefix,omitempty"`
	Methods    []string `json:"methods,omitempty"`
}

// NewStatement returns what a server with this profile may use. Equal profiles have equal statements. For
// the filesystem it lists the grants of rules and the server's home, and leaves out the paths that
// every program can read. Temporary is /tmp.
func NewStatement(p *Profile) *Statement {
	s := &Statement{
		Version: StatementVersion, Server: p.Server, Tool: p.Tool, Home: p.Home, Temporary: "/tmp",
		Fs: []StatedFs{}, Variables: []string{}, Net: StatedNet{Access: "none", Hosts: []StatedHost{}}, Limits: p.Limits,
	}
	if e, _ := p.Find(p.Workspace); e.Rights != 0 {
		s.Workspace = p.Workspace
	}
	// The environment of a process is limited. The lists below take the room in this order.
	room := MaxBytes - len(s.Encode()) - len(`,"truncated":true,"access":"hosts","inbound":,"secrets":[]`)
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
		if h := (StatedHost{r.Host, r.Scheme, list(r.Ports()), r.PathPrefix, r.Methods}); fits(h) {
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
		if f := (StatedFs{e.Path, e.Rights.Names()}); fits(f) {
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
		s.Commands = []StatedCommand{}
	}
	add := func(to *[]StatedCommand, c StatedCommand) {
		if fits(c) {
			*to = append(*to, c)
		}
	}
	for _, c := range p.Commands {
		add(&s.Commands, StatedCommand{Name: c.Name, Args: c.Args, Envs: c.Envs})
	}
	if p.AndCommands != nil {
		s.AndCommands = []StatedCommand{}
	}
	for _, c := range p.AndCommands {
		add(&s.AndCommands, StatedCommand{Name: c.Name, Args: c.Args, Envs: c.Envs})
	}
	if p.Commands != nil {
		return // Programs has their interpreters too, which need rules of their own
	}
	for _, file := range p.Programs {
		if !slices.Contains(p.Loaders, file) {
			add(&s.Commands, StatedCommand{Name: file})
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
