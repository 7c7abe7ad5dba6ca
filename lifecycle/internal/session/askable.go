package session

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/diagnostics/change"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
)

// An object is what a question is about: a host, or a path to read.
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

// askable returns what of a certain refusal the user may be asked about. What a user has denied is not open.
func (s *Server) askable(d diagnostics.Diagnosis) (found []object) {
	if d.Attribution != diagnostics.Certain || s.Stateless && d.Tool == "*" { // in a policy "*" is all tools
		return nil
	}
	for _, h := range d.Hints {
		p := h.Proposal
		if h.Attribution != diagnostics.Certain || !p.InClient(s.Profile.Net) {
			continue
		}
		o := object{does: "reach", shown: p.Object.Net.Host, could: "it could send there what it can read"}
		if path := p.Object.At(); path != "" {
			o.does, o.shown, o.could = "read", s.Client.at(path), "it could pass on what is in it"
			if i := slices.IndexFunc(s.Profile.Net, func(r policy.NetRule) bool { return r.Allow }); i >= 0 {
				o.could = "it could send what is in it to " + show.Name(s.Profile.Net[i].Host)
			}
		}
		p.Object.Net.Port = 0 // it is asked about with both ports of HTTP
		if o.words = p.Object.Words(); s.Stateless {
			o.tool = d.Tool
		}
		_, named := show.TypedOK("mcp-jail grant", s.Profile.Server, o.tool)
		if named && canShow(o.shown) && canShow(o.could) {
			found = append(found, o)
		}
	}
	return found
}

// canShow reports whether a text shows as it is, on one line of a dialog.
func canShow(s string) bool {
	return s != "" && utf8.ValidString(s) && utf8.RuneCountInString(s) <= maxShown && !strings.ContainsFunc(s, show.IsHidden) && show.Line(s) == s
}
