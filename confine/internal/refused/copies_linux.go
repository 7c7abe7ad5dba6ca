package refused

import (
	"errors"
	"syscall"

	"github.com/mcp-jail/mcp-jail/confine/internal/features"
	"github.com/mcp-jail/mcp-jail/confine/internal/plan"
	"github.com/mcp-jail/mcp-jail/confine/internal/step"
	"github.com/mcp-jail/mcp-jail/policy"
)

// KnownHomeCopy returns what is known of the copy of the private HOME that a server gets, or nil if it gets
// none. It asks nothing.
func KnownHomeCopy(p *policy.Profile) *features.Feature {
	return HomeCopy(p, func(dir string) features.Feature {
		return features.Cache.Get(copyKey(dir), func() features.Feature { return features.Feature{} })
	})
}

// HomeCopy asks about the private HOME of which a server gets a copy. It returns nil if it gets none.
func HomeCopy(p *policy.Profile, ask func(dir string) features.Feature) *features.Feature {
	home := plan.Ephemeral(p)
	if home == "" {
		return nil
	}
	answer := ask(home)
	return &answer
}

// Copy reports whether a start failed because the kernel refused the copy of HOME. It caches the answer.
func Copy(p *policy.Profile, err error) bool {
	var se *step.Error
	if !errors.As(err, &se) || se.Step != step.Overlays || se.Detail == "" || se.Detail != plan.Ephemeral(p) {
		return false
	}
	return features.Cache.Refresh(copyKey(se.Detail), func() features.Feature { return copyFeature(err) }).Answer == features.No
}

// AskCopy returns whether a copy of a directory can be made. If that is not known, make tries it.
func AskCopy(dir string, make func() error) features.Feature {
	return features.Cache.Get(copyKey(dir), func() features.Feature {
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
	return features.Unavailable("the kernel makes no overlay of "+se.Detail+": "+se.Errno.Error(), "use Linux 5.11 or newer with CONFIG_OVERLAY_FS, and a filesystem that it can lie on")
}
