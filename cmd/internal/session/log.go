package session

import (
	"cmp"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcp-jail/mcp-jail/cmd/internal/eventlog"
	"github.com/mcp-jail/mcp-jail/cmd/internal/records"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/lifecycle"
	"github.com/mcp-jail/mcp-jail/mcpproxy"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
	"github.com/mcp-jail/mcp-jail/undo"
)

// maxRefused is how many lines a session has about what was refused: a server chooses how many there are.
const maxRefused = 50

// Log writes down what happens in a session. Take and End of nil write nothing.
type Log struct {
	events  *eventlog.Log
	target  *Target // of the start; nil: no server is known
	traffic confine.Traffic
	calls   atomic.Int64

	mu       sync.Mutex
	hidden   []policy.Variable
	redactor *diagnostics.Redactor

	// The goroutine of the record alone uses them.
	err     error  // why lines are lost
	by      string // see lifecycle.Events.Ended
	denials []policy.Denial
	refused map[[5]string]int    // counts that were told
	hosts   []policy.HostTraffic // that were told
}

// NewLog returns the log of a session. report gets each line at once: see eventlog.Log.
func NewLog(report func(line []byte) bool) *Log {
	l := &Log{events: eventlog.New(), refused: map[[5]string]int{}, by: lifecycle.ByUs}
	l.events.Report = report
	l.events.Redact = func(s string) string {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.redactor == nil {
			l.redactor = diagnostics.NewRedactor(slices.Concat(l.hidden, confine.SessionSecrets()))
		}
		return l.redactor.Unfinished(s) // long names of tools come cut off
	}
	return l
}

// Take has a session of a target, which may be nil, tell the log what happens.
func (l *Log) Take(s *lifecycle.Session, t *Target) {
	if l == nil {
		return
	}
	if l.target = t; t != nil && t.Policy != nil && t.Policy.Log {
		l.events.Open = records.Opener(t.Host, t.Policy.KeptName())
	}
	if t != nil && t.Profile != nil {
		l.hide(t.Profile.Env)
	}
	s.Events = &lifecycle.Events{Begun: l.begun, Called: l.called, Tick: func() { l.tell(false) }, Ended: l.ended}
	if sink, lost := s.Sink, s.Lost; sink != nil {
		s.Sink = func(r diagnostics.Record) {
			l.denials = r.Denials
			sink(r)
		}
		s.Lost = func() error { return cmp.Or(lost(), l.err) }
	}
}

// hide has no line show the values of variables.
func (l *Log) hide(variables []policy.Variable) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, v := range variables {
		if v.Secret && !slices.Contains(l.hidden, v) {
			l.hidden, l.redactor = append(l.hidden, v), nil
		}
	}
}

func (l *Log) begun(client, version string) {
	e := l.events.Always("start").Int("schema", eventlog.Schema)
	if client != "" {
		e = e.Str("mcp_jail.client", l.events.Text(client+" "+version))
	}
	if t := l.target; t != nil && t.Policy != nil {
		e = e.Str("mcp_jail.server", l.events.Text(t.Policy.Server)).Str("mcp_jail.directory", l.events.Text(t.Host.Dir))
		if p := t.Package.Entry(); p != nil {
			e = e.Str("mcp_jail.package", l.events.Text(string(p.Ecosystem)+":"+p.Name+"@"+p.Version))
		}
		var waived []string
		for _, word := range policy.OrderWaivers(t.Policy.Waive) {
			waived = append(waived, string(word))
		}
		undo := policy.UndoOff
		if t.Policy.Undo.On() {
			undo = t.Policy.Undo.Mode
		}
		e = e.Str("mcp_jail.policy", t.digest()).Strs("mcp_jail.waived", waived).Str("mcp_jail.undo", undo)
	}
	e.Send()
}

func (l *Log) restarted(t *Target) {
	l.events.Event("restarted").Str("mcp_jail.policy", t.digest()).Send()
}

func (l *Log) granted(by string, words []string) {
	l.events.Granted(by, false, words, false)
}

// LogGrant writes down what a command grants, or takes back, outside of a session.
func LogGrant(c terminal.Console, host hostfs.Host, p *policy.Policy, by string, taken bool, rules []string) {
	if !p.Log {
		return
	}
	j := eventlog.New()
	j.Open = records.Opener(host, p.KeptName())
	j.Granted(by, taken, rules, c.InputIsTerminal())
	if err := j.Flush(); err != nil {
		c.Notef("warning: mcp-jail log will not show this: %s", show.Line(err.Error()))
	}
}

func (l *Log) called(c *mcpproxy.Call, response *mcpproxy.Envelope) {
	e := l.events.Event("call").Int64("n", l.calls.Add(1))
	if e == nil {
		return
	}
	e = e.Str("mcp.method.name", string(c.Method))
	if len(c.Tool) > 0 {
		e = e.Str("gen_ai.operation.name", "execute_tool").Str("gen_ai.tool.name", l.events.Text(string(c.Tool)))
	}
	e = e.Str("jsonrpc.request.id", l.events.Text(string(c.ID))).Int64("duration_ms", time.Since(c.Start).Milliseconds()).Int64("bytes_in", c.Size)
	if response != nil {
		e = e.Int64("bytes_out", response.Self.End-response.Self.Start)
	}
	switch {
	case c.Cancelled:
		e = e.Str("error.type", "cancelled")
	case response == nil:
		e = e.Str("error.type", "mcp_jail") // which has answered
	case response.Error.Present():
		code := l.events.Text(string(response.Code))
		e = e.Str("error.type", code).Str("rpc.response.status_code", code)
	case response.IsError:
		e = e.Str("error.type", "tool_error")
	}
	e.Send()
}

// changed gets what undo knows of the session's changes, and whether that is all of them.
func (l *Log) changed(events []undo.Event, whole bool) {
	if !whole {
		l.events.Omit(1) // undo does not know how many there are
	}
	for _, c := range events {
		l.events.Event("changed").Str("operation", string(c.Operation)).Str("path", l.events.Text(c.Path)).Send()
	}
}

// tell writes a line for each new refusal and host. At the end it writes them once more, with their counts.
func (l *Log) tell(end bool) {
	for _, d := range l.denials {
		key := [5]string{string(d.Axis), d.Operation, d.Target, string(d.Reason), d.Tool}
		told, count := l.refused[key], max(d.Count, 1)
		if told == count || told > 0 && !end || told == 0 && len(l.refused) >= maxRefused {
			continue
		}
		l.refused[key] = count
		e := l.events.Event("refused").Str("axis", string(d.Axis)).Str("operation", d.Operation).Str("target", l.events.Text(d.Target)).Str("reason", string(d.Reason)).Int("count", count)
		if d.Tool != "" {
			e = e.Str("gen_ai.tool.name", l.events.Text(d.Tool))
		}
		e.Send()
	}
	for i, h := range l.traffic.Hosts() {
		if i < len(l.hosts) && (!end || l.hosts[i] == h) {
			continue
		}
		if i == len(l.hosts) {
			l.hosts = append(l.hosts, h)
		}
		l.hosts[i] = h
		l.events.Event("host").Str("server.address", l.events.Text(h.Host)).Int("server.port", h.Port).Int("connections", h.Connections).Int64("sent", h.Sent).Int64("received", h.Received).Send()
	}
	if err := l.events.Flush(); l.err == nil {
		l.err = err
	}
}

func (l *Log) ended(by string) {
	l.by = by
	l.tell(true)
}

// End writes the last line, after the session. err is why no server was started, or nil.
func (l *Log) End(exit confine.Exit, err error) {
	if l == nil {
		return
	}
	e := l.events.Always("end").Str("by", l.by).Int("exit", exit.Code).Int64("calls", l.calls.Load()).Int("omitted", l.events.Omitted())
	var gaps *confine.GapError
	switch {
	case errors.As(err, &gaps):
		var axes []string
		for _, g := range gaps.Gaps {
			if !slices.Contains(axes, string(g.Axis)) {
				axes = append(axes, string(g.Axis))
			}
		}
		e = e.Str("error", "gap").Strs("gaps", axes)
	case l.by != lifecycle.ByUs:
	case exit.Why != "":
		e = e.Str("error", "jail")
	case exit.Code == terminal.Usage:
		e = e.Str("error", "usage")
	case err != nil || exit.Code != 0: // a server that is not ready in time is no error
		e = e.Str("error", "start")
	}
	e.Send()
	_ = l.events.Flush() // what is lost was told
}
