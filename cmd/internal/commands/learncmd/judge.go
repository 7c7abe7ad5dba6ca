package learncmd

import (
	"cmp"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/grantcmd"
	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/diagnostics/change"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/resolve"
)

// give grants what a try lacked and may be given: of each failure the first thing. What the server's answers show
// later may come in the next try.
func (l *loop) give(t *try) (given []*grant, err error) {
	l.proposed, l.left = nil, nil
	for _, f := range t.failed {
		for _, h := range f.hints {
			g, isNew, err := l.giveOne(f, h)
			if err != nil {
				return nil, err
			}
			if isNew {
				given = append(given, g)
			}
			if g != nil {
				break
			}
		}
	}
	return given, nil
}

// giveOne grants what a hint of a failure says, if it may. It returns nil if that changes nothing for the next try.
func (l *loop) giveOne(f failure, h diagnostics.Hint) (_ *grant, isNew bool, err error) {
	objects, err := change.Read(h.Proposal.Object.Words())
	if err != nil || len(objects) == 0 || h.Attribution == diagnostics.Possible || h.Attribution == diagnostics.None {
		return nil, false, err
	}
	if l.edit.Propose(h.Proposal.Want).Verdict() <= change.Cannot {
		return nil, false, nil
	}
	g := &grant{Object: l.edit.Whole(objects[0]), by: []string{f.call}}
	if !l.stateful() {
		g.tool = f.tool
	}
	if at := slices.IndexFunc(l.grants, g.same); at >= 0 {
		if before := l.grants[at]; !slices.Contains(before.by, f.call) {
			before.by = append(before.by, f.call)
			return before, false, nil
		}
		return nil, false, nil // it has that, and fails still
	}
	var verdict verdict
	if verdict, g.why, err = l.judge(g); err != nil {
		return nil, false, err
	}
	switch verdict {
	case leave:
		l.left = addTo(l.left, g)
		return nil, false, nil
	case propose:
		l.proposed = addTo(l.proposed, g)
		return g, false, nil
	}
	isNew, err = l.add(g)
	if err != nil { // the server would not start with it
		g.why = show.Line(err.Error())
		l.left = addTo(l.left, g)
		return nil, false, nil
	}
	if !isNew {
		return nil, false, nil
	}
	l.grants = append(l.grants, g)
	return g, true, nil
}

func (g *grant) same(o *grant) bool { return g.tool == o.tool && g.Same(o.Object) }

// addTo adds a grant to others, or what lacked it to the one that is the same.
func addTo(all []*grant, g *grant) []*grant {
	if at := slices.IndexFunc(all, g.same); at >= 0 {
		if !slices.Contains(all[at].by, g.by[0]) {
			all[at].by = append(all[at].by, g.by[0])
		}
		return all
	}
	return append(all, g)
}

// A verdict decides about a grant that the user did not type.
type verdict int

const (
	leave   verdict = iota // it is named at the end, and not granted
	propose                // it is asked for at the end, and not tried
	allow
)

// judge decides about a grant, and says why it is left out.
func (l *loop) judge(g *grant) (verdict, string, error) {
	harm, err := l.edit.Judge(g.tool, g.Object)
	longer, writes := g.Setting.Key == startupTimeout, g.Fs.Rights()&policy.Write != 0
	switch {
	case err != nil:
		return leave, "", err
	case harm.Never != "":
		return leave, harm.Never, nil
	case g.Net.Host != "":
		return l.ask(g, "", "learn allows no host without a question")
	case harm.Secret, harm.Ask != "" && !harm.Inside, slices.Contains(l.keysIn(g), tooMany):
		return leave, cmp.Or(harm.Ask, "too much lies in there to look for keys"), nil
	case writes && !l.isOwn(g.Fs.Path), g.Fs.Rights() == 0 && !longer:
		return propose, harm.Ask, nil
	case l.reaches() && !longer:
		return l.ask(g, " "+show.Name(l.name)+" may reach hosts, so it could send that on.", "the server may reach hosts, so learn asks about each path")
	}
	return allow, "", nil
}

// startupTimeout is the key of the time that the server has to start.
const startupTimeout = "startup_timeout_secs"

// ask asks about a grant once. beware is what to know for the answer.
func (l *loop) ask(g *grant, beware, why string) (verdict, string, error) {
	if l.yes || !l.c.Asks() {
		return leave, why, nil
	}
	if slices.ContainsFunc(l.denied, g.same) {
		return leave, "the answer was not yes", nil
	}
	question := g.by[0] + " needs " + l.need(g) + "." + beware + " " + grantcmd.Question(l.name, g.Words())
	yes, err := cli.AskYes(l.c, question, "nothing was changed")
	if err != nil || yes {
		return allow, "", err
	}
	l.denied = append(l.denied, g)
	return leave, "the answer was not yes", nil
}

// stateful reports whether one process serves all calls.
func (l *loop) stateful() bool {
	s := l.edit.File.Server
	return s.Stateful == nil || *s.Stateful
}

// reaches reports whether the server may reach a host: one beside this machine in the last try, or one that is granted.
func (l *loop) reaches() bool {
	return slices.ContainsFunc(l.net, func(r policy.NetRule) bool { return r.Allow && r.Host != "localhost" }) ||
		slices.ContainsFunc(l.grants, func(g *grant) bool { return g.Net.Host != "" })
}

// isOwn reports whether a path lies in the workspace or in the HOME of the server.
func (l *loop) isOwn(path string) bool {
	at := l.edit.At(path)
	return slices.ContainsFunc(l.own, func(dir string) bool { return dir != "" && policy.Within(at, dir) })
}

// tooMany is in place of the keys of a directory that has too much in it.
const tooMany = ""

const (
	maxEntries = 20000
	maxKeys    = 20
)

var errMany = errors.New("too many")

// keysIn returns the files with names of keys in a directory of a grant: each is denied beside it.
func (l *loop) keysIn(g *grant) (keys []string) {
	if g.Fs.Rights() == 0 {
		return nil
	}
	entries := 0
	err := filepath.WalkDir(l.edit.At(g.Fs.Path), func(path string, d fs.DirEntry, err error) error {
		entries++
		if err == nil && !d.IsDir() && resolve.HasKeyName(path) && path != l.edit.At(g.Fs.Path) {
			keys = append(keys, path)
		}
		if entries > maxEntries || len(keys) > maxKeys {
			return errMany
		}
		return nil
	})
	if errors.Is(err, errMany) {
		return []string{tooMany}
	}
	return keys
}

// need says what a grant gives, after "needs".
func (l *loop) need(g *grant) string {
	words := g.Words()
	switch does := grantcmd.Verbs[words[0]]; {
	case does != "":
		return "to " + does + " " + l.edit.Short(g.Name())
	case g.Setting.Key == startupTimeout:
		return "more time to start"
	}
	return change.AsTyped(words)
}
