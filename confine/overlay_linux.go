//go:build !seatbelt

package confine

import (
	"errors"
	"os"
	"syscall"

	"github.com/mcp-jail/mcp-jail/confine/internal/features"
	"github.com/mcp-jail/mcp-jail/confine/internal/plan"
	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/confine/internal/step"
	"github.com/mcp-jail/mcp-jail/policy"
)

// probeOverlay reports whether the HOME of a tool's process can be an overlay, by having a
// stub mount it. For a directory that does not exist yet the answer is Unknown.
func (l Launcher) probeOverlay(p *policy.Profile) features.Feature {
	dir := plan.Ephemeral(p)
	if _, err := os.Lstat(dir); err != nil {
		return features.Feature{}
	}
	return features.Cache.Get(overlayKey(dir), func() features.Feature {
		s := l.spawn(kindNamespaced)
		s.process.plan = &plan.Plan{Profile: &policy.Profile{}}
		sp := spec.Spec{Mounts: []spec.Mount{{Kind: spec.MountOverlay, Path: dir, IsDir: true}}}
		s.send(startRequest{plan: s.process.plan, spec: sp})
		err := <-s.started
		<-s.process.done
		if err == nil {
			return features.Available("")
		}
		return overlayErrors(err)
	})
}

func cachedOverlay(p *policy.Profile) features.Feature {
	return features.Cache.Get(overlayKey(plan.Ephemeral(p)), func() features.Feature { return features.Feature{} })
}

// overlayRefused reports whether a start failed because the kernel refused the overlay. It
// caches the answer.
func overlayRefused(p *policy.Profile, err error) features.Feature {
	if err == nil {
		return features.Feature{}
	}
	return features.Cache.Refresh(overlayKey(plan.Ephemeral(p)), func() features.Feature { return overlayErrors(err) })
}

// overlayKey returns the key of the cached answer. There is one for each directory, because
// filesystems differ.
func overlayKey(dir string) string { return "copies " + dir }

func overlayErrors(err error) features.Feature {
	var se *step.Error
	if !errors.As(err, &se) || se.Step != step.Overlays {
		return features.Undetermined("no jail could be built to find out")
	}
	switch se.Errno {
	case syscall.ENOMEM, syscall.EMFILE, syscall.ENFILE, syscall.EINTR, syscall.EIO:
		return features.Undetermined(se.Error())
	}
	return features.Unavailable("the kernel makes no overlay of "+se.Detail+": "+se.Errno.Error(), "use Linux 5.11 or newer with CONFIG_OVERLAY_FS, and a filesystem that it can lie on")
}
