package presets

import (
	"maps"
	"slices"
)

// A Chosen is a value of an entry that chooses the host for a secret of the preset.
type Chosen struct {
	Secret       Variable
	Label, Value string
}

// Chosen returns the values of an entry that name other hosts than the preset does, and for each
// the secrets that would be sent there.
func (p *Preset) Chosen(e Entry) (all []Chosen) {
	values := map[string][]string{}
	for name, value := range e.Env {
		values[name] = append(values[name], value)
	}
	for _, g := range p.arguments(e.Args) {
		values[g.argument.Label()] = append(values[g.argument.Label()], g.word)
	}
	for _, secret := range p.Variables {
		for _, label := range slices.Sorted(maps.Keys(values)) {
			if !secret.Secret || secret.Name == label || !p.sends(secret, label) {
				continue
			}
			for _, value := range values[label] {
				if value != "" && !p.isOwnHost(secret, label, value) {
					all = append(all, Chosen{secret, label, value})
				}
			}
		}
	}
	return all
}

// sends reports whether a secret may be sent to the host that a label names. The server gets a
// secret that has no hosts of its own, and may send it to any.
func (p *Preset) sends(secret Variable, label string) bool {
	if len(secret.Hosts)+len(secret.HostsFrom) > 0 {
		return slices.Contains(secret.HostsFrom, label)
	}
	kind := p.kind(label)
	return kind == URL || kind == Host || kind == Database
}

// isOwnHost reports whether a value names hosts alone that the preset has for the secret.
func (p *Preset) isOwnHost(secret Variable, label, value string) bool {
	rules, err := hostsOf(p.valueOf(label), value)
	for _, r := range rules {
		if r.Scheme != "https" || !slices.Contains(secret.Hosts, r.Host) {
			return false
		}
	}
	return err == nil
}
