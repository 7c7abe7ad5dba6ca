package policy

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"reflect"
)

// String names the kind.
func (k Kind) String() string {
	switch k {
	case KindDir:
		return "directory"
	case KindFile:
		return "file"
	case KindSpecial:
		return "special"
	}
	return "unknown"
}

// String names the origin.
func (o Origin) String() string {
	switch o {
	case OriginBaseline:
		return "baseline"
	case OriginRule:
		return "rule"
	case OriginHome:
		return "home"
	case OriginSensitive:
		return "sensitive"
	case OriginProtected:
		return "protected"
	}
	return "unknown"
}

// MarshalJSON returns the profile in the form that plan prints. The value of a secret
// variable never appears in it.
func (p *Profile) MarshalJSON() ([]byte, error) { return json.Marshal(p.document()) }

// profileJSON is the form of a profile that plan prints, for encoding/json. Its names
// are stable: plan prints them, and [Profile.Key] is made of them. Package json asks a type for the
// members of all types in it, and a start waits for that. Behind any it asks for what is there.
type profileJSON struct {
	Server      string         `json:"server"`
	Tool        string         `json:"tool,omitempty"`
	Program     string         `json:"program"`
	Argv        []string       `json:"argv"`
	Dir         string         `json:"dir"`
	Workspace   string         `json:"workspace,omitempty"`
	Home        string         `json:"home"`
	HomePrivate bool           `json:"home_private"`
	Default     bool           `json:"default_policy"`
	Entries     []entryJSON    `json:"fs"`
	Links       []linkJSON     `json:"links"`
	ListOnly    []string       `json:"list_only,omitempty"`
	HomeLinks   []linkJSON     `json:"home_links,omitempty"`
	Unprotected []string       `json:"unprotected_names"`
	GitDirs     []string       `json:"git_dirs,omitempty"`
	GitConfig   string         `json:"git_config,omitempty"`
	IgnoreCase  []string       `json:"ignore_case,omitempty"`
	Programs    []string       `json:"programs"` // null: any
	Loaders     []string       `json:"loaders,omitempty"`
	CommandArgs []string       `json:"command_args,omitempty"`
	Commands    any            `json:"commands,omitempty"`
	Net         any            `json:"net"`
	Inbound     []int          `json:"inbound,omitempty"`
	Optional    []int          `json:"inbound_optional,omitempty"`
	Secrets     any            `json:"secrets,omitempty"`
	Env         []variableJSON `json:"env"`
	Withheld    []string       `json:"withheld"`
	Limits      Limits         `json:"limits"`
	Waive       []Axis         `json:"waive"`
	Startup     float64        `json:"startup_timeout_secs"`
	Call        float64        `json:"call_timeout_secs"`
	Roots       string         `json:"roots"`
	Undo        any            `json:"undo,omitempty"`  // nil: off
	Leaks       string         `json:"leaks,omitempty"` // "": "warn"
	Patterns    bool           `json:"leak_patterns,omitempty"`
}

type undoJSON struct {
	Mode    string `json:"mode"`
	TotalMB int    `json:"total_mb"`
}

type entryJSON struct {
	Path   string   `json:"path"`
	Kind   string   `json:"kind"`
	Rights []string `json:"rights"`
	Origin string   `json:"origin"`
	Named  string   `json:"named,omitempty"`
	Rule   string   `json:"rule"`
	Make   bool     `json:"make,omitempty"`
	// Ephemeral: a copy, thrown away at the end.
	Ephemeral bool `json:"ephemeral,omitempty"`
}

type commandJSON struct {
	Name string     `json:"name"`
	Args [][]string `json:"args,omitempty"` // none: any
	Envs *[]string  `json:"envs,omitempty"` // none: all variables
	Rule string     `json:"rule,omitempty"`
}

type linkJSON struct {
	Path   string `json:"path"`
	Target string `json:"target"`
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

type variableJSON struct {
	Name   string `json:"name"`
	Value  string `json:"value,omitempty"`
	Secret bool   `json:"secret,omitempty"`
	Rule   string `json:"rule"`
}

func (p *Profile) document() profileJSON {
	out := profileJSON{
		Server: p.Server, Tool: p.Tool, Program: p.Program, Argv: list(p.Argv), Dir: p.Dir, Workspace: p.Workspace,
		Home: p.Home, HomePrivate: p.HomePrivate, Default: p.Default,
		Entries: []entryJSON{}, Links: []linkJSON{}, Net: p.netDocument(), Secrets: p.secretsDocument(), Commands: p.commandsDocument(), Env: []variableJSON{},
		Unprotected: list(p.Unprotected), ListOnly: p.ListOnly, GitDirs: p.GitDirs, GitConfig: p.GitConfig, IgnoreCase: p.IgnoreCase, Programs: p.Programs, Loaders: p.Loaders, CommandArgs: p.CommandArgs, Withheld: list(p.Withheld),
		Inbound: p.Inbound, Optional: p.OptionalInbound, Limits: p.Limits, Waive: list(p.Waive),
		Startup: p.Startup.Seconds(), Call: p.Call.Seconds(), Roots: p.Roots, Patterns: p.LeakPatterns,
	}
	if p.Leaks != LeaksWarn {
		out.Leaks = p.Leaks
	}
	if p.Undo.On() {
		out.Undo = (*undoJSON)(&p.Undo)
	}
	for _, e := range p.Entries {
		j := entryJSON{Path: e.Path, Kind: e.Kind.String(), Rights: e.Rights.Names(), Origin: e.Origin.String(), Rule: e.Rule, Make: e.Make, Ephemeral: e.Ephemeral}
		if e.Named != e.Path {
			j.Named = e.Named
		}
		out.Entries = append(out.Entries, j)
	}
	p.addLinks(&out)
	for _, v := range p.Env {
		j := variableJSON(v)
		if v.Secret {
			j.Value = ""
		}
		out.Env = append(out.Env, j)
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
		j := commandJSON{Name: c.Name, Args: c.Args, Rule: c.Where}
		if c.OnlyEnvs {
			envs := list(c.Envs)
			j.Envs = &envs
		}
		out = append(out, j)
	}
	return unlessEmpty(out)
}

func (p *Profile) addLinks(out *profileJSON) {
	for _, l := range p.Links {
		out.Links = append(out.Links, linkJSON(l))
	}
	for _, l := range p.HomeLinks {
		out.HomeLinks = append(out.HomeLinks, linkJSON{l.Path, l.Target})
	}
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

// Equal reports whether two profiles are the same in everything, the identity of
// files and the values of variables included.
func (p *Profile) Equal(q *Profile) bool {
	return p == q || p != nil && q != nil && reflect.DeepEqual(p, q)
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
		Commands any      `json:",omitempty"` // profiles without them keep the keys of older versions
		Own      []string `json:",omitempty"`
	}{p.document(), ids, unlessEmpty(p.Commands), p.OwnPrograms})
	if err != nil {
		panic(err) // no float but those of durations, no cycle, no channel
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}
