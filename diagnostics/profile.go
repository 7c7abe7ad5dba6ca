package diagnostics

import (
	"path/filepath"

	"github.com/mcp-jail/mcp-jail/policy"
)

// jailPlaces are the places that confinement gives every process and that a
// profile does not list (docs/policy.md "Runtime baseline"). What the host has there
// is another object.
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

// jailPlace returns the place of the jail's own that decides about path, and the
// rights there; "" where an entry of the profile does.
func (a *analyzer) jailPlace(path string) (place string, rights policy.Rights) {
	entry, covered := a.profile.Find(path)
	for _, o := range jailPlaces {
		if policy.Within(path, o.path) && (!covered || len(entry.Path) < len(o.path)) {
			return o.path, o.rights
		}
	}
	return "", 0
}

// rightsAt is Profile.RightsAt with what confinement adds.
func (a *analyzer) rightsAt(path string) policy.Rights {
	if place, rights := a.jailPlace(path); place != "" {
		return rights
	}
	return a.profile.RightsAt(path)
}

// allows is Profile.Allows with what confinement adds.
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

// isSystem tells a path of the runtime baseline, which users have no rules about.
func (a *analyzer) isSystem(path string) bool {
	if place, _ := a.jailPlace(path); place != "" {
		return true
	}
	e, ok := a.profile.Find(path)
	return ok && e.Origin == policy.OriginBaseline
}

// isEntry tells an entry itself: its name exists, so nobody has to create it.
func (a *analyzer) isEntry(path string) bool {
	e, ok := a.profile.Find(path)
	return ok && e.Path == path
}
