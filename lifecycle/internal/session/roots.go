package session

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/mcp-jail/mcp-jail/mcpproxy"
	"github.com/mcp-jail/mcp-jail/policy"
)

// The modes of roots. RootsOff is the default, because some servers replace the
// directories of their command line by the client's roots.
const (
	RootsOff       = "off"
	RootsNarrow    = "narrow"
	RootsAdvertise = "advertise"
)

// roots has what messages tell a server about its policy and its directories.
type roots struct {
	profile   *policy.Profile
	mode      string
	statement []byte                   // of the policy; nil unless mode is RootsAdvertise
	canonical func(path string) string // see Session.Known
	ofClient  atomic.Pointer[[]string] // the directories that the client has named as its roots
	declared  atomic.Bool              // we have declared the capability in the client's name
	answer    atomic.Pointer[[]byte]   // the client's last result, as it came
}

func (r *roots) init(c *Client, p *policy.Profile) {
	r.profile, r.mode, r.canonical = p, cmp.Or(p.Roots, RootsOff), c.Config.Known.Host.Canonical
	if r.mode == RootsAdvertise {
		r.statement = policy.NewStatement(p).Encode()
	}
}

// OnClientResponse narrows and remembers the roots in an answer of the client, before the server
// gets the answer.
func (r *roots) OnClientResponse(f *mcpproxy.Frame, e *mcpproxy.Envelope, c *mcpproxy.Call) {
	if string(c.Method) != "roots/list" || !e.Result.Present() || !f.Flaws.IsStrict() {
		return
	}
	if result := bytes.Clone(f.Slice(e.Result)); len(result) <= maxText {
		r.answer.Store(&result)
	}
	if r.mode != RootsOff {
		r.narrowResult(f, e.Result)
	}
	r.remember(f)
}

// maxRoots bounds how many of the client's roots are remembered.
const maxRoots = 100

func (r *roots) remember(f *mcpproxy.Frame) {
	line, whole := f.AppendTo(nil)
	if !whole || len(line) > maxText {
		return
	}
	// A server may refuse what lies outside the roots, with words like those of a jail.
	var answer struct {
		Result struct{ Roots []json.RawMessage }
	}
	if json.Unmarshal(line, &answer) != nil {
		return
	}
	var dirs []string
	for _, raw := range answer.Result.Roots {
		if dir, ok := rootPath(raw); ok && len(dirs) < maxRoots {
			dirs = append(dirs, dir)
		}
	}
	r.ofClient.Store(&dirs)
}

// Answer returns the answer to a roots/list of the server from the policy, if we have declared the
// capability in the client's name: the party that declares it must answer (2025-11-25, "Roots,
// Capabilities"). Otherwise it returns nil.
func (r *roots) Answer(e *mcpproxy.Envelope) []byte {
	if string(e.Method) != "roots/list" || !e.Trackable() || !r.declared.Load() {
		return nil
	}
	return mcpproxy.NewResponse(e.ID, "result", JSONObject("roots", JSONArray(grantedRoots(r.profile, "/"))))
}

// Follow takes over what the client has said to an earlier process.
func (r *roots) Follow(earlier *roots) {
	r.ofClient.Store(earlier.ofClient.Load())
	r.answer.Store(earlier.answer.Load())
}

// Repeat returns the answer to a roots/list of a process that the client does not know yet: what the client has answered
// before, narrowed anew, or an error if it has not. It is nil for another request.
func (r *roots) Repeat(e *mcpproxy.Envelope) []byte {
	if answer := r.Answer(e); answer != nil {
		return answer
	}
	kept := r.answer.Load()
	switch {
	case string(e.Method) != "roots/list" || !e.Trackable():
		return nil
	case kept == nil:
		return mcpproxy.NewError(e.ID, -32603, "mcp-jail: the client has not named its roots yet", nil)
	}
	f := mcpproxy.Parse(mcpproxy.NewResponse(e.ID, "result", *kept))
	if r.mode != RootsOff {
		r.narrowResult(f, f.Messages[0].Result)
	}
	line, _ := f.AppendTo(nil)
	return line
}

// narrowInputs narrows the roots among the answers that a retried request carries
// (2026-07-28, "Multi round-trip requests"). They are a map from names to results; the
// result with a member roots answers a roots/list.
func (r *roots) narrowInputs(f *mcpproxy.Frame, e *mcpproxy.Envelope) {
	EachMember(f.Slice(e.Inputs), func(_ string, at int64, value []byte) {
		if len(value) > 0 && value[0] == '{' {
			start := e.Inputs.Start + at
			r.narrowResult(f, mcpproxy.Span{Start: start, End: start + int64(len(value)), Kind: '{'})
		}
	})
}

func (r *roots) narrowResult(f *mcpproxy.Frame, result mcpproxy.Span) {
	EachMember(f.Slice(result), func(name string, at int64, value []byte) {
		if name != "roots" {
			return
		}
		if list, changed := r.narrow(value); changed {
			start := result.Start + at
			f.Replace(mcpproxy.Span{Start: start, End: start + int64(len(value)), Kind: '['}, list)
		}
	})
}

// narrow returns the roots of list that the server may read. It replaces a root that is
// wider than the policy by the granted directories inside it.
func (r *roots) narrow(list []byte) (narrowed []byte, changed bool) {
	var all []json.RawMessage
	if json.Unmarshal(list, &all) != nil {
		return nil, false
	}
	var kept, inside [][]byte
	for _, raw := range all {
		dir, ok := rootPath(raw)
		if !ok {
			changed = true
			continue
		}
		dir = r.canonical(dir)
		if r.profile.RightsAt(dir).Has(policy.Read) {
			kept = append(kept, raw)
			continue
		}
		changed = true
		// Wider than the policy: the granted directories in it take its place.
		inside = append(inside, grantedRoots(r.profile, dir)...)
	}
	// Not twice, if the client has named one of them itself.
	for _, root := range inside {
		if !slices.ContainsFunc(kept, func(k []byte) bool { return bytes.Equal(k, root) }) {
			kept = append(kept, root)
		}
	}
	return JSONArray(kept), changed
}

// rootPath returns the path of a root, which is a file:// URI (2025-11-25, "Roots, Data
// Types"). ok is false for anything else, since the policy says nothing about it.
func rootPath(raw []byte) (string, bool) {
	var root struct {
		URI string `json:"uri"`
	}
	if json.Unmarshal(raw, &root) != nil {
		return "", false
	}
	u, err := url.Parse(root.URI)
	if err != nil || u.Scheme != "file" || u.Host != "" && u.Host != "localhost" || !path.IsAbs(u.Path) {
		return "", false
	}
	return path.Clean(u.Path), true
}

func grantedRoots(p *policy.Profile, dir string) (roots [][]byte) {
	for _, granted := range rootsIn(p, dir) {
		uri := (&url.URL{Scheme: "file", Path: granted}).String()
		roots = append(roots, fmt.Appendf(nil, `{"uri":%s,"name":%s}`, JSONString(uri), JSONString(path.Base(granted))))
	}
	return roots
}

// rootsIn returns dir and the directories below it that rules let the server read. It leaves
// out a directory inside another of them, unless a path between the two cannot be read.
func rootsIn(p *policy.Profile, dir string) (dirs []string) {
	for _, e := range p.Entries { // sorted: wider directories come first
		if e.Origin != policy.OriginRule || e.Kind != policy.KindDir || !e.Rights.Has(policy.Read) || !policy.Within(e.Path, dir) {
			continue
		}
		if !slices.ContainsFunc(dirs, func(wider string) bool { return policy.Within(e.Path, wider) && !hasUnreadableParent(p, e.Path, wider) }) {
			dirs = append(dirs, e.Path)
		}
	}
	return dirs
}

func hasUnreadableParent(p *policy.Profile, path, wider string) bool {
	for at := path; at != wider; at = at[:max(strings.LastIndexByte(at, '/'), 1)] {
		if !p.RightsAt(at).Has(policy.Read) {
			return true
		}
		if at == "/" {
			break
		}
	}
	return false
}

// metaPolicy is the member by which requests tell a server its policy.
const metaPolicy = "dev.mcp-jail/policy"

// Advertise adds the statement of the policy to a request, and the capability roots to an
// initialize. It narrows the roots that a retried request carries.
func (r *roots) Advertise(f *mcpproxy.Frame, e *mcpproxy.Envelope) {
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

func (r *roots) advertise(f *mcpproxy.Frame, e *mcpproxy.Envelope) {
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
				f.AddMember(&e.Self, "params", JSONObject("_meta", JSONObject(metaPolicy, r.statement)))
			} else {
				f.AddMeta(&e.Params, &e.ParamsMeta, metaPolicy, r.statement)
			}
		}
	}
}

// canSplice reports whether a member can be added such that every reader of the message sees it.
func (r *roots) canSplice(f *mcpproxy.Frame, e *mcpproxy.Envelope) bool {
	return f.Flaws.IsStrict() && (!e.Params.Present() || e.Params.Kind == '{')
}

// advertiseInitialize adds to an initialize (2025-11-25, "Lifecycle, Initialization") the
// statement in _meta, which is legal but hidden from servers by SDKs; the statement as an
// experimental capability, which all SDKs show; and the capability roots, if the client
// has not declared it and we answer roots/list in its name.
func (r *roots) advertiseInitialize(f *mcpproxy.Frame, e *mcpproxy.Envelope) {
	ours := !e.Roots.Present()
	experimental := JSONObject(metaPolicy, r.statement)
	capabilities := JSONObject("experimental", experimental)
	if ours {
		capabilities = append(capabilities[:len(capabilities)-1], `,"roots":{}}`...)
	}
	f.Cut(e.Reserved, &e.ParamsMeta, &e.Experimental)
	if !e.Params.Present() {
		f.AddMember(&e.Self, "params", fmt.Appendf(nil, `{"capabilities":%s,"_meta":%s}`, capabilities, experimental))
		r.declared.Store(ours)
		return
	}
	f.AddMeta(&e.Params, &e.ParamsMeta, metaPolicy, r.statement)
	if !e.Capabilities.Present() {
		f.AddMember(&e.Params, "capabilities", capabilities)
		r.declared.Store(ours)
		return
	}
	if e.Experimental.Present() {
		f.AddMember(&e.Experimental, metaPolicy, r.statement)
	} else {
		f.AddMember(&e.Capabilities, "experimental", experimental)
	}
	if ours {
		r.declared.Store(f.AddMember(&e.Capabilities, "roots", []byte("{}")))
	}
}
