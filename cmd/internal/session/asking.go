package session

import (
	"errors"
	"strings"

	"github.com/mcp-jail/mcp-jail/cmd/internal/records"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/diagnostics/change"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/lifecycle"
)

// asking keeps what the user allows in the client during a session, for the processes that start from now on. No file of the
// configuration is written. It is the Asker of the session.
type asking struct {
	followed *Followed
	granted  []sessionGrant // its mu guards them
}

type sessionGrant struct {
	tool  string
	words []string
}

// AskingSession is Session, and has the user asked in the client about what the jail refuses.
func (f *Followed) AskingSession(c terminal.Console, launcher confine.Launcher) lifecycle.Session {
	a := f.asking()
	if a == nil {
		return f.Session(c, launcher)
	}
	s := f.Session(c, launcher)
	s.Asker = a
	if t := f.target(); t.Policy.Stateful && lifecycle.DrawsForms(records.ReadAbout(t.Host, t.Policy.KeptName()).Client.Name) {
		launcher.CertainReads = true
		_, err := launcher.Compile(t.Profile)
		s.Reads = err == nil
	}
	return s
}

// asking returns the Asker of the session, or nil where nothing is asked: of a server without an id, and of one that a
// project's file narrows.
func (f *Followed) asking() *asking {
	t := f.target()
	if p := t.Policy; p.ID == "" || !p.Ask || p.Narrow != nil || t.trial != nil {
		return nil
	}
	return &asking{followed: f}
}

// May implements lifecycle.Asker.
func (a *asking) May(words []string) bool {
	t := a.followed.target()
	return t.Policy.Ask && t.Policy.Narrow == nil && records.ReadAsked(t.Host, t.Policy.KeptName()).May(strings.Join(words, " "))
}

// Begin implements lifecycle.Asker.
func (a *asking) Begin() bool {
	t := a.followed.target()
	return records.CountAsked(t.Host, t.Policy.KeptName())
}

// No implements lifecycle.Asker. A no that cannot be kept holds for as long as nothing else is refused.
func (a *asking) No(words []string) {
	t := a.followed.target()
	_ = records.NoteNo(t.Host, t.Policy.KeptName(), strings.Join(words, " "))
}

// Yes implements lifecycle.Asker.
func (a *asking) Yes(tool string, words []string) (*lifecycle.Next, error) {
	return a.followed.grant(a, sessionGrant{tool, words})
}

func decidedAnew(t *Target, tool string, objects []change.Object) change.Proposal {
	return t.decide(change.Want{Tool: tool, Source: change.Recorded, Object: objects[0]})
}

// grant gives the processes that start from now on what the user has allowed in the client. A stateful server is to be
// started again for it.
func (f *Followed) grant(a *asking, g sessionGrant) (*lifecycle.Next, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	before := f.target()
	// What else has changed in the files was not asked about.
	_, _, changed := f.stamp.Changed()
	if kept, _ := f.differs(); before.Policy.Stateful && (changed || kept != nil) {
		return nil, errors.New("its policy has changed since it was started: " + show.Typed("mcp-jail grant", before.Policy.Server))
	}
	if objects, err := change.Read(g.words); err != nil || !decidedAnew(before, g.tool, objects).InClient(before.Policy.Net) {
		return nil, errors.New("by what holds now it is not asked about here: " + show.Typed("mcp-jail grant", before.Policy.Server))
	}
	a.granted = append(a.granted, g)
	after, err := a.load(before)
	if err == nil {
		if err = before.canBecome(after); err == nil {
			err = f.prepare(after)
		}
	}
	if err != nil {
		a.granted = a.granted[:len(a.granted)-1]
		if after != nil {
			after.Close()
		}
		return nil, err
	}
	f.Log.granted("a question in the client", g.words)
	if before.Policy.Stateful {
		return f.next(after, nil), nil
	}
	f.take(after)
	f.Log.restarted(after)
	return nil, nil
}

// load loads a target again, as if its file had what the user has allowed.
func (a *asking) load(t *Target) (*Target, error) {
	file, err := ownFile(t)
	if err != nil {
		return nil, err
	}
	written := "" // in the file, which has nothing of what is allowed here
	for _, g := range a.granted {
		before, err := t.starts(g.tool, file)
		if before == nil {
			return nil, err
		}
		if written == "" {
			written = before.Written()
		}
		var after *Target
		if file, after, err = t.with(before, file, g.tool, g.words); after == nil {
			return nil, err
		}
	}
	after, err := t.source.with("", file)
	if err == nil {
		err = after.Resolve()
	}
	if err == nil {
		after.written = written
		after.source.again = func() (*Target, error) { return a.load(t) }
	}
	return after, err
}
