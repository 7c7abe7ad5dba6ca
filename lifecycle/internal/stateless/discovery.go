package stateless

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/answers"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/session"
	"github.com/mcp-jail/mcp-jail/mcpproxy"
	"github.com/mcp-jail/mcp-jail/policy"
)

// discovery answers the requests that are not calls of tools: from the cache, or by the discovery
// worker of the client's era. The pool has one for each era, since a server may settle for the era of its
// first message.
type discovery struct {
	session *statelessSession
	client  *session.Client
	profile atomic.Pointer[policy.Profile] // of discovery workers, by the configuration as it is now
	infos   answers.KnownClient
	cache   *answers.Cache
	tools   answers.Tools

	tellsTools atomic.Bool // a legacy client was told that it learns of other tools
}

// worker returns the discovery worker for a client. The caller releases it.
func (dv *discovery) worker(ctx context.Context, info *answers.ClientInfo) (*worker, *diagnostics.Diagnosis) {
	dv.refresh(false)
	w := dv.session.pool.discoveryWorker(info)
	select {
	case <-w.started:
		if w.failure == nil {
			return w, nil
		}
		defer dv.session.pool.release(w)
		return w, w.failure
	case <-ctx.Done():
		defer dv.session.pool.release(w)
		return nil, dv.session.abandoned("")
	}
}

// lookup returns what is kept as the answer to a request, and has its later answer kept.
func (dv *discovery) lookup(rq *clientRequest) (answers.Answer, bool) {
	rq.kept = answers.RequestOf(rq.method, rq.frame.Slice(rq.frame.Messages[0].Params))
	return dv.cache.Lookup(rq.info, rq.kept)
}

func (dv *discovery) answerInitialize(ctx context.Context, rq *clientRequest) {
	info := rq.info
	if info == nil {
		dv.session.dispatcher.decline(rq, "the handshake is too large to be repeated to each process")
		return
	}
	if a, ok := dv.lookup(rq); ok {
		dv.respondHandshake(rq, a.Member(), a.Value, false)
		return
	}
	w, d := dv.worker(ctx, info)
	switch {
	case d == nil:
		defer dv.session.pool.release(w)
	case w == nil || w.greeting == nil:
		dv.session.dispatcher.fail(rq, *d)
		return
	}
	greeting := w.greeting
	e := &greeting.Messages[0]
	if e.Error.Present() {
		dv.session.dispatcher.respondWith(rq, "error", greeting.Slice(e.Error))
		return
	}
	dv.cache.Store(info, rq.kept, greeting, e)
	dv.respondHandshake(rq, "result", greeting.Slice(e.Result), false)
}

// answerDiscover answers server/discover: from the cache, or with the discovery worker's
// answer. If the worker ends on it, the session answers in its name, as a stateful one does.
func (dv *discovery) answerDiscover(ctx context.Context, rq *clientRequest) {
	info := rq.info
	if a, ok := dv.lookup(rq); ok {
		dv.respondHandshake(rq, a.Member(), a.Value, true)
		return
	}
	w, d := dv.worker(ctx, info)
	if d != nil {
		dv.session.dispatcher.fail(rq, *d)
		return
	}
	defer dv.session.pool.release(w)
	line, whole := rq.frame.AppendTo(nil)
	if !whole {
		dv.session.dispatcher.decline(rq, "the request is too large to be repeated")
		return
	}
	f := mcpproxy.Parse(line)
	w.server.Roots.Advertise(f, &f.Messages[0])
	answer, err := w.request(ctx, f, 0) // the client decides how long it waits
	switch {
	case err == nil:
		e := &answer.Messages[0]
		dv.cache.Store(info, rq.kept, answer, e)
		if e.Error.Present() {
			if !session.DeclinesMethod("server/discover", string(e.Code)) {
				ev := w.server.Evidence(diagnostics.StageList, rq.call(), time.Time{})
				ev.Text = session.FailureText(answer, e)
				w.server.Diagnose(ev)
			}
			dv.session.dispatcher.respondWith(rq, "error", answer.Slice(e.Error))
			return
		}
		dv.respondHandshake(rq, "result", answer.Slice(e.Result), true)
	case err == errExited:
		why := fmt.Sprintf("ended on server/discover (%s)", session.ExitText(w.exit))
		dv.session.dispatcher.respondWith(rq, "error", session.DeclinedDiscover(dv.session.serverName, why))
	default:
		dv.session.dispatcher.fail(rq, *w.startupFailure(ctx, err))
	}
}

func (dv *discovery) answer(ctx context.Context, rq *clientRequest) {
	if answers.IsList(rq.method) {
		dv.refresh(false)
		if a, ok := dv.lookup(rq); ok {
			list, d := dv.checkList(rq, a.Value)
			if d != nil {
				dv.session.dispatcher.fail(rq, *d)
				return
			}
			dv.onToolsList(rq, a.Value)
			dv.session.dispatcher.respondWith(rq, a.Member(), list)
			return
		}
		rq.onResponse = func(f *mcpproxy.Frame, e *mcpproxy.Envelope) { dv.onList(rq, f, e) }
	}
	dv.session.dispatcher.run(ctx, rq)
}

func (dv *discovery) onList(rq *clientRequest, f *mcpproxy.Frame, e *mcpproxy.Envelope) {
	result := f.Slice(e.Result)
	list := result
	if e.Result.Present() {
		var d *diagnostics.Diagnosis
		if list, d = dv.checkList(rq, result); d != nil {
			f.Replace(e.Self, bytes.TrimSuffix(d.ErrorFrame(rq.id), []byte{'\n'}))
			return
		}
	}
	dv.cache.Store(rq.info, rq.kept, f, e)
	if e.Result.Present() {
		dv.onToolsList(rq, result)
		if len(list) != len(result) {
			f.Replace(e.Result, list)
		}
	}
}

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
	for _, kind := range []string{"tools", "prompts"} { // answers.StripServer leaves listChanged to these two alone
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
	dv.client.Follows(r)
	dv.client.TellRefreshed(r, asked)
	if r.Changed {
		dv.reloaded()
	}
	if r.Tools && dv.tellsTools.Load() {
		dv.notifyListChanged("tools")
	}
}

// reloaded compares the policy of discovery workers with the one before. If they differ, it
// forgets the server's answers, and stops the discovery workers under the old policy when they are
// idle. It tells a legacy client that its lists have changed.
func (dv *discovery) reloaded() {
	t, err := dv.session.toolNow("", false)
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

func (dv *discovery) onToolsList(rq *clientRequest, result []byte) {
	if rq.method != "tools/list" {
		return
	}
	var from struct {
		Cursor string `json:"cursor"`
	}
	json.Unmarshal(rq.frame.Slice(rq.frame.Messages[0].Params), &from)
	dv.addToolsPage(result, from.Cursor == "")
}

// addToolsPage adds a page of the list of tools and returns the cursor of the next, or "".
// After the last page it registers the tools in the pool, and warns of tables for tools
// that the server does not have.
func (dv *discovery) addToolsPage(result []byte, first bool) (next string) {
	next, all := dv.tools.AddPage(result, first)
	if all == nil {
		return next
	}
	for _, name := range dv.session.declared() {
		if !slices.Contains(all, name) {
			dv.client.Warn("warning: [servers." + dv.session.serverName + ".tools." + name + "] is for a tool that the server does not offer")
		}
	}
	dv.session.pool.registerTools(all)
	return ""
}

// maxPages bounds the pages of a list of tools, since a server may page without end.
const maxPages = 100

// refuseUnlisted returns a diagnosis for a call of a tool that neither the server lists
// nor the configuration names, after it has asked for the list again. Some servers take
// "READ " for "read", and the jail must be the one of the tool that the server will run.
func (dv *discovery) refuseUnlisted(ctx context.Context, rq *clientRequest) *diagnostics.Diagnosis {
	info, cursor := rq.info, ""
	if dv.tools.Has(rq.tool) || slices.Contains(dv.session.declared(), rq.tool) {
		return nil
	}
	w, d := dv.worker(ctx, info)
	if d != nil {
		return d
	}
	defer dv.session.pool.release(w)
	// The list that the client has may be old, or the client has asked for none.
	for n := range maxPages {
		name := "tools/list"
		if n > 0 {
			name += ` {"cursor":` + string(session.JSONString(cursor)) + "}"
		}
		answer, err := w.request(ctx, info.RequestFor(name), w.server.Profile.Startup)
		if err != nil {
			return w.startupFailure(ctx, err)
		}
		e := &answer.Messages[0]
		if e.Error.Present() {
			ev := w.server.Evidence(diagnostics.StageList, &mcpproxy.Call{Method: []byte("tools/list")}, time.Time{})
			ev.Text = session.FailureText(answer, e)
			d := w.server.Diagnose(ev)
			return &d
		}
		if cursor = dv.addToolsPage(answer.Slice(e.Result), n == 0); cursor == "" {
			break
		}
	}
	if dv.tools.Has(rq.tool) {
		return nil
	}
	// No worker is asked either: a server that reads names loosely would run another
	// tool, which has its own policy, under the default policy.
	unknown := dv.client.Announce(diagnostics.Diagnosis{
		Code: -32602, Stage: diagnostics.StageCall, Attribution: diagnostics.Certain, Server: dv.session.serverName, Tool: rq.tool,
		Explain: diagnostics.PagePerCall,
		What:    fmt.Sprintf("server %q lists no tool %q, so there is no policy to call it under", dv.session.serverName, rq.tool),
		Fix:     "if it has one all the same, give it a table among the tools of the server",
	})
	return &unknown
}

func (dv *discovery) respondHandshake(rq *clientRequest, name string, value []byte, modern bool) {
	if name == "result" {
		if d := dv.client.Tools.Handshake(rq.listRequest(), value); d != nil {
			dv.session.dispatcher.fail(rq, *d)
			return
		}
		if !modern {
			dv.tellsTools.Store(session.Declares(value, "tools"))
		}
	}
	dv.session.dispatcher.respondWith(rq, name, answers.StripServer(value, modern))
}

// checkList returns a list as the client gets it, or the answer in its place.
func (dv *discovery) checkList(rq *clientRequest, result []byte) ([]byte, *diagnostics.Diagnosis) {
	if rq.method != "tools/list" {
		return result, nil
	}
	if d := dv.client.Tools.List(rq.listRequest(), result); d != nil {
		return nil, d
	}
	list, d := dv.client.Cut(result)
	return answers.StripTools(list), d
}
