package lifecycle

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/mcpproxy"
)

// rejectAmbiguous refuses a frame that two readers of JSON could understand
// differently: the jail has to be that of the tool which the server will run.
func (p *statelessSession) rejectAmbiguous(f *mcpproxy.Frame) {
	p.reject(f, diagnostics.Diagnosis{
		Code: -32600, Stage: diagnostics.StageCall, Attribution: diagnostics.Certain, Server: p.serverName,
		What: fmt.Sprintf("server %q: the message can be read in more than one way, and each call gets the jail of its tool", p.serverName),
		Fix:  "have the client send each name once, in its own spelling, as valid UTF-8",
	})
}

// rejectOversized refuses a message of the client beyond the limit.
func (p *statelessSession) rejectOversized(f *mcpproxy.Frame) {
	var i server
	i.init(p.client, p.client.config.Profile)
	p.reject(f, i.tooLargeDiagnosis(mcpproxy.FromClient, f))
}

// reject answers every request in a frame with d, as a batch where it is one, and
// tells it the processes that wait for one of its answers. Nothing is said to an id
// that may be another one, or that a request under way has.
func (p *statelessSession) reject(f *mcpproxy.Frame, d diagnostics.Diagnosis) {
	var answers [][]byte
	told := false
	for i := range f.Messages {
		e := &f.Messages[i]
		if ids := idsOf(f, e); len(ids) != 1 || !e.Trackable() {
			continue
		}
		switch e.Kind() {
		case mcpproxy.Request, mcpproxy.Other:
			if !p.isOpen(e.ID) {
				answers = append(answers, bytes.TrimSpace(d.ErrorFrame(e.ID)))
			}
		case mcpproxy.Response:
			if r := p.takeServerRequest(e.ID); r != nil {
				told = true
				r.worker.queue.tryEnqueue(mcpproxy.Parse(d.ErrorFrame(r.id)))
			}
		}
	}
	switch {
	case len(answers) == 0 && !told:
		d.What += "; it was dropped"
	case len(answers) > 0 && f.Batch:
		p.noteSendError(p.client.proxy.Client.Inject(append(append([]byte{'['}, bytes.Join(answers, []byte{','})...), ']')))
	case len(answers) > 0:
		p.noteSendError(p.client.proxy.Client.Inject(answers[0]))
	}
	p.client.announce(d)
}

// idsOf are the ids that readers could see in a message, as raw tokens. Of a message
// that is not held in memory it is the one that the envelope says.
func idsOf(f *mcpproxy.Frame, e *mcpproxy.Envelope) (ids [][]byte) {
	object := f.Slice(e.Self)
	if object == nil {
		return [][]byte{e.ID}
	}
	eachMember(object, func(name string, _ int64, value []byte) {
		if strings.EqualFold(name, "id") {
			ids = append(ids, value)
		}
	})
	return ids
}

// isOpen reports whether a request with that id is under way.
func (p *statelessSession) isOpen(id []byte) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.requests[mcpproxy.IDKey(id)] != nil
}

// rejectOther answers what is neither a request nor an answer nor a notification.
func (p *statelessSession) rejectOther(f *mcpproxy.Frame) {
	p.reject(f, diagnostics.Diagnosis{
		Code: -32600, Stage: diagnostics.StageCall, Attribution: diagnostics.Certain, Server: p.serverName,
		What: fmt.Sprintf("server %q: the client has sent a message with neither a method nor a result nor an error", p.serverName),
	})
}
