package config

import (
	"fmt"
	"path"
	"slices"

	"github.com/mcp-jail/mcp-jail/policy"
)

// A Placed policy is one without the rules that have no effect on this host, with the path on the
// host that each of its rules for files leads to.
type Placed struct {
	Policy *policy.Policy
	Paths  []string
}

// AsWritten returns a policy as it is without a host: the paths are those of the rules.
func AsWritten(p *policy.Policy) Placed {
	out := Placed{Policy: p}
	for _, r := range p.Fs {
		out.Paths = append(out.Paths, path.Join(r.Base, r.Path))
	}
	return out
}

// RightsAt returns the rights that the rules together give at a path.
func (p Placed) RightsAt(at string) (rights policy.Rights) {
	var denied policy.Rights
	for i, r := range p.Policy.Fs {
		if policy.Within(at, p.Paths[i]) || p.Paths[i] == "." && !path.IsAbs(at) {
			rights, denied = rights|r.Rights(), denied|r.Deny
		}
	}
	return rights &^ denied
}

// filesChanged corrects the changes that compare rules by their text: what a rule gives depends on
// those around it and after it. It adds the rights that no new rule says, and leaves out the loss
// of a rule that takes no right away.
func filesChanged(before, after Placed, changes []Change) []Change {
	for i, r := range before.Policy.Fs {
		text := "no longer: " + rightsText(r.Path, r.Rights())
		if r.Rights() != 0 && r.Where != policy.DefaultSource && before.RightsAt(before.Paths[i])&^after.RightsAt(before.Paths[i]) == 0 {
			changes = slices.DeleteFunc(changes, func(c Change) bool { return c.Text == text })
		}
	}
	says := func(at string) bool {
		for i, r := range after.Policy.Fs {
			text := rightsText(r.Path, r.Rights())
			if r.Where == policy.DefaultSource {
				text = byDefault
			}
			if after.Paths[i] == at && slices.Contains(changes, Change{text, true}) {
				return true
			}
		}
		return false
	}
	for _, p := range []Placed{after, before} {
		for i, r := range p.Policy.Fs {
			at := p.Paths[i]
			gained := after.RightsAt(at) &^ before.RightsAt(at)
			c := Change{rightsText(r.Path, gained), true}
			if gained != 0 && !says(at) && !slices.Contains(changes, c) {
				changes = append(changes, c)
			}
		}
	}
	return changes
}

func rightsText(path string, rights policy.Rights) string {
	return fmt.Sprintf("%s (%s)", path, rights)
}
