package learncmd

import (
	"cmp"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/grantcmd"
	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/diagnostics/change"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
	"github.com/mcp-jail/mcp-jail/policy/resolve"
)

// give grants what a try lacked and may be given: of each failure the first thing, with what it helps only together with.
// What the server's answers show later may come in the next try.
func (l *loop) give(t *try) (given []*grant, err error) {
	l.proposed, l.left = nil, nil
	for _, f := range t.failed {
		some, isLeft := false, false
		for _, h := range f.hints {
			if h.Proposal.Besides && isLeft {
				continue
			}
			if !h.Proposal.Besides && some {
				break
			}
			before := len(l.left)
			g, isNew, err := l.giveOne(f, h)
			if err != nil {
				return nil, err
			}
			if isNew {
				given = append(given, g)
			}
			some, isLeft = some || g != nil, len(l.left) > before
		}
	}
	return given, nil
}

// giveOne grants what a hint of a failure says, if it may. It returns nil if that changes nothing for the next try.
func (l *loop) giveOne(f failure, h diagnostics.Hint) (_ *grant, isNew bool, err error) {
	objects, err := change.Read(h.Proposal.Object.Words()) // what the flag gives
	if err != nil || len(objects) == 0 || h.Attribution == diagnostics.Possible || h.Attribution == diagnostics.None {
		return nil, false, err
	}
	g := &grant{Object: l.edit.Whole(change.Merge(objects)[0]), by: []string{f.call}}
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
	tried, proposed, err := l.may(g, h.Proposal.Source)
	switch {
	case err != nil:
		return nil, false, err
	case proposed:
		l.proposed = addTo(l.proposed, g)
		return g, false, nil
	case !tried && g.why != "":
		l.left = addTo(l.left, g)
		return nil, false, nil
	case !tried: // it has that
		return nil, false, nil
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

// may reports whether a grant is tried, or not tried and asked for at the end. If it is left, its why says the reason; if the
// server has it, there is none. The jail records no variable: what is known of one are words.
func (l *loop) may(g *grant, from change.Source) (tried, proposed bool, err error) {
	if g.Env != "" {
		from = change.Said
	}
	p := l.edit.Propose(change.Want{Tool: g.tool, Source: from, Object: g.Object})
	because := p.Because(l.edit.Short(g.Name()))
	var ask []string
	switch rights := g.Fs.Rights(); {
	case g.tool == config.AnyTool:
		g.why = "in a policy * means all tools without rules of their own"
		return false, false, nil
	case p.Verdict() == change.Has:
		return false, false, nil
	case p.Verdict() < change.Ask, p.Verdict() == change.Ask && len(p.Reasons) > 0 && g.Fs.Path != "" && !p.Is(policy.WhyInHome):
		g.why, g.closed = because, !p.IsOpen()
		return false, false, nil
	case slices.Contains(l.keysIn(g), tooMany):
		g.why = "too much lies in there to look for keys"
		return false, false, nil
	case g.Setting.Key == startupTimeout:
		return true, false, nil
	case g.Net.Host != "":
		tried, err = l.ask(g, because)
		return tried, false, err
	case rights == 0, rights&policy.Write != 0 && !l.isOwn(g.Fs.Path):
		return false, true, nil
	case l.reaches():
		ask = append(ask, show.Name(l.name)+" may reach hosts, so it could send that on")
	}
	if p.Verdict() == change.Ask {
		ask = append(ask, cmp.Or(because, "mcp-jail did not see this refusal, and took it from the words of the server"))
	}
	if ask == nil {
		return true, false, nil
	}
	tried, err = l.ask(g, strings.Join(ask, ". "))
	return tried, false, err
}

// startupTimeout is the key of the time that the server has to start.
const startupTimeout = "startup_timeout_secs"

// ask asks about a grant once. beware is what to know for the answer, or "".
func (l *loop) ask(g *grant, beware string) (yes bool, err error) {
	if g.why = cmp.Or(beware, "learn allows no host without a question"); l.yes || !l.c.Asks() {
		return false, nil
	}
	if beware != "" {
		beware += ". "
	}
	if !slices.ContainsFunc(l.denied, g.same) {
		question := g.by[0] + " needs " + l.need(g) + ". " + show.Line(beware) + grantcmd.Question(l.name, g.Words())
		if yes, err = cli.AskYes(l.c, question, "nothing was changed"); yes || err != nil {
			return yes, err
		}
		l.denied = append(l.denied, g)
	}
	g.why = "the answer was not yes"
	return false, nil
}

// stateful reports whether one process serves all calls.
func (l *loop) stateful() bool {
	s := l.edit.File().Server
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
