package stateless

import (
	"github.com/mcp-jail/mcp-jail/mcpproxy"
	"github.com/mcp-jail/mcp-jail/policy"
)

// refresh has the configuration read again if it has changed. It is called before the policy of a
// call is resolved, and before each use of a discovery worker.
func (dv *discovery) refresh(asked bool) {
	if dv.client.Config.Refresh == nil {
		return
	}
	r := dv.client.Config.Refresh()
	dv.client.TellRefreshed(r, asked)
	if r.Changed {
		dv.reloaded()
	}
}

// reloaded compares the policy of discovery workers with the one before. If they differ, it
// forgets the server's answers, and stops the discovery workers under the old policy when they are
// idle. It tells a legacy client that its lists have changed.
func (dv *discovery) reloaded() {
	t, err := dv.session.toolNow("")
	if err != nil {
		return // the next discovery says it
	}
	before, introduced := dv.profile.Swap(t.Profile), dv.infos.infoFor(mcpproxy.Legacy) != nil
	if before.Key() == t.Profile.Key() {
		return
	}
	// After the profile is swapped: what comes in now is kept for the new one.
	offered := dv.cache.reset()
	for i := range dv.eras {
		d := &dv.eras[i]
		d.mu.Lock()
		if w := d.worker; w != nil && w.server.Profile.Key() != t.Profile.Key() {
			d.worker = nil
			dv.client.Tasks.Go(w.stopWhenIdle)
		}
		d.mu.Unlock()
	}
	for _, kind := range offered {
		if introduced {
			dv.notifyListChanged(kind)
		}
	}
}

func (dv *discovery) currentProfile() *policy.Profile { return dv.profile.Load() }
