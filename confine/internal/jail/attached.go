package jail

import (
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// The sources of masks are in the jail's /dev while the root is being built. They are empty,
// and their mode admits no access, not even for their owner.
const maskDir, maskFile = ".masked-directory", ".masked-file"

// deleted ends the name of a mount's root that was removed, as the source of a mask is.
const deleted = "//deleted"

// AreAttached reports whether a list of mounts (proc_pid_mountinfo(5)) has each mount of a jail that lies on
// a name of the host. Such a mount goes when the name is removed outside of the jail, and moves with a
// rename. The list is one of a jail that was built: every mount was attached once.
func AreAttached(mounts []spec.Mount, list []byte) bool {
	missing := map[string][]*spec.Mount{}
	for i := range mounts {
		if m := &mounts[i]; m.OnExisting {
			missing[m.Path] = append(missing[m.Path], m)
		}
	}
	for found := range hostfs.Mounts(string(list)) {
		if of, ok := missing[found.Point]; ok {
			if missing[found.Point] = slices.DeleteFunc(of, func(m *spec.Mount) bool { return isMount(m, found) }); len(missing[found.Point]) == 0 {
				delete(missing, found.Point)
			}
		}
	}
	return len(missing) == 0
}

// isMount reports whether a mount of the list can be m.
func isMount(m *spec.Mount, found hostfs.Mount) bool {
	if m.ReadOnly && !slices.Contains(found.Options, "ro") || m.NoExec && !slices.Contains(found.Options, "noexec") {
		return false
	}
	source := strings.TrimSuffix(found.Root, deleted)
	switch {
	case m.Kind != spec.MountMask:
		return true
	case m.Traversable:
		return source == "/" && found.Kind == "tmpfs" && slices.Contains(found.Options, "ro")
	case m.IsDir:
		return source == "/"+maskDir
	}
	return source == "/"+maskFile
}
