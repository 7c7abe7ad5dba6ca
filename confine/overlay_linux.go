//go:build !seatbelt

package confine

import (
	"os"

	"github.com/mcp-jail/mcp-jail/confine/internal/features"
	"github.com/mcp-jail/mcp-jail/confine/internal/plan"
	"github.com/mcp-jail/mcp-jail/confine/internal/refused"
	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/policy"
)

// probeOverlays reports, for each directory and file of which a server gets a copy, whether that can be made.
func (l Launcher) probeOverlays(p *policy.Profile) map[string]features.Feature {
	return refused.Copies(p, l.probeOverlay)
}

// probeOverlay has a stub mount the overlay, or copy the file. For a directory that does not exist yet the
// answer is Unknown.
func (l Launcher) probeOverlay(dir string) features.Feature {
	info, err := os.Lstat(dir)
	if err != nil {
		return features.Feature{}
	}
	m := spec.Mount{Kind: spec.MountOverlay, Path: dir, IsDir: true}
	if info.Mode().IsRegular() {
		m = spec.Mount{Kind: spec.MountCopy, Path: dir}
	}
	return refused.AskCopy(dir, func() error {
		s := l.spawn(kindNamespaced)
		s.process.plan = &plan.Plan{Profile: &policy.Profile{}}
		sp := spec.Spec{Mounts: []spec.Mount{m}}
		s.send(startRequest{plan: s.process.plan, spec: sp})
		err := <-s.started
		<-s.process.done
		return err
	})
}
