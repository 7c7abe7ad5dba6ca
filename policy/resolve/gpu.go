package resolve

import (
	"strings"

	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
	"github.com/mcp-jail/mcp-jail/policy/resolve/internal/gpu"
	"github.com/mcp-jail/mcp-jail/policy/resolve/internal/places"
)

// grantGPUs grants what programs on the host's GPUs need, if the policy says gpu = true. It takes
// nothing from a rule, and grants no path that a rule refuses or that is hidden.
func (b *additions) grantGPUs() {
	if !b.p.GPU {
		return
	}
	found, unknown := gpu.Find(b.h, b.paths)
	if len(unknown) > 0 {
		b.warnings.warn("gpu", b.p.Where, "gpu = true does not grant %s, which NVIDIA, AMD and Intel did not make: a rule for that path with read and update does", strings.Join(unknown, ", "))
	}
	if len(found) == 0 {
		b.warnings.warn("gpu", b.p.Where, "gpu = true grants nothing: this host has no device node of a GPU (/dev/nvidia*, /dev/kfd, /dev/dri/renderD*, /dev/dxg)")
	}
	for _, place := range found {
		at, err := b.paths.Resolve(place.Path)
		if err != nil || !at.Exists() {
			continue
		}
		near, covered := b.entries.Find(at.Path)
		if covered && near.Rights == 0 || places.Sensitive(b.h, b.p, at.Path) != "" {
			b.warnings.warn("gpu", b.p.Where, "gpu = true does not grant %s, which is refused or hidden", place.Path)
			continue
		}
		*b.links = append(*b.links, at.Links...)
		if covered && near.Rights.Has(place.Rights) {
			continue
		}
		rule := "gpu = true"
		if place.Maker != "" {
			rule += ": " + place.Maker
		}
		b.entries[at.Path] = policy.Entry{Path: at.Path, Kind: hostfs.KindOf(at.Info.Mode), Rights: near.Rights | place.Rights, Origin: policy.OriginBaseline, Named: place.Path, Rule: rule, ID: at.Info.ID}
	}
}
