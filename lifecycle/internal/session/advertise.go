package session

import (
	"github.com/mcp-jail/mcp-jail/mcpproxy"
)

// MetaPolicy is the member by which requests tell a server its policy.
const MetaPolicy = "dev.mcp-jail/policy"

// Advertise adds the statement of the policy to a request, and the capability roots to an
// initialize. It narrows the roots that a retried request carries.
func (r *Roots) Advertise(f *mcpproxy.Frame, e *mcpproxy.Envelope) {
	if r.mode == RootsOff {
		return
	}
	if r.mode == RootsAdvertise {
		r.advertise(f, e)
	}
	if e.Inputs.Present() && r.canSplice(f, e) {
		r.narrowInputs(f, e)
	}
}

func (r *Roots) advertise(f *mcpproxy.Frame, e *mcpproxy.Envelope) {
	switch string(e.Method) {
	case "initialize":
		// A second initialize starts again.
		r.declared.Store(false)
		if r.canSplice(f, e) {
			r.advertiseInitialize(f, e)
		}
	case "server/discover", "tools/call":
		// 2026-07-28 has no handshake, so each request carries the statement.
		if e.Era() == mcpproxy.Modern && r.canSplice(f, e) {
			f.Cut(e.Reserved, &e.ParamsMeta)
			if !e.Params.Present() {
				f.AddMember(&e.Self, "params", JSONObject("_meta", JSONObject(MetaPolicy, r.statement)))
			} else {
				f.AddMeta(&e.Params, &e.ParamsMeta, MetaPolicy, r.statement)
			}
		}
	}
}

// canSplice reports whether a member can be added such that every reader of the message sees it.
func (r *Roots) canSplice(f *mcpproxy.Frame, e *mcpproxy.Envelope) bool {
	if !f.Flaws.IsStrict() || e.Params.Present() && e.Params.Kind != '{' {
		r.log.Info().Str("method", string(e.Method)).Msg("passed an ambiguous message without adding the policy")
		return false
	}
	return true
}

// advertiseInitialize adds to an initialize (2025-11-25, "Lifecycle, Initialization") the
// statement in _meta, which is legal but hidden from servers by SDKs; the statement as an
// experimental capability, which all SDKs show; and the capability roots, if the client
// has not declared it and we answer roots/list in its name.
func (r *Roots) advertiseInitialize(f *mcpproxy.Frame, e *mcpproxy.Envelope) {
	ours := !e.Roots.Present()
	experimental := JSONObject(MetaPolicy, r.statement)
	capabilities := JSONObject("experimental", experimental)
	if ours {
		capabilities = append(capabilities[:len(capabilities)-1], `,"roots":{}}`...)
	}
	f.Cut(e.Reserved, &e.ParamsMeta, &e.Experimental)
	if !e.Params.Present() {
		params := append([]byte(`{"capabilities":`), capabilities...)
		params = append(append(params, `,"_meta":`...), experimental...)
		f.AddMember(&e.Self, "params", append(params, '}'))
		r.declared.Store(ours)
		return
	}
	f.AddMeta(&e.Params, &e.ParamsMeta, MetaPolicy, r.statement)
	if !e.Capabilities.Present() {
		f.AddMember(&e.Params, "capabilities", capabilities)
		r.declared.Store(ours)
		return
	}
	if e.Experimental.Present() {
		f.AddMember(&e.Experimental, MetaPolicy, r.statement)
	} else {
		f.AddMember(&e.Capabilities, "experimental", experimental)
	}
	if ours {
		r.declared.Store(f.AddMember(&e.Capabilities, "roots", []byte("{}")))
	}
}
