//go:build !seatbelt

package confine

import (
	"errors"
	"os"
	"slices"
	"syscall"

	"github.com/mcp-jail/mcp-jail/confine/internal/features"
	"github.com/mcp-jail/mcp-jail/confine/internal/jail"
	"github.com/mcp-jail/mcp-jail/confine/internal/plan"
	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/confine/internal/step"
	"github.com/mcp-jail/mcp-jail/policy"
)

// probeOverlays reports, for each directory and file of which a server gets a copy, whether that can be made.
func (l Launcher) probeOverlays(p *policy.Profile) map[string]features.Feature {
	return ofCopies(p, l.probeOverlay)
}

func ofCopies(p *policy.Profile, ask func(dir string) features.Feature) map[string]features.Feature {
	dirs := plan.Copies(p)
	if len(dirs) == 0 {
		return nil
	}
	all := make(map[string]features.Feature, len(dirs))
	for _, dir := range dirs {
		all[dir] = ask(dir)
	}
	return all
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
	return features.Cache.Get(overlayKey(dir), func() features.Feature {
		s := l.spawn(kindNamespaced)
		s.process.plan = &plan.Plan{Profile: &policy.Profile{}}
		sp := spec.Spec{Mounts: []spec.Mount{m}}
		s.send(startRequest{plan: s.process.plan, spec: sp})
		err := <-s.started
		<-s.process.done
		if err == nil {
			return features.Available("")
		}
		return overlayErrors(err)
	})
}

func cachedOverlays(p *policy.Profile) map[string]features.Feature {
	return ofCopies(p, func(dir string) features.Feature {
		return features.Cache.Get(overlayKey(dir), func() features.Feature { return features.Feature{} })
	})
}

// overlayRefused reports whether a start failed because the kernel refused the copy of one directory or file.
// It caches the answer.
func overlayRefused(p *policy.Profile, err error) bool {
	var se *step.Error
	if !errors.As(err, &se) || se.Step != step.Overlays || !slices.Contains(plan.Copies(p), se.Detail) {
		return false
	}
	return features.Cache.Refresh(overlayKey(se.Detail), func() features.Feature { return overlayErrors(err) }).Answer == features.No
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
	if info, err := os.Lstat(se.Detail); err == nil && info.Mode().IsRegular() {
		return features.Unavailable("the file cannot be copied: "+jail.CopyError(se.Errno), "")
	}
	return features.Unavailable("the kernel makes no overlay of "+se.Detail+": "+se.Errno.Error(), "use Linux 5.11 or newer with CONFIG_OVERLAY_FS, and a filesystem that it can lie on")
}
