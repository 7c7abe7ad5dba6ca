package session

import (
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/diagnostics/change"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
)

// An object is what a question is about: a host, or what a per-call server may read.
type object struct {
	words []string // for mcp-jail grant
	tool  string   // that may have it; "" is all of a stateful server
	does  string   // "reach" or "read"
	shown string   // the host, or the path as it is resolved
	could string   // what the server could do with it
}

func (o object) key() string { return o.tool + "\x00" + strings.Join(o.words, " ") }

func (o object) isAmong(all []object) bool {
	return slices.ContainsFunc(all, func(other object) bool { return other.key() == o.key() })
}

// typedFlags returns the flags of mcp-jail grant for an object, as they are typed.
func typedFlags(o object) string {
	words := o.words
	if o.tool != "" {
		words = append([]string{"--tool", o.tool}, words...)
	}
	return change.AsTyped(words)
}

// maxShown bounds the characters of what is asked about: a dialog would cut more.
const maxShown = 100

// askable returns what of a certain refusal the user may be asked about: nothing that anything speaks against. What a user
// has denied is not open.
func (s *Server) askable(d diagnostics.Diagnosis) (found []object) {
	if d.Attribution != diagnostics.Certain {
		return nil
	}
	for _, h := range d.Hints {
		p := h.Proposal
		if h.Attribution != diagnostics.Certain || p.Source != change.Recorded || p.Verdict() != change.Fine {
			continue
		}
		judge := s.fileObject
		if p.Object.Net.Host != "" {
			judge = s.hostObject
		}
		o, ok := judge(p.Object)
		if o.words = p.Object.Words(); s.Stateless {
			o.tool = d.Tool
		}
		_, named := show.TypedOK("mcp-jail grant", s.Profile.Server, o.tool)
		if ok && named && canShow(o.shown) && canShow(o.could) {
			found = append(found, o)
		}
	}
	return found
}

// hostObject judges a host, which is asked about if no rule is about it, on any port. That of a stateful server must be
// one that its gateway can grant while it runs.
func (s *Server) hostObject(wanted change.Object) (o object, ok bool) {
	host := wanted.Net.Host
	name, err := policy.NormalizeTarget(host)
	if _, isAddress := netip.ParseAddr(host); err != nil || name != host || wanted.Net.Port != 0 || isAddress == nil || strings.HasSuffix("."+host, ".localhost") {
		return o, false
	}
	if slices.ContainsFunc(s.Profile.Net, func(r policy.NetRule) bool { return r.Covers(host, 0) }) {
		return o, false
	}
	o = object{does: "reach", shown: host, could: "it could send there what it can read"}
	return o, s.Stateless || s.mayConsent(80) && s.mayConsent(443)
}

func (s *Server) mayConsent(port int) bool {
	proc := s.Processes.now()
	return proc != nil && proc.Plan() != nil && proc.Plan().MayConsent(port)
}

// fileObject judges a path to be read. The processes of a stateful server keep the files that they have.
func (s *Server) fileObject(wanted change.Object) (o object, ok bool) {
	ask := s.Client.Config.Known
	if wanted.Fs.Rights() != policy.Read || !s.Stateless || ask.Canonical == nil {
		return o, false
	}
	path := wanted.At()
	if rest, below := strings.CutPrefix(path, "~/"); below {
		path = filepath.Join(ask.UserHome, rest)
	}
	if !filepath.IsAbs(path) {
		return o, false
	}
	return object{does: "read", shown: ask.Canonical(filepath.Clean(path)), could: "it could pass on what is in it"}, true
}

// canShow reports whether a text shows as it is, on one line of a dialog.
func canShow(s string) bool {
	return s != "" && utf8.ValidString(s) && utf8.RuneCountInString(s) <= maxShown && !strings.ContainsFunc(s, show.IsHidden) && show.Line(s) == s
}
