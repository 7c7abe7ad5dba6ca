package inspect

import (
	"fmt"

	"github.com/mcp-jail/mcp-jail/cmd/internal/session"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
)

// A peer is a kind of process of a stateless server.
type peer struct {
	name    string
	profile *policy.Profile
}

// peersOf returns the kinds of processes that a stateless server has: the one that lists its tools,
// and those of calls. It leaves out what cannot be used, which its own report says.
func peersOf(t *session.Target) (peers []peer) {
	server := t.Policy.Server
	names := append([]string{""}, t.Config.ToolsWithTable(server)...)
	if t.Config.HasAnyTool(server) {
		names = append(names, config.AnyTool)
	}
	for _, name := range names {
		tool, err := t.Tool(name)
		if err != nil {
			continue
		}
		said := "the call of " + name
		switch name {
		case "":
			said = "the process that lists the tools"
		case config.AnyTool:
			said = "the call of a tool without a table"
		}
		peers = append(peers, peer{said, tool.Profile})
	}
	return peers
}

// passingWarnings returns a warning for each process that can pass to a tool what that tool may
// not read, in a place where their grants meet, if the tool reaches a host.
func passingWarnings(p *policy.Profile, peers []peer) (warnings []policy.Warning) {
	host := reachedHost(p)
	if host == "" {
		return nil
	}
	for _, other := range peers {
		place, what := meetingPlace(other.profile, p), readsMore(other.profile, p)
		if place == "" || what == "" {
			continue
		}
		warnings = append(warnings, policy.Warning{Code: "passes-on", Message: fmt.Sprintf(
			"a call can send to %s what it may not read itself: %s reads %s, and can leave it in %s, which the call reads", host, other.name, what, place)})
	}
	return warnings
}

func reachedHost(p *policy.Profile) string {
	for _, r := range p.Net {
		if r.Allow {
			return r.Host
		}
	}
	return ""
}

// granted reports whether an entry comes from a rule or the default policy. What every server reads
// is in the baseline; a private HOME is a copy of each process, which is thrown away.
func granted(e policy.Entry) bool { return e.Origin == policy.OriginRule }

// meetingPlace returns a place in which from may leave something and to may read, or "".
func meetingPlace(from, to *policy.Profile) string {
	const leave = policy.Create | policy.Update
	// A place of the writer that the reader reads, or the other way round.
	for _, e := range from.Entries {
		if granted(e) && e.Rights&leave != 0 && to.RightsAt(e.Path).Has(policy.Read) {
			return e.Path
		}
	}
	for _, e := range to.Entries {
		if granted(e) && e.Rights.Has(policy.Read) && from.RightsAt(e.Path)&leave != 0 {
			return e.Path
		}
	}
	return ""
}

// readsMore returns a path or a variable that from reads and to does not, or "".
func readsMore(from, to *policy.Profile) string {
	for _, e := range from.Entries {
		if granted(e) && e.Rights.Has(policy.Read) && !to.RightsAt(e.Path).Has(policy.Read) {
			return e.Path
		}
	}
	for _, e := range to.Entries {
		if !e.Rights.Has(policy.Read) && from.RightsAt(e.Path).Has(policy.Read) {
			return e.Path
		}
	}
	has := map[string]bool{}
	for _, v := range to.Env {
		has[v.Name] = true
	}
	for _, v := range from.Env {
		if v.Secret && !has[v.Name] {
			return "the variable " + v.Name
		}
	}
	return ""
}
