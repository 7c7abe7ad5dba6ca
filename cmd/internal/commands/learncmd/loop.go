package learncmd

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/grantcmd"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/diagnostics/change"
	"github.com/mcp-jail/mcp-jail/policy"
)

// maxTries is how often a server is started at most.
const maxTries = 10

// loop is what is known of a server while it is tried.
type loop struct {
	c     terminal.Console
	edit  *grantcmd.Edit // what was granted so far, which is in no file yet
	name  string         // of the server
	words []string       // its line
	argv  []string       // of mcp-jail, from run on
	root  string         // the directory of its project; "" for none
	drive []request
	yes   bool

	net []policy.NetRule // that the last try had
	own []string         // directories in which a try may write

	grants   []*grant
	proposed []*grant // what is not tried
	left     []*grant // what is not granted, with the reason
	denied   []*grant // by an answer
	last     *try
	deadline time.Time
}

// grant is an object that mcp-jail grant allows, and what lacked it.
type grant struct {
	change.Object
	tool   string   // of a server with a process for each call
	by     []string // the start, or calls
	why    string
	keys   []string // files in there that are denied beside it
	typed  bool     // by the user
	closed bool     // mcp-jail names no command for it
}

// run tries the server until a try shows nothing more that it may be given.
func (l *loop) run(ctx context.Context, budget time.Duration) error {
	l.deadline = time.Now().Add(budget)
	timed, cancel := context.WithDeadline(ctx, l.deadline)
	defer cancel()
	for n := 1; ; n++ {
		t, err := l.try(timed)
		switch {
		case err != nil:
			return err
		case timed.Err() != nil && l.last != nil: // it was cut off
			l.c.Notef("try %d: the time is up (--budget)", n)
			return l.takeBack()
		}
		l.last = t
		given, err := l.give(t)
		if err != nil {
			return err
		}
		l.say(n, t, given)
		if len(given) == 0 || n == maxTries || timed.Err() != nil {
			return l.takeBack()
		}
	}
}

// takeBack takes back what helped no call.
func (l *loop) takeBack() error {
	var kept []*grant
	for _, g := range l.grants {
		if g.typed || slices.ContainsFunc(g.by, l.last.helped) || slices.ContainsFunc(g.by, l.waits) {
			kept = append(kept, g)
		} else {
			g.why = "it did not help: " + strings.Join(g.by, ", ") + " still failed"
			l.left = append(l.left, g)
		}
	}
	if len(kept) == len(l.grants) {
		return nil
	}
	return l.restart(kept)
}

// waits reports whether a call lacks something that is only proposed.
func (l *loop) waits(call string) bool {
	return slices.ContainsFunc(l.proposed, func(g *grant) bool { return slices.Contains(g.by, call) })
}

// restart grants some grants and nothing else.
func (l *loop) restart(grants []*grant) error {
	l.edit.Reset()
	l.grants = grants
	for _, g := range grants {
		if _, err := l.add(g); err != nil {
			return err
		}
	}
	return nil
}

// add grants something, and denies the keys in it.
func (l *loop) add(g *grant) (isNew bool, err error) {
	g.keys = l.keysIn(g)
	for _, key := range g.keys {
		if _, err := l.edit.Add(g.tool, l.edit.Whole(change.Object{Fs: policy.FsRule{Path: key, Deny: policy.AllRights}})); err != nil {
			return false, err
		}
	}
	by, err := l.edit.Add(g.tool, g.Object)
	return by == "", err
}

// say tells of one try in a line.
func (l *loop) say(n int, t *try, given []*grant) {
	text := "a call failed, and nothing that it needed was allowed"
	switch {
	case len(given) > 0:
		var needs []string
		for _, g := range given {
			needs = append(needs, g.by[0]+" needs "+l.need(g))
		}
		text = strings.Join(needs, ", ") + ". Allowed for the next try"
	case len(t.failed) == 0:
		text = "nothing failed"
	}
	l.c.Notef("try %d: %s. (%s left)", n, text, shortly(time.Until(l.deadline)))
}

// shortly returns a time as "1 min 57 s".
func shortly(d time.Duration) string {
	seconds := int(max(0, d).Round(time.Second).Seconds())
	if seconds < 60 {
		return fmt.Sprintf("%d s", seconds)
	}
	return fmt.Sprintf("%d min %d s", seconds/60, seconds%60)
}
