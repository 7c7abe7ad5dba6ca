package stateless

import (
	"bytes"

	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/session"
	"github.com/mcp-jail/mcp-jail/mcpproxy"
)

// rejectAmbiguous refuses a frame that two JSON readers could read differently: the jail
// must be the one of the tool that the server will run.
func (dp *dispatcher) rejectAmbiguous(f *mcpproxy.Frame) {
	dp.reject(f, session.Refusal(-32600, diagnostics.PageMessage, dp.session.serverName, "",
		"two JSON readers could read the message differently, and each call gets the jail of its tool", "have the client send each name once, in its own spelling, as valid UTF-8"))
}

func (dp *dispatcher) rejectOversized(f *mcpproxy.Frame) {
	var i session.Server
	i.Init(dp.client, dp.client.Config.Profile)
	dp.reject(f, i.TooLargeDiagnosis(mcpproxy.FromClient, f))
}

// reject answers every request in a frame with d, in a batch if the frame is one. It tells
// workers that wait for an answer in the frame. It does not answer an id that readers
// could read differently, or that an open request has.
func (dp *dispatcher) reject(f *mcpproxy.Frame, d diagnostics.Diagnosis) {
	var answers [][]byte
	told := false
	for i := range f.Messages {
		e := &f.Messages[i]
		// With two ids, an answer would reach the wrong request in some clients.
		if ids := session.IDsIn(f, e); len(ids) != 1 || !e.Trackable() {
			continue
		}
		switch e.Kind() {
		case mcpproxy.Request, mcpproxy.Other:
			if open, _ := dp.table.find(e.ID); open == nil {
				answers = append(answers, bytes.TrimSpace(d.ErrorFrame(e.ID)))
			}
		case mcpproxy.Response:
			if r := dp.session.serverRequests.take(e.ID); r != nil {
				told = true
				r.worker.queue.tryEnqueue(mcpproxy.Parse(d.ErrorFrame(r.id)))
			}
		}
	}
	switch {
	case len(answers) == 0 && !told:
		d.What += "; it was dropped"
	case len(answers) > 0 && f.Batch:
		dp.session.noteSendError(dp.client.Proxy.Client.Inject(append(append([]byte{'['}, bytes.Join(answers, []byte{','})...), ']')))
	case len(answers) > 0:
		dp.session.noteSendError(dp.client.Proxy.Client.Inject(answers[0]))
	}
	dp.client.Announce(d)
}

func (dp *dispatcher) rejectOther(f *mcpproxy.Frame) {
	dp.reject(f, session.Refusal(-32600, diagnostics.PageMessage, dp.session.serverName, "",
		"the client has sent a message with neither a method nor a result nor an error", ""))
}
