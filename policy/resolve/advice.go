package resolve

import (
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
	"github.com/mcp-jail/mcp-jail/policy/resolve/internal/places"
)

// Guarded returns what a grant of an absolute path would give a server a hold on, or "": see
// places.Guarded.
func Guarded(h *hostfs.Host, p string, write bool) string { return places.Guarded(h, p, write) }

// Sensitive returns the sensitive path that a path is, leads to or lies in, as it is written; "" if
// there is none. It is the one answer to that question: of a start, of advice, and of the review of
// a client's entry.
func Sensitive(h *hostfs.Host, p *policy.Policy, name string) string {
	return places.Sensitive(h, p, name)
}

// Shared returns why a directory is not for one server alone, or "".
func Shared(h *hostfs.Host, p *policy.Policy, dir string) string { return places.Shared(h, p, dir) }

// PlaceVariables returns the names of the variables that decide which files are the user's. See
// hostfs.Host.Places.
func PlaceVariables() []string { return places.PlaceVariables() }
