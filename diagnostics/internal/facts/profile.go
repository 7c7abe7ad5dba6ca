package facts

import (
	"path/filepath"
	"strings"

	"github.com/mcp-jail/mcp-jail/policy"
)

// jailPlaces are the paths that the jail provides to every process and that a profile does
// not list (docs/policy.md "Runtime baseline"). The host has other objects at these paths.
var jailPlaces = []struct {
	path   string
	rights policy.Rights
}{
	{"/tmp", policy.AllRights},
	{"/dev/shm", policy.AllRights},
	{"/proc", policy.Read | policy.Update},
	{"/dev/null", policy.Read | policy.Update}, {"/dev/zero", policy.Read | policy.Update}, {"/dev/full", policy.Read | policy.Update},
	{"/dev/random", policy.Read | policy.Update}, {"/dev/urandom", policy.Read | policy.Update}, {"/dev/tty", policy.Read | policy.Update},
	{"/dev/ptmx", policy.Read | policy.Update}, {"/dev/pts", policy.Read | policy.Update},
	{"/etc/hosts", policy.Read}, {"/etc/resolv.conf", policy.Read},
}

// macPlaces are those of macOS. The objects are the host's, but for the directory of TMPDIR.
var macPlaces = []string{"/dev/null", "/dev/zero", "/dev/random", "/dev/urandom", "/dev/fd"}

func macPlace(path string) (place string, rights policy.Rights) {
	for _, tmp := range []string{"/private/tmp/", "/tmp/"} {
		// TMPDIR of a session: its name is chosen at the start and is in no profile.
		if rest, ok := strings.CutPrefix(path, tmp+"mj-"); ok {
			name, _, _ := strings.Cut(rest, "/")
			return tmp + "mj-" + name, policy.AllRights
		}
	}
	for _, place := range macPlaces {
		if policy.Within(path, place) {
			return place, policy.Read | policy.Update
		}
	}
	return "", 0
}

// JailPlace returns the place of the jail that decides about path and the rights there, or
// "" if an entry of the profile decides.
func (c *Case) JailPlace(path string) (place string, rights policy.Rights) {
	if c.Mac() {
		return macPlace(path)
	}
	entry, covered := c.Profile.Find(path)
	for _, o := range jailPlaces {
		if policy.Within(path, o.path) && (!covered || len(entry.Path) < len(o.path)) {
			return o.path, o.rights
		}
	}
	return "", 0
}

// RightsAt is Profile.RightsAt with the places of the jail.
func (c *Case) RightsAt(path string) policy.Rights {
	if place, rights := c.JailPlace(path); place != "" {
		return rights
	}
	return c.Profile.RightsAt(path)
}

// Allows is Profile.Allows with the places of the jail.
func (c *Case) Allows(op policy.Op, path string) bool {
	decides := path
	need := policy.Read
	switch op {
	case policy.OpCreate, policy.OpMkdir:
		decides, need = filepath.Dir(path), policy.Create
	case policy.OpRemove:
		decides, need = filepath.Dir(path), policy.Delete
	case policy.OpWrite, policy.OpTruncate:
		need = policy.Update
	}
	if place, rights := c.JailPlace(decides); place != "" {
		return rights.Has(need)
	}
	return c.Profile.Allows(op, path)
}

// IsSystem reports whether path belongs to the runtime baseline, for which users write no
// rules.
func (c *Case) IsSystem(path string) bool {
	if place, _ := c.JailPlace(path); place != "" {
		return true
	}
	e, ok := c.Profile.Find(path)
	return ok && e.Origin == policy.OriginBaseline
}
