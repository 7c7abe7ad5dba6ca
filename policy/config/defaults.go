package config

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
)

// Defaults is the table [defaults]. Its settings hold for every server that does not set them,
// and its rules for every server. No rule in it grants a file, a host or a program.
type Defaults struct {
	Env            []policy.EnvRule
	SensitivePaths []string
	sensitiveAt    map[string]string // their places
	Kept           []string          // see LoadDefaults and policy.Policy.Kept
	Waive          []policy.Axis     // words of operating systems
	Where          string
	Settings       Settings
}

func (d *Defaults) overlay(l *Defaults) {
	d.Where = l.Where
	d.Settings = l.Settings.over(d.Settings)
	d.Env = append(d.Env, l.Env...)
	if d.sensitiveAt == nil {
		d.sensitiveAt = map[string]string{}
	}
	maps.Copy(d.sensitiveAt, l.sensitiveAt)
	d.SensitivePaths = append(d.SensitivePaths, l.SensitivePaths...)
	d.Waive = append(d.Waive, l.Waive...)
}

func (d *Defaults) below(s *Server) *Server {
	if d == nil {
		return s
	}
	out := *s
	lower := d.Settings
	if s.IsStateful() { // it has no effect on a stateful server
		lower = maps.Clone(lower)
		delete(lower, "warm")
	}
	out.Settings = s.Settings.over(lower)
	return &out
}

// refusals returns the defaults without the variables that they forward and what they waive, and
// without the settings that are weaker than the built-in values.
func (d *Defaults) refusals() *Defaults {
	if d == nil {
		return nil
	}
	out := &Defaults{SensitivePaths: d.SensitivePaths, Kept: d.Kept, Where: d.Where}
	for _, r := range d.Env {
		if !r.Read {
			out.Env = append(out.Env, r)
		}
	}
	out.Settings, _ = d.Settings.without(func(s policy.Setting) bool {
		set := settingOf(s.Key)
		return set.stricter != unordered && s.Key != "undo_total_mb" && set.loosens("", s.Value)
	})
	return out
}

// apply adds the rules of the defaults to a policy, before its own.
func (d *Defaults) apply(p *policy.Policy) {
	if d == nil {
		return
	}
	p.Env = append(slices.Clone(d.Env), p.Env...)
	p.Sensitive = append(slices.Clone(d.SensitivePaths), p.Sensitive...)
	p.Kept = d.Kept
	p.Waive = policy.SortAxes(append(p.Waive, d.Waive...))
}

// settingsOf returns the settings of with, which is the server own with the defaults d below it,
// and the rules of d.
func settingsOf(with, own *Server, d *Defaults) (out []policy.Setting) {
	for _, key := range slices.Sorted(maps.Keys(with.Settings)) {
		set := with.Settings[key]
		_, has := own.Settings[key]
		set.Default = !has && d != nil
		out = append(out, set)
	}
	if d == nil {
		return out
	}
	for _, r := range d.Env {
		rule := fmt.Sprintf("{ name = %s, read = %v }", show.TOML(r.Name), r.Read)
		out = append(out, policy.Setting{Key: "env", Value: rule, Where: r.Where, Default: true})
	}
	if len(d.SensitivePaths) > 0 {
		out = append(out, policy.Setting{Key: "sensitive_paths", Value: show.List(d.SensitivePaths), Where: cmp.Or(d.sensitiveAt[d.SensitivePaths[0]], d.Where), Default: true})
	}
	if len(d.Waive) > 0 {
		out = append(out, policy.Setting{Key: "waive", Value: show.List(axisTexts(d.Waive)), Where: d.Where, Default: true})
	}
	return out
}

func (c *Config) refuseDefaults() policy.Problems {
	if c.Defaults == nil {
		return nil
	}
	return policy.Problems{policy.ProblemAt(c.Defaults.Where, "defaults", "[defaults] of a project's file would hold for all of your servers: write the values into [servers.NAME], or into your own file")}
}

// LoadDefaults returns the defaults of the system's and the user's file, for servers that no file
// declares; nil if there are none. They have the files of secrets, too, which are kept from those
// servers. A file with neither the word "defaults", nor "secret", nor a backslash is not decoded, so
// a mistake in it stops no such server.
func LoadDefaults(o LoadOptions) (*Defaults, error) {
	layers, err := o.layers()
	if err != nil {
		return nil, err
	}
	layers = slices.DeleteFunc(layers, func(l layer) bool { return l.project })
	merged, problems, err := o.merge(layers, func(data []byte) bool {
		return !bytes.Contains(data, []byte("defaults")) && !bytes.Contains(data, []byte("secret")) && !bytes.ContainsRune(data, '\\') // an escape may be in a key
	})
	if err != nil {
		return nil, err
	}
	if kept := merged.secretFiles(); len(kept) > 0 {
		if merged.Defaults == nil {
			merged.Defaults = &Defaults{}
		}
		merged.Defaults.Kept = kept
	}
	return merged.Defaults, problems.Err()
}

func (c *Config) secretFiles() (files []string) {
	for _, name := range c.ServerNames() {
		for _, a := range c.Servers[name].accesses() {
			files = append(files, (&policy.Policy{Net: a.Net}).SecretFiles()...)
		}
	}
	slices.Sort(files)
	return slices.Compact(files)
}
