package stateless

import (
	"bytes"

	"github.com/mcp-jail/mcp-jail/lifecycle/internal/session"
	"github.com/mcp-jail/mcp-jail/mcpproxy"
)

// onMixedLine sees a line that is no message and ends in one. If that answers an open request of the
// worker, the request is answered with an error once the worker is silent.
func (w *worker) onMixedLine(f, ending *mcpproxy.Frame) {
	e := &ending.Messages[0]
	for _, id := range w.openIDs() {
		if e.Kind() == mcpproxy.Response && mcpproxy.IDKey(e.ID) == mcpproxy.IDKey(id) {
			w.loseAnswer(id, session.MixedLine(w.server.Redact, f, ending))
		}
	}
}

// onOtherID sees an answer that matches no open request. If it can only be meant for one that is
// open, that is answered with an error once the worker is silent. An answer with an id of ours is a
// second one.
func (w *worker) onOtherID(e *mcpproxy.Envelope) {
	ours := bytes.HasPrefix(e.ID, []byte(`"`+w.session.idPrefix))
	if id := session.MeantID(e, w.openIDs(), w.tool != "" && !ours); id != nil {
		w.loseAnswer(id, session.OtherID(e.ID, id))
	}
}

func (w *worker) loseAnswer(id []byte, why string) {
	w.server.Lost.Note(id, why, func() {
		d, _ := w.server.Lost.Diagnosis(id, w.tool)
		w.rejectAnswer(&mcpproxy.Envelope{ID: id, Error: mcpproxy.Span{Kind: '{'}}, d)
	})
}

func (w *worker) openIDs() (ids [][]byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, rq := range w.requests {
		ids = append(ids, rq.id)
	}
	for key := range w.waiters { // the ids of our requests are their own keys
		ids = append(ids, []byte(key))
	}
	return ids
}
