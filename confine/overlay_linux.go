package confine

import (
	"errors"
	"os"
	"syscall"

	"github.com/mcp-jail/mcp-jail/confine/internal/plan"
	"github.com/mcp-jail/mcp-jail/confine/internal/probe"
	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/confine/internal/step"
	"github.com/mcp-jail/mcp-jail/policy"
)

// askCopies finds out whether there can be the copy that a profile wants, by having a
// shim make it. Of a directory that does not exist yet that is not known.
func (l Launcher) ProbeOverlay(p *policy.Profile) probe.Feature {
	dir := plan.Ephemeral(p)
	if _, err := os.Lstat(dir); err != nil {
		return probe.Feature{}
	}
	return probe.Cache.Get(overlayKey(dir), func() probe.Feature {
		s := l.Spawn(KindNamespaced)
		s.Process.plan = &plan.Plan{Profile: &policy.Profile{}}
		order := spec.Spec{Mounts: []spec.Mount{{Kind: spec.MountOverlay, Path: dir, IsDir: true}}}
		s.send(startRequest{plan: s.Process.plan, order: order})
		err := <-s.started
		<-s.Process.done
		if err == nil {
			return probe.Available("")
		}
		return overlayErrors(err)
	})
}

// cachedOverlay is what is remembered of it.
func cachedOverlay(p *policy.Profile) probe.Feature {
	return probe.Cache.Get(overlayKey(plan.Ephemeral(p)), func() probe.Feature { return probe.Feature{} })
}

// overlayRefused tells whether a start failed because there can be none, and
// remembers it.
func overlayRefused(p *policy.Profile, err error) probe.Feature {
	if err == nil {
		return probe.Feature{}
	}
	return probe.Cache.Refresh(overlayKey(plan.Ephemeral(p)), func() probe.Feature { return overlayErrors(err) })
}

// overlayKey is under what name it is remembered. Filesystems differ in what can be
// done with them.
func overlayKey(dir string) string { return "copies " + dir }

// overlayErrors judges the error of a start: with the answer No, an overlay was refused.
func overlayErrors(err error) probe.Feature {
	var se *step.Error
	if !errors.As(err, &se) || se.Step != step.Overlays {
		return probe.Undetermined("no jail could be built to find out")
	}
	switch se.Errno {
	case syscall.ENOMEM, syscall.EMFILE, syscall.ENFILE, syscall.EINTR, syscall.EIO:
		return probe.Undetermined(se.Error())
	}
	return probe.Unavailable("the kernel makes no overlay of "+se.Detail+": "+se.Errno.Error(), "use Linux 5.11 or newer with CONFIG_OVERLAY_FS, and a filesystem that it can lie on")
}
