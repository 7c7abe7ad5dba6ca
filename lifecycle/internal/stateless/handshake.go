package stateless

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/session"
	"github.com/mcp-jail/mcp-jail/mcpproxy"
)

// clientInfo is the client's description of itself. A legacy worker gets it in a handshake; modern
// requests carry it.
type clientInfo struct {
	era  mcpproxy.Era
	key  []byte // the parts of the description that a server's answers may depend on
	line []byte // legacy: the client's initialize; modern: our server/discover
}

func (i *clientInfo) matches(other *clientInfo) bool {
	return i == other || i != nil && other != nil && i.era == other.era && bytes.Equal(i.key, other.key)
}

func (i *clientInfo) eraOrLegacy() mcpproxy.Era {
	if i == nil {
		return mcpproxy.Legacy
	}
	return i.era
}

func (i *clientInfo) eraName() string {
	if i.era == mcpproxy.Modern {
		return "modern"
	}
	return "legacy"
}

// requestFor returns one of our requests in the client's name. name is a result of catalog.Request.
func (i *clientInfo) requestFor(name string) *mcpproxy.Frame {
	method, params, _ := bytes.Cut([]byte(name), []byte(" "))
	if params == nil {
		params = []byte("{}")
	}
	if i.eraOrLegacy() == mcpproxy.Modern {
		meta := session.JSONObject("_meta", i.key)
		if len(params) > len("{}") {
			meta = append(append(meta[:len(meta)-1], ','), params[1:]...)
		}
		params = meta
	}
	return mcpproxy.Parse(mcpproxy.NewRequest([]byte("0"), string(method), params))
}

// clientInfos are the descriptions that the client has given of itself.
type clientInfos struct {
	mu     sync.Mutex
	latest *clientInfo // the one of the two below that came last
	legacy *clientInfo // of the client's initialize; nil before it
	modern *clientInfo // of the client's modern requests; nil before them
}

// recordInitialize keeps the client's initialize, to replay it to each worker. It returns
// nil if the frame is not held in memory.
func (i *clientInfos) recordInitialize(f *mcpproxy.Frame, e *mcpproxy.Envelope) *clientInfo {
	line, whole := f.AppendTo(nil)
	if !whole {
		return nil
	}
	info := &clientInfo{era: mcpproxy.Legacy, line: line, key: session.FilterMembers(f.Slice(e.Params), func(name string) bool { return name != "_meta" })}
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.legacy.matches(info) {
		info = i.legacy
	}
	i.legacy, i.latest = info, info
	return info
}

func (i *clientInfos) recordModern(f *mcpproxy.Frame, e *mcpproxy.Envelope) *clientInfo {
	const prefix = "io.modelcontextprotocol/"
	key := session.FilterMembers(f.Slice(e.ParamsMeta), func(name string) bool {
		return name == mcpproxy.VersionKey || name == prefix+"clientCapabilities" || name == prefix+"clientInfo"
	})
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.modern != nil && bytes.Equal(i.modern.key, key) {
		i.latest = i.modern
		return i.modern
	}
	line := mcpproxy.NewRequest([]byte("0"), "server/discover", session.JSONObject("_meta", key))
	i.modern = &clientInfo{era: mcpproxy.Modern, key: key, line: line}
	i.latest = i.modern
	return i.modern
}

func (i *clientInfos) latestClientInfo() *clientInfo {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.latest
}

func (i *clientInfos) infoFor(era mcpproxy.Era) *clientInfo {
	i.mu.Lock()
	defer i.mu.Unlock()
	if era == mcpproxy.Modern {
		return i.modern
	}
	return i.legacy
}

func (i *clientInfos) currentClient() (mcpproxy.Era, *clientInfo) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.legacy == nil && i.modern != nil {
		return mcpproxy.Modern, i.modern
	}
	return mcpproxy.Legacy, i.legacy
}

func (w *worker) handshake(ctx context.Context) (answer *mcpproxy.Frame, d *diagnostics.Diagnosis) {
	info := w.info
	if info == nil || info.era == mcpproxy.Modern {
		w.session.pool.markReady(w)
		return nil, nil
	}
	f := mcpproxy.Parse(info.line)
	w.server.Advertise(f, &f.Messages[0])
	slow := time.AfterFunc(w.client.Times.SlowNote, func() {
		if w.server.Quiet.Load() {
			return
		}
		w.client.Stderr.SayLine(fmt.Sprintf("waiting for the first answer of server %q%s; %v so far", w.session.serverName, w.forTool(), w.client.Times.SlowNote))
	})
	defer slow.Stop()
	answer, err := w.request(ctx, f, w.server.Profile.Startup)
	if err != nil {
		return nil, w.startupFailure(ctx, err)
	}
	if e := &answer.Messages[0]; e.Error.Present() {
		ev := w.server.Evidence(diagnostics.StageStartup, &mcpproxy.Call{Method: []byte("initialize"), Tool: []byte(w.tool)}, time.Time{})
		ev.Text = session.FailureText(answer, e)
		failed := w.server.Diagnose(ev)
		return answer, &failed
	}
	w.trySend(mcpproxy.Parse(mcpproxy.NewNotification("notifications/initialized", nil)))
	w.session.pool.markReady(w)
	return answer, nil
}

func (w *worker) forTool() string {
	if w.tool == "" {
		return ""
	}
	return fmt.Sprintf(" for tool %q", w.tool)
}

// startupFailure returns the diagnosis for one of our requests to which the worker gave no answer,
// or one that cannot be used.
func (w *worker) startupFailure(ctx context.Context, err error) *diagnostics.Diagnosis {
	var answer reply
	if errors.As(err, &answer) {
		w.server.Announce(*answer.rejected)
		return answer.rejected
	}
	ev := w.server.Evidence(diagnostics.StageStartup, nil, time.Time{})
	ev.Tool = w.tool
	switch {
	case ctx.Err() != nil:
		d := diagnostics.Diagnose(ev)
		return &d
	case err == errTimeout:
		ev.Timeout = w.server.Profile.Startup
	default:
		w.addExit(&ev)
	}
	d := w.server.Diagnose(ev)
	return &d
}
