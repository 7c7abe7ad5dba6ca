package confine

import (
	"os"

	"github.com/mcp-jail/mcp-jail/confine/internal/features"
	"github.com/mcp-jail/mcp-jail/confine/internal/plan"
	"github.com/mcp-jail/mcp-jail/confine/internal/refused"
	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/policy"
)

// probeHomeCopy reports whether the copy of HOME that a server gets can be made. It returns nil if it gets none.
func (l Launcher) probeHomeCopy(p *policy.Profile) *features.Feature {
	return refused.HomeCopy(p, l.probeOverlay)
}

// probeOverlay has a stub mount the overlay. For a directory that does not exist yet the answer is Unknown.
func (l Launcher) probeOverlay(dir string) features.Feature {
	if _, err := os.Lstat(dir); err != nil {
		return features.Feature{}
	}
	return refused.AskCopy(dir, func() error {
		s := l.spawn(false)
		s.process.plan = &plan.Plan{Profile: &policy.Profile{}}
		sp := spec.Spec{Mounts: []spec.Mount{{Kind: spec.MountOverlay, Path: dir, IsDir: true}}}
		s.send(startRequest{plan: s.process.plan, spec: sp})
		err := <-s.started
		<-s.process.done
		return err
	})
}
