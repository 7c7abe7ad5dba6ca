package inspect

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"time"

	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/entries"
	"github.com/mcp-jail/mcp-jail/cmd/internal/records"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// runFollow shows refusals until a signal ends it. Ctrl-C is the usual end, and no failure.
func (w *whyCmd) runFollow(c terminal.Console, host hostfs.Host, sessions []serverRecords) error {
	server := ""
	if w.server != "" {
		s, err := w.find(c, host, sessions)
		var owner *hostfs.OwnerError
		switch {
		case errors.As(err, &owner), err != nil && filepath.Base(w.server) != w.server:
			return err
		case err != nil:
			s.Server = entries.Meant(host, w.server).Stored
			if w.format != "json" && !isConfigured(host, s.Server) && !isWrapped(host, s.Server) {
				c.Notef("no server %s has run yet, and no configuration has it; waiting for its first session", show.Quote(w.server))
			}
		}
		server = s.Server
	}
	stop := cli.Interrupts()
	defer signal.Stop(stop)
	f := records.Follow(host, server)
	defer f.Close()
	t := newTeller(c, host, w.format == "json")
	if c.ErrIsTerminal() && w.format != "json" {
		c.Notef("waiting for refusals; Ctrl-C ends it")
	}
	for {
		ended := f.Wait(stop, t.due(time.Now()))
		t.tell(f.Read(), time.Now(), ended != nil)
		switch {
		case c.WriteErr != nil && *c.WriteErr != nil:
			return *c.WriteErr
		case ended == os.Interrupt:
			return nil
		case ended != nil:
			return cli.Interrupted(ended)
		}
	}
}

// teller prints refusals. The first of those that are alike is printed in full, and how many followed
// at first after firstPause, and then less and less often.
type teller struct {
	console terminal.Console
	host    hostfs.Host
	json    bool
	told    map[string]*toldRefusal
	order   []*toldRefusal                      // of told
	lists   map[string][]diagnostics.ClientList // by server, while something is told
}

// toldRefusal is a refusal that was printed.
type toldRefusal struct {
	latest records.Told // its Count is what was not printed yet
	pause  time.Duration
	next   time.Time // when it may be printed
}

const (
	firstPause, lastPause = 5 * time.Second, 5 * time.Minute
	maxTold               = 5000 // different refusals that are counted; then it begins anew
)

func newTeller(c terminal.Console, host hostfs.Host, json bool) *teller {
	return &teller{console: c, host: host, json: json, told: map[string]*toldRefusal{}, lists: map[string][]diagnostics.ClientList{}}
}

// tell prints what is new, and the counts that are due, or all of them at the end.
func (t *teller) tell(all []records.Told, now time.Time, end bool) {
	clear(t.lists) // the user may have changed an entry
	for _, r := range all {
		key := r.Kept + "\x00" + r.Key()
		known := t.told[key]
		if known == nil {
			if len(t.told) >= maxTold {
				t.tellCounts(now, true)
				clear(t.told)
				t.order = nil
			}
			known = &toldRefusal{latest: r, pause: firstPause, next: now.Add(firstPause)}
			t.told[key], t.order = known, append(t.order, known)
			t.print(r)
			known.latest.Count, known.latest.Omitted = 0, 0
			continue
		}
		r.Count += known.latest.Count
		r.Omitted += known.latest.Omitted
		known.latest = r
	}
	t.tellCounts(now, end)
}

func (t *teller) tellCounts(now time.Time, all bool) {
	for _, known := range t.order {
		if known.latest.Count == 0 || !all && now.Before(known.next) {
			continue
		}
		t.printAgain(known.latest)
		known.latest.Count, known.latest.Omitted = 0, 0
		known.pause = min(2*known.pause, lastPause)
		known.next = now.Add(known.pause)
	}
}

// due returns how long it is until a count is to be printed.
func (t *teller) due(now time.Time) time.Duration {
	due := time.Hour
	for _, known := range t.order {
		if known.latest.Count > 0 {
			due = min(due, known.next.Sub(now))
		}
	}
	return due
}

func (t *teller) print(r records.Told) {
	if t.json {
		t.printJSON(r)
		return
	}
	heading := t.heading(r)
	if r.Count > 1 {
		heading += fmt.Sprintf("  (%d times)", r.Count)
	}
	t.console.Printf("%s\n", heading)
	t.console.PrintText(strings.TrimPrefix(r.Text(t.listsOf(r.Kept)...), "\n"))
	record := diagnostics.Record{Server: r.Server, Tool: r.Tool, Diagnoses: []diagnostics.Diagnosis{r.Diagnosis}}
	if line := grantLine(t.host, record, serverRecords{Server: r.Kept, Project: r.Project, dir: cli.CodeDir(t.host, r.Kept)}); line != "" && r.Tried == "" {
		t.console.Printf("\n%s\n", line)
	}
	t.printOmitted(r)
	t.console.Printf("\n")
}

// listsOf returns what clientLists returns for a server. It looks once for all that is told together.
func (t *teller) listsOf(kept string) []diagnostics.ClientList {
	lists, known := t.lists[kept]
	if !known {
		lists = clientLists(t.host, kept)
		t.lists[kept] = lists
	}
	return lists
}

func (t *teller) printAgain(r records.Told) {
	if t.json {
		t.printJSON(r)
		return
	}
	again := strings.ReplaceAll(r.Again(), `"`+t.host.Home+"/", `"~/`) // as the causes name it
	t.console.PrintText(t.heading(r) + "  " + again + "\n")
	t.printOmitted(r)
	t.console.Printf("\n")
}

func (t *teller) printOmitted(r records.Told) {
	if r.Omitted > 0 {
		t.console.Printf("%d others came faster than they could be kept\n", r.Omitted)
	}
}

func (t *teller) heading(r records.Told) string {
	name := serverRecords{Server: r.Kept, Project: r.Project, dir: cli.CodeDir(t.host, r.Kept)}.name()
	text := r.Time.Local().Format(time.TimeOnly) + "  " + show.Name(name)
	if r.Project != "" {
		text += " of the project " + show.Line(filepath.Dir(r.Project))
	}
	return text
}

func (t *teller) printJSON(r records.Told) {
	if line, err := r.Encode(); err == nil {
		t.console.Printf("%s\n", line)
	}
}
