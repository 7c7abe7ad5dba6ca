package lifecycle

import (
	"encoding/json"

	"github.com/mcp-jail/mcp-jail/mcpproxy"
)

// metaPolicy is the member by which messages tell a server what it may use.
const metaPolicy = "dev.mcp-jail/policy"

// onRequest looks at a request on its way to the server. With the defaults nothing
// of it is changed.
func (r *statefulSession) onRequest(f *mcpproxy.Frame, e *mcpproxy.Envelope) {
	r.client.requested.set()
	if !r.answered.isSet() {
		select {
		case r.requestSent <- struct{}{}:
		default:
		}
	}
	if string(e.Method) == "tools/call" {
		r.server.firstCallMark.CompareAndSwap(0, int64(r.server.tail.LineCount()))
		r.server.firstCall.set()
	}
	r.server.advertise(f, e)
}

// advertise puts into a request what the server is to be told of its limits.
func (i *server) advertise(f *mcpproxy.Frame, e *mcpproxy.Envelope) {
	if i.statement == nil && i.rootsMode == rootsOff {
		return
	}
	switch string(e.Method) {
	case "initialize":
		i.declaredRoots.Store(false)
		if i.canSplice(f, e) {
			i.advertiseInitialize(f, e)
		}
	case "server/discover", "tools/call":
		// 2026-07-28 has no handshake: every request stands for itself.
		if i.statement != nil && e.Era() == mcpproxy.Modern && i.canSplice(f, e) {
			f.Cut(e.Reserved, &e.ParamsMeta)
			if !e.Params.Present() {
				f.AddMember(&e.Self, "params", jsonObject("_meta", jsonObject(metaPolicy, i.statement)))
			} else {
				f.AddMeta(&e.Params, &e.ParamsMeta, metaPolicy, i.statement)
			}
		}
	}
	if i.rootsMode != rootsOff && e.Inputs.Present() && i.canSplice(f, e) {
		i.narrowInputs(f, e)
	}
}

// canSplice reports whether something can be added such that every reader of the
// message sees the same.
func (i *server) canSplice(f *mcpproxy.Frame, e *mcpproxy.Envelope) bool {
	if !f.Flaws.IsStrict() || e.Params.Present() && e.Params.Kind != '{' {
		i.client.log.Info().Str("method", string(e.Method)).Msg("not unambiguous: passed untouched")
		return false
	}
	return true
}

// advertiseInitialize splices an initialize (2025-11-25, "Lifecycle, Initialization"):
// _meta, which is legal but which SDKs hide from servers, an experimental
// capability, which all of them show, and the capability roots when the client
// has none and we answer for it.
func (i *server) advertiseInitialize(f *mcpproxy.Frame, e *mcpproxy.Envelope) {
	ours := i.rootsMode == rootsAdvertise && !e.Roots.Present()
	var experimental, capabilities []byte
	if i.statement != nil {
		experimental = jsonObject(metaPolicy, i.statement)
		capabilities = jsonObject("experimental", experimental)
	}
	switch {
	case ours && capabilities == nil:
		capabilities = []byte(`{"roots":{}}`)
	case ours:
		capabilities = append(capabilities[:len(capabilities)-1], `,"roots":{}}`...)
	}
	if capabilities == nil {
		return
	}
	if i.statement != nil {
		f.Cut(e.Reserved, &e.ParamsMeta, &e.Experimental)
	}
	switch {
	case !e.Params.Present():
		params := append([]byte(`{"capabilities":`), capabilities...)
		if i.statement != nil {
			params = append(append(params, `,"_meta":`...), experimental...)
		}
		f.AddMember(&e.Self, "params", append(params, '}'))
		i.declaredRoots.Store(ours)
		return
	case i.statement != nil:
		f.AddMeta(&e.Params, &e.ParamsMeta, metaPolicy, i.statement)
	}
	if !e.Capabilities.Present() {
		f.AddMember(&e.Params, "capabilities", capabilities)
		i.declaredRoots.Store(ours)
		return
	}
	switch {
	case i.statement == nil:
	case e.Experimental.Present():
		f.AddMember(&e.Experimental, metaPolicy, i.statement)
	default:
		f.AddMember(&e.Capabilities, "experimental", experimental)
	}
	if ours {
		i.declaredRoots.Store(f.AddMember(&e.Capabilities, "roots", []byte("{}")))
	}
}

// jsonObject is {"name":value}.
func jsonObject(name string, value []byte) []byte {
	b := append(jsonString(name), ':')
	return append(append(append([]byte{'{'}, b...), value...), '}')
}

func jsonString(s string) []byte {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err) // a string
	}
	return b
}
