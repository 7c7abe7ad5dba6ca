package resolve

import (
	"fmt"
	"path"
	"slices"

	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
	"github.com/mcp-jail/mcp-jail/policy/resolve/internal/places"
)

// warnUseless warns of rules that take nothing away. A rule that refuses a part of another rule's grant is not useless.
func (b *resolver) warnUseless() {
	for _, n := range b.targets {
		if n.Rule.Rights() == 0 && !takesAway(b.entries.Find, n) {
			b.warnings.warn("useless-rule", n.Rule.Where, "path = %s takes nothing away: the server has no more there than every jail has", show.TOML(n.Rule.Path))
		}
	}
}

// takesAway reports whether the refusal of a path is more than every jail refuses. A jail keeps the
// paths of its baseline, and has a /tmp of its own.
func takesAway(find func(path string) (policy.Entry, bool), n places.Target) bool {
	denied := n.Canonical
	switch denied {
	case "/etc/hosts", "/etc/resolv.conf": // which the jail makes, unless a rule names them
		return true
	}
	if policy.Within(denied, "/tmp") || policy.Within(denied, "/dev/shm") {
		return false
	}
	around, ok := find(path.Dir(denied))
	own, _ := find(denied)
	return ok && around.Rights&n.Rule.Deny != 0 && !(own.Path == denied && own.Rights != 0 && own.Origin == policy.OriginBaseline)
}

// warnSpecialHosts warns of rules that grant a host of a private network or a cloud's
// credentials. "*" and wide wildcards do not grant such addresses.
func (b *resolver) warnSpecialHosts(rules []policy.NetRule) {
	for _, r := range rules {
		switch what := r.SpecialTarget(); {
		case !r.Allow || what == "":
		case what == policy.ReasonMetadata:
			b.warnings.warn("metadata-host", r.Where, "host = %s %s: the server can get them, and act as this machine", show.TOML(r.Host), what)
		default:
			b.warnings.warn("private-host", r.Where, "host = %s %s: services there may trust all connections from this machine", show.TOML(r.Host), what)
		}
	}
}

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

// PlaceVariables returns the names of the variables that decide which files are the user's, on a system as
// in runtime.GOOS. See hostfs.Host.Places.
func PlaceVariables(os string) []string { return places.PlaceVariables(os) }

// PlacedRule is a rule for files with the canonical path that it leads to.
type PlacedRule struct {
	policy.FsRule
	At string
}

// CheckFiles returns what Resolve makes of the workspace and of the rules for files, with its warnings
// and its error about them, before the program of the server is looked for. host.Dir is the directory
// in which the server is to start. If that is "", it is not known, and the workspace and relative
// rules are passed over. placed are the rules that grant something that is there.
func CheckFiles(p *policy.Policy, host hostfs.Host) (placed []PlacedRule, warnings []policy.Warning, err error) {
	if host.OS == "windows" {
		placed, err = placedOnWindows(p, &host)
		return placed, nil, err
	}
	asked := *p
	if host.Dir == "" {
		asked.Default, asked.Workspace, host.Dir = false, "", host.Home
		asked.Fs = slices.DeleteFunc(slices.Clone(p.Fs), func(r policy.FsRule) bool {
			return isRelative(r)
		})
	}
	b := newResolver(&asked, &host)
	if err := b.placeFiles(); err != nil {
		return nil, b.warnings.list, err
	}
	for _, n := range b.targets {
		placed = append(placed, PlacedRule{n.Rule, n.Canonical})
	}
	b.masks.HideSensitive()
	b.masks.WarnNamed()
	return placed, b.warnings.list, nil
}

// A warningList has the warnings of a resolution. Its parts share it.
type warningList struct{ list []policy.Warning }

func (b *warningList) warn(code, where, format string, args ...any) {
	b.list = append(b.list, policy.Warning{Code: code, Message: fmt.Sprintf(format, args...), Where: where})
}
