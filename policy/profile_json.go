package policy

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
)

// MarshalJSON returns the profile in the form that plan prints. The value of a secret
// variable never appears in it.
func (p *Profile) MarshalJSON() ([]byte, error) { return json.Marshal(p.document()) }

// profileJSON is the form of a profile that plan prints, for encoding/json. Its names
// are stable: plan prints them, and [Profile.Key] is made of them. Package json asks a type for the
// members of all types in it, and a start waits for that. Behind any it asks for what is there.
type profileJSON struct {
	Server      string     `json:"server"`
	Tool        string     `json:"tool,omitempty"`
	Program     string     `json:"program"`
	Argv        []string   `json:"argv"`
	Dir         string     `json:"dir"`
	Workspace   string     `json:"workspace,omitempty"`
	Home        string     `json:"home"`
	HomePrivate bool       `json:"home_private"`
	Default     bool       `json:"default_policy"`
	Entries     []Entry    `json:"fs"`
	Links       []Link     `json:"links"`
	ListOnly    []string   `json:"list_only,omitempty"`
	HomeLinks   []HomeLink `json:"home_links,omitempty"`
	Unprotected []string   `json:"unprotected_names"`
	GitDirs     []string   `json:"git_dirs,omitempty"`
	GitConfig   string     `json:"git_config,omitempty"`
	IgnoreCase  []string   `json:"ignore_case,omitempty"`
	Programs    []string   `json:"programs"` // null: any
	Loaders     []string   `json:"loaders,omitempty"`
	CommandArgs []string   `json:"command_args,omitempty"`
	Commands    any        `json:"commands,omitempty"`
	Net         any        `json:"net"`
	Inbound     []int      `json:"inbound,omitempty"`
	Optional    []int      `json:"inbound_optional,omitempty"`
	Secrets     any        `json:"secrets,omitempty"`
	Env         []Variable `json:"env"`
	Withheld    []string   `json:"withheld"`
	Limits      Limits     `json:"limits"`
	Waive       []Axis     `json:"waive"`
	Startup     float64    `json:"startup_timeout_secs"`
	Call        float64    `json:"call_timeout_secs"`
	Roots       string     `json:"roots"`
	Undo        *Undo      `json:"undo,omitempty"`  // nil: off
	Leaks       string     `json:"leaks,omitempty"` // "": "warn"
	Patterns    bool       `json:"leak_patterns,omitempty"`
}

type commandJSON struct {
	Name string     `json:"name"`
	Args [][]string `json:"args,omitempty"` // none: any
	Envs []string   `json:"envs,omitzero"`  // nil: all variables
	Rule string     `json:"rule,omitempty"`
}

type netJSON struct {
	Host       string `json:"host"`
	Scheme     string `json:"scheme,omitempty"`
	Ports      []int  `json:"ports,omitempty"` // none: every one
	PathPrefix string `json:"path_prefix,omitempty"`

	Methods []string `json:"methods,omitempty"`
	Secrets []string `json:"secrets,omitempty"` // names of variables

	Allow bool   `json:"allow"`
	Rule  string `json:"rule"`
}

type secretJSON struct {
	Env     string   `json:"env"`
	File    string   `json:"file,omitempty"`
	Command []string `json:"command,omitempty"`
	Rule    string   `json:"rule"`
}

func (p *Profile) document() profileJSON {
	out := profileJSON{
		Server: p.Server, Tool: p.Tool, Program: p.Program, Argv: list(p.Argv), Dir: p.Dir, Workspace: p.Workspace,
		Home: p.Home, HomePrivate: p.HomePrivate, Default: p.Default,
		Entries: append([]Entry{}, p.Entries...), Links: list(p.Links), HomeLinks: p.HomeLinks, Env: append([]Variable{}, p.Env...),
		Net: p.netDocument(), Secrets: p.secretsDocument(), Commands: p.commandsDocument(),
		Unprotected: list(p.Unprotected), ListOnly: p.ListOnly, GitDirs: p.GitDirs, GitConfig: p.GitConfig, IgnoreCase: p.IgnoreCase,
		Programs: p.Programs, Loaders: p.Loaders, CommandArgs: p.CommandArgs, Withheld: list(p.Withheld),
		Inbound: p.Inbound, Optional: p.OptionalInbound, Limits: p.Limits, Waive: list(p.Waive),
		Startup: p.Startup.Seconds(), Call: p.Call.Seconds(), Roots: p.Roots, Patterns: p.LeakPatterns,
	}
	if p.Leaks != LeaksWarn {
		out.Leaks = p.Leaks
	}
	if p.Undo.On() {
		out.Undo = &p.Undo
	}
	for i, e := range out.Entries {
		if e.Named == e.Path {
			out.Entries[i].Named = ""
		}
	}
	for i, v := range out.Env {
		if v.Secret {
			out.Env[i].Value = ""
		}
	}
	return out
}

func (p *Profile) netDocument() any {
	out := make([]netJSON, 0, len(p.Net))
	for _, r := range p.Net {
		ports := r.Ports()
		if !r.Allow && r.Port == 0 {
			ports = nil
		}
		out = append(out, netJSON{r.Host, r.Scheme, ports, r.PathPrefix, r.Methods, r.SecretNames(), r.Allow, r.Where})
	}
	if len(out) == 0 {
		return []string{}
	}
	return out
}

func (p *Profile) secretsDocument() any {
	var out []secretJSON
	for _, s := range p.Secrets {
		out = append(out, secretJSON{s.Env, s.File, s.Command, s.Where})
	}
	return unlessEmpty(out)
}

func (p *Profile) commandsDocument() any {
	var out []commandJSON
	for _, c := range p.Commands {
		out = append(out, commandJSON{Name: c.Name, Args: c.Args, Envs: c.Envs, Rule: c.Where})
	}
	return unlessEmpty(out)
}

func unlessEmpty[T any](s []T) any {
	if len(s) == 0 {
		return nil
	}
	return s
}

// list makes sure that JSON says [] and not null.
func list[T any](in []T) []T {
	if in == nil {
		return []T{}
	}
	return in
}

// Key returns a digest by which equal profiles can be found again: the same on every
// run. Files enter with their identity. The values of secret variables do not enter, so
// that the digest can be printed.
func (p *Profile) Key() string {
	ids := make([]FileID, len(p.Entries))
	for i, e := range p.Entries {
		ids[i] = e.ID
	}
	text, err := json.Marshal(struct {
		P        profileJSON
		IDs      []FileID
		Commands any
		Own      []string
	}{p.document(), ids, unlessEmpty(p.Commands), p.OwnPrograms})
	if err != nil {
		panic(err) // no float but those of durations, no cycle, no channel
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}
