package npm

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// A Packument is what a registry says of a package, as far as a choice of versions needs it.
type Packument struct {
	Tags     map[string]string   `json:"dist-tags"`
	Versions map[string]*Release `json:"versions"`
}

// A Release is one version of a package.
type Release struct {
	Name                 string            `json:"name"`
	Version              string            `json:"version"`
	Dependencies         map[string]string `json:"dependencies"`
	OptionalDependencies map[string]string `json:"optionalDependencies"`
	PeerDependencies     map[string]string `json:"peerDependencies"`
	PeerMeta             map[string]struct {
		Optional bool `json:"optional"`
	} `json:"peerDependenciesMeta"`
	Dist struct {
		Tarball   string `json:"tarball"`
		Integrity string `json:"integrity"`
	} `json:"dist"`
	OS         list `json:"os"`
	CPU        list `json:"cpu"`
	Libc       list `json:"libc"`
	Deprecated any  `json:"deprecated"`
}

// list is a list of words, or one word.
type list []string

func (l *list) UnmarshalJSON(data []byte) error {
	var one string
	if json.Unmarshal(data, &one) == nil {
		*l = list{one}
		return nil
	}
	var all []string
	if json.Unmarshal(data, &all) == nil {
		*l = all
	}
	return nil
}

// Guess returns the version that npm probably takes for a range or tag, or nil. have are versions
// that were taken already: npm takes one of them again if it fits.
func (p *Packument) Guess(rng string, have []string) *Release {
	if tagged, ok := p.Tags[rng]; ok {
		return p.Versions[tagged]
	}
	for _, v := range have {
		if ok, err := inRange(rng, v); ok && err == nil {
			return p.Versions[v]
		}
	}
	if r := p.Versions[p.Tags["latest"]]; r != nil {
		if ok, err := inRange(rng, r.Version); ok && err == nil && (r.Deprecated == nil || r.Deprecated == "" || r.Deprecated == false) {
			return r
		}
	}
	sets, err := parseRange(rng, false)
	if err != nil {
		return nil
	}
	var best *Release
	var of version
	for _, text := range slices.Sorted(maps.Keys(p.Versions)) { // of two with the same precedence always the same one
		r := p.Versions[text]
		v, err := parseVersion(text)
		if err != nil || r == nil {
			continue
		}
		for _, set := range sets {
			if has(set, v, false) && (best == nil || v.compare(of) > 0) {
				best, of = r, v
			}
		}
	}
	return best
}

// Fits reports whether a list of systems, such as that of os or cpu, admits one.
func Fits(systems []string, system string) bool {
	named := false
	for _, s := range systems {
		if not, is := strings.CutPrefix(s, "!"); is {
			if not == system {
				return false
			}
			continue
		}
		named = true
		if s == system || s == "any" {
			return true
		}
	}
	return !named
}
