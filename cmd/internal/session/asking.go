package session

import (
	"strings"
	"sync"

	"github.com/mcp-jail/mcp-jail/cmd/internal/records"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/lifecycle"
)

// asking keeps what the user allows in the client during a session: for a stateful server hosts, which its gateway asks
// for, and for a per-call server what mcp-jail grant would write, for the processes that start from now on. No file of
// the configuration is written. It is the Asker of the session.
type asking struct {
	followed *Followed

	mu      sync.Mutex
	hosts   map[string]bool
	granted []sessionGrant
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
	launcher.AskHost = a.askHost()
	s := f.Session(c, launcher)
	s.Asker = a
	return s
}

// asking returns the Asker of the session, or nil where nothing is asked: of a server without an id, and of one that a
// project's file narrows.
func (f *Followed) asking() *asking {
	t := f.target()
	if p := t.Policy; p.ID == "" || !p.Ask || p.Narrow != nil || t.trial != nil {
		return nil
	}
	return &asking{followed: f, hosts: map[string]bool{}}
}

// askHost returns what the gateway of a stateful server asks about a host, or nil. Only a server whose last client
// shows forms gets a gateway for the sake of it: the client of this session is not known yet.
func (a *asking) askHost() func(host string, port int) bool {
	t := a.followed.target()
	if !t.Policy.Stateful || !lifecycle.DrawsForms(records.ReadAbout(t.Host, t.Policy.KeptName()).Client.Name) {
		return nil
	}
	return func(host string, port int) bool {
		a.mu.Lock()
		defer a.mu.Unlock()
		return a.hosts[host] && (port == 80 || port == 443)
	}
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
func (a *asking) Yes(tool string, words []string) error {
	if a.followed.target().Policy.Stateful {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.hosts[words[1]] = true
		return nil
	}
	return a.followed.grant(a, sessionGrant{tool, words})
}

// grant gives the processes that start from now on what the user has allowed in the client.
func (f *Followed) grant(a *asking, g sessionGrant) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	before := f.target()
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
		return err
	}
	f.take(after)
	return nil
}

// load loads a target again, as if its file had what the user has allowed.
func (a *asking) load(t *Target) (*Target, error) {
	file, err := ownFile(t)
	if err != nil {
		return nil, err
	}
	for _, g := range a.granted {
		before, err := t.starts(g.tool, file)
		if before == nil {
			return nil, err
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
		after.source.again = func() (*Target, error) { return a.load(t) }
	}
	return after, err
}
