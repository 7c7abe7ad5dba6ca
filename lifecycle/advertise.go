package lifecycle

import (
	"github.com/mcp-jail/mcp-jail/mcpproxy"
)

// metaPolicy is the member by which requests tell a server its policy.
const metaPolicy = "dev.mcp-jail/policy"

// advertise adds the statement of the policy to a request, and the capability roots to an
// initialize. It narrows the roots that a retried request carries.
func (s *server) advertise(f *mcpproxy.Frame, e *mcpproxy.Envelope) {
	if s.statement == nil && s.rootsMode == rootsOff {
		return
	}
	switch string(e.Method) {
	case "initialize":
		s.declaredRoots.Store(false)
		if s.canSplice(f, e) {
			s.advertiseInitialize(f, e)
		}
	case "server/discover", "tools/call":
		// 2026-07-28 has no handshake, so each request carries the statement.
		if s.statement != nil && e.Era() == mcpproxy.Modern && s.canSplice(f, e) {
			f.Cut(e.Reserved, &e.ParamsMeta)
			if !e.Params.Present() {
				f.AddMember(&e.Self, "params", jsonObject("_meta", jsonObject(metaPolicy, s.statement)))
			} else {
				f.AddMeta(&e.Params, &e.ParamsMeta, metaPolicy, s.statement)
			}
		}
	}
	if s.rootsMode != rootsOff && e.Inputs.Present() && s.canSplice(f, e) {
		s.narrowInputs(f, e)
	}
}

// canSplice reports whether a member can be added such that every reader of the message sees it.
func (s *server) canSplice(f *mcpproxy.Frame, e *mcpproxy.Envelope) bool {
	if !f.Flaws.IsStrict() || e.Params.Present() && e.Params.Kind != '{' {
		s.client.log.Info().Str("method", string(e.Method)).Msg("passed an ambiguous message without adding the policy")
		return false
	}
	return true
}

// advertiseInitialize adds to an initialize (2025-11-25, "Lifecycle, Initialization") the
// statement in _meta, which is legal but hidden from servers by SDKs; the statement as an
// experimental capability, which all SDKs show; and the capability roots, if the client
// has not declared it and we answer roots/list in its name.
func (s *server) advertiseInitialize(f *mcpproxy.Frame, e *mcpproxy.Envelope) {
	ours := s.rootsMode == rootsAdvertise && !e.Roots.Present()
	var experimental, capabilities []byte
	if s.statement != nil {
		experimental = jsonObject(metaPolicy, s.statement)
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
	if s.statement != nil {
		f.Cut(e.Reserved, &e.ParamsMeta, &e.Experimental)
	}
	switch {
	case !e.Params.Present():
		params := append([]byte(`{"capabilities":`), capabilities...)
		if s.statement != nil {
			params = append(append(params, `,"_meta":`...), experimental...)
		}
		f.AddMember(&e.Self, "params", append(params, '}'))
		s.declaredRoots.Store(ours)
		return
	case s.statement != nil:
		f.AddMeta(&e.Params, &e.ParamsMeta, metaPolicy, s.statement)
	}
	if !e.Capabilities.Present() {
		f.AddMember(&e.Params, "capabilities", capabilities)
		s.declaredRoots.Store(ours)
		return
	}
	switch {
	case s.statement == nil:
	case e.Experimental.Present():
		f.AddMember(&e.Experimental, metaPolicy, s.statement)
	default:
		f.AddMember(&e.Capabilities, "experimental", experimental)
	}
	if ours {
		s.declaredRoots.Store(f.AddMember(&e.Capabilities, "roots", []byte("{}")))
	}
}
