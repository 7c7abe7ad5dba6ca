package diagnostics

import (
	"path/filepath"

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

// jailPlace returns the place of the jail that decides about path and the rights there, or
// "" where an entry of the profile decides.
func (a *analyzer) jailPlace(path string) (place string, rights policy.Rights) {
	entry, covered := a.profile.Find(path)
	for _, o := range jailPlaces {
		if policy.Within(path, o.path) && (!covered || len(entry.Path) < len(o.path)) {
			return o.path, o.rights
		}
	}
	return "", 0
}

// rightsAt is Profile.RightsAt with the places of the jail.
func (a *analyzer) rightsAt(path string) policy.Rights {
	if place, rights := a.jailPlace(path); place != "" {
		return rights
	}
	return a.profile.RightsAt(path)
}

// allows is Profile.Allows with the places of the jail.
func (a *analyzer) allows(op policy.Op, path string) bool {
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
	if place, rights := a.jailPlace(decides); place != "" {
		return rights.Has(need)
	}
	return a.profile.Allows(op, path)
}

// isSystem reports whether path belongs to the runtime baseline, for which users write no
// rules.
func (a *analyzer) isSystem(path string) bool {
	if place, _ := a.jailPlace(path); place != "" {
		return true
	}
	e, ok := a.profile.Find(path)
	return ok && e.Origin == policy.OriginBaseline
}

// isEntry reports whether the profile has an entry for path itself. Its name then exists
// and need not be created.
func (a *analyzer) isEntry(path string) bool {
	e, ok := a.profile.Find(path)
	return ok && e.Path == path
}
