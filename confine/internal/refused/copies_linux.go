//go:build !seatbelt

package refused

import (
	"errors"
	"os"
	"slices"
	"syscall"

	"github.com/mcp-jail/mcp-jail/confine/internal/features"
	"github.com/mcp-jail/mcp-jail/confine/internal/jail"
	"github.com/mcp-jail/mcp-jail/confine/internal/plan"
	"github.com/mcp-jail/mcp-jail/confine/internal/step"
	"github.com/mcp-jail/mcp-jail/policy"
)

// Copies asks about each directory and file of which a server gets a copy.
func Copies(p *policy.Profile, ask func(dir string) features.Feature) map[string]features.Feature {
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

// KnownCopies returns what is known of the copies that a server gets. It asks nothing.
func KnownCopies(p *policy.Profile) map[string]features.Feature {
	return Copies(p, func(dir string) features.Feature {
		return features.Cache.Get(copyKey(dir), func() features.Feature { return features.Feature{} })
	})
}

// Copy reports whether a start failed because the kernel refused the copy of one directory or file.
// It caches the answer.
func Copy(p *policy.Profile, err error) bool {
	var se *step.Error
	if !errors.As(err, &se) || se.Step != step.Overlays || !slices.Contains(plan.Copies(p), se.Detail) {
		return false
	}
	return features.Cache.Refresh(copyKey(se.Detail), func() features.Feature { return copyFeature(err) }).Answer == features.No
}

// AskCopy returns whether a copy of a directory or file can be made. If that is not known, make tries it.
func AskCopy(path string, make func() error) features.Feature {
	return features.Cache.Get(copyKey(path), func() features.Feature {
		if err := make(); err != nil {
			return copyFeature(err)
		}
		return features.Available("")
	})
}

// copyKey returns the key of the cached answer. There is one for each directory, because
// filesystems differ.
func copyKey(dir string) string { return "copies " + dir }

func copyFeature(err error) features.Feature {
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
