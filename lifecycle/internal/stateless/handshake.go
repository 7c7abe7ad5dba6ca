package stateless

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/session"
	"github.com/mcp-jail/mcp-jail/mcpproxy"
)

// handshake sends the worker the client's initialize, and the log level. In the modern era there is no
// handshake; the answer of a warm worker to a server/discover shows that the program is loaded.
func (w *worker) handshake(ctx context.Context) (answer *mcpproxy.Frame, d *diagnostics.Diagnosis) {
	info := w.info
	legacy := info.Era() == mcpproxy.Legacy
	if info == nil || !legacy && !w.warm {
		w.session.pool.markReady(w)
		return nil, nil
	}
	f := info.Greeting()
	w.server.Roots.Advertise(f, &f.Messages[0])
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
	if e := &answer.Messages[0]; legacy && e.Error.Present() {
		ev := w.server.Evidence(diagnostics.StageStartup, &mcpproxy.Call{Method: []byte("initialize"), Tool: []byte(w.tool)}, time.Time{})
		ev.Text = session.FailureText(answer, e)
		failed := w.server.Diagnose(ev)
		return answer, &failed
	}
	if legacy {
		w.trySend(mcpproxy.Parse(mcpproxy.NewNotification("notifications/initialized", nil)))
	}
	w.session.pool.markReady(w)
	if legacy {
		w.tellLogLevel(ctx)
	}
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
