package learncmd

import (
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/cmd/internal/cmdline"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/drive"
	"github.com/mcp-jail/mcp-jail/cmd/internal/programs"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/resolve"
)

// needsOneProcess returns why one process stays, as far as that is known without another round, or "".
func (l perCall) needsOneProcess() (why string, err error) {
	first := l.expected.First
	switch {
	case l.server.Config != nil:
		return "your configuration has one for this server, which stateful = false there changes", nil
	case l.sessions > 0:
		return "what the sessions of your client did cannot be asked again", nil
	case first.Broken != nil || len(first.Answers) != l.lists()+len(l.asked()):
		return "not each call was answered", nil
	case len(l.differences) > 0:
		return "its answers under the policy are not the same", nil
	case l.left > 0:
		return "it did more than could be noted", nil
	}
	if flag, err := l.flagOfOneProcess(); flag != "" || err != nil {
		return "its entry has " + flag + ", which a table of a tool cannot say for the process that lists the tools", err
	}
	for _, a := range first.Answers[:l.lists()] {
		if what, _, _ := strings.Cut(a.Request.Method, "/"); what != "tools" && !isEmptyList(a) {
			return "it has " + what + ", which the process that lists the tools would serve under the default policy", nil
		}
	}
	if len(l.skipped) > 0 {
		var names []string
		for _, s := range l.skipped {
			names = append(names, show.Name(s.Tool))
		}
		return listed(names) + wasWere(names) + " never called, so nothing tells whether " + itThey(names) + " on other calls", nil
	}
	if why := l.callsTellNothing(); why != "" {
		return why, nil
	}
	return l.wouldLoseOrGain()
}

// flagsOfOneProcess are those flags of an entry that only a table for the whole server can take over.
var flagsOfOneProcess = []string{"--deny", "--inbound", "--preset"}

func (l perCall) flagOfOneProcess() (string, error) {
	args, _ := cmdline.Split(programs.Main, l.t.Argv)
	run, err := cmdline.ParseRun(args)
	if err != nil {
		return "", err
	}
	for i, has := range []bool{len(run.Deny) > 0, len(run.Inbound) > 0, run.Preset != ""} {
		if has {
			return flagsOfOneProcess[i], nil
		}
	}
	return "", nil
}

// callsTellNothing returns why the answers do not tell whether they depend on earlier calls, or "".
func (l perCall) callsTellNothing() string {
	if names := l.unsteady(); len(names) > 0 {
		return "the answer of " + names[0] + " is another one each time, so nothing tells whether it depends on other calls"
	}
	answered := map[string]bool{}
	for _, a := range l.expected.First.Answers[l.lists():] {
		answered[a.Request.Tool] = answered[a.Request.Tool] || !a.Failed()
	}
	for _, r := range l.asked() {
		if !answered[r.Tool] {
			return "no call of " + r.String() + " succeeded, so nothing tells whether it depends on other calls"
		}
	}
	return ""
}

// wouldLoseOrGain returns what the server would lose, or get, with a process for each call, or "": files of one call
// that no other one sees, and what the default policy grants to the process that lists the tools.
func (l perCall) wouldLoseOrGain() (string, error) {
	learned, err := l.profileOf(false, fsRules(l.result))
	if err != nil {
		return "", err
	}
	deleted := map[string]bool{}
	for _, o := range l.seen {
		if o.Operation == policy.OpRemove.String() {
			deleted[o.Tool+"\x00"+o.Target] = true
		}
	}
	for _, o := range l.seen {
		if o.Tool != "" && isWrite(o) && !o.Refused && isOwn(learned, o.Target) && !deleted[o.Tool+"\x00"+o.Target] {
			return show.Name(o.Tool) + " writes " + show.Name(cli.ShortPath(o.Target, l.host.Home)) + ", which would end with the process of the call", nil
		}
	}
	listing, err := l.profileOf(true, policy.DefaultFsRules())
	if err != nil {
		return "", err
	}
	if dir := listing.Workspace; dir != "" && listing.RightsAt(dir)&^learned.RightsAt(dir)&(policy.Read|policy.Write) != 0 {
		return "the process that lists the tools would have the default policy, and so more of " + show.Name(cli.ShortPath(dir, l.host.Home)) + " than any call needs; " + otherWorkspace, nil
	}
	return "", nil
}

// otherWorkspace says how that process gets no workspace: the default policy never grants the home directory.
const otherWorkspace = "if the server need not start there, learn it with --workspace ~, and that process has no workspace"

// profileOf returns the profile of the server with other rules for files.
func (l perCall) profileOf(isDefault bool, rules []policy.FsRule) (*policy.Profile, error) {
	p := *l.server.Policy
	p.Default, p.Fs = isDefault, rules
	profile, _, err := resolve.Resolve(&p, l.server.Host)
	return profile, err
}

func isWrite(o policy.Observation) bool {
	return slices.ContainsFunc([]policy.Op{policy.OpWrite, policy.OpTruncate, policy.OpCreate, policy.OpMkdir}, func(op policy.Op) bool { return o.Operation == op.String() })
}

// isOwn reports whether a path is in a place that each process of a server with a process for each call has for
// itself: unless a rule grants it.
func isOwn(p *policy.Profile, path string) bool {
	if !slices.ContainsFunc([]string{p.Home, "/tmp", "/dev/shm"}, func(dir string) bool { return dir != "" && policy.Within(path, dir) }) {
		return false
	}
	e, found := p.Find(path)
	return !found || e.Origin != policy.OriginRule
}

// isEmptyList reports whether the answer to a request for a list, which is not that of tools, has no members.
func isEmptyList(a drive.Answer) bool {
	return a.Error != nil || !strings.Contains(string(a.Result), `"name"`) && !strings.Contains(string(a.Result), `"uri`)
}

func wasWere(names []string) string {
	if len(names) == 1 {
		return " was"
	}
	return " were"
}

func itThey(names []string) string {
	if len(names) == 1 {
		return "it depends"
	}
	return "they depend"
}
