package stateless

import (
	"bytes"
	"context"

	"github.com/mcp-jail/mcp-jail/mcpproxy"
	"github.com/mcp-jail/mcp-jail/policy"
)

// revalidate asks the server again for stale answers, and tells a legacy client which lists have
// changed. An answer is stale if the client got it from an earlier session, or if the server has
// sent list_changed.
func (dv *discovery) revalidate(ctx context.Context, era mcpproxy.Era) {
	info := dv.infos.For(era)
	if info == nil {
		return
	}
	stale := dv.cache.TakeStale(info, dv.client.Times.Tick)
	if len(stale.Names) == 0 {
		return
	}
	w, d := dv.worker(ctx, info)
	if d != nil {
		return
	}
	defer dv.session.pool.release(w)
	changed := map[string]bool{}
	for _, name := range stale.Names {
		answer := w.greeting
		if name != "initialize" {
			// Without an answer the cached one is dropped.
			answer, _ = w.request(ctx, info.RequestFor(name), w.server.Profile.Startup)
		}
		if ctx.Err() != nil {
			return
		}
		if stale.Apply(name, answer) {
			changed[listKind(name)] = true
		}
	}
	for _, kind := range []string{"tools", "prompts"} { // capability.StripServer leaves listChanged to these two alone
		if changed[kind] && era != mcpproxy.Modern {
			dv.notifyListChanged(kind)
		}
	}
}

func (dv *discovery) notifyListChanged(kind string) {
	dv.session.noteSendError(dv.client.Proxy.Client.Inject(mcpproxy.NewNotification("notifications/"+kind+"/list_changed", nil)))
}

func listKind(name string) string {
	kind, _, _ := bytes.Cut([]byte(name), []byte("/"))
	return string(kind)
}

// onListChanged handles a list_changed of the server. A server may send it after each request, or
// without end, so the lists are asked for at most once a tick.
func (dv *discovery) onListChanged(era mcpproxy.Era) {
	info := dv.infos.For(era)
	if info == nil {
		return
	}
	if dv.cache.NoteChanged(info, dv.client.Times.Tick) {
		dv.session.wake()
	}
}

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
	before, introduced := dv.profile.Swap(t.Profile), dv.infos.For(mcpproxy.Legacy) != nil
	if before.Key() == t.Profile.Key() {
		return
	}
	// After the profile is swapped: what comes in now is kept for the new one.
	offered := dv.cache.Reset()
	dv.session.pool.withdrawOld(t.Profile)
	for _, kind := range offered {
		if introduced {
			dv.notifyListChanged(kind)
		}
	}
}

func (dv *discovery) currentProfile() *policy.Profile { return dv.profile.Load() }
