package learncmd

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mcp-jail/mcp-jail/cmd/internal/cmdline"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/callcmd"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/session"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// patience is how long a start or a call may take.
const patience = 45 * time.Second

// try is one start of the server, with its calls.
type try struct {
	about    string   // the name and the version of the server
	answered []string // calls, each once
	tools    []string // those of tools alone
	failed   []failure
	skipped  []Skipped
	refused  []policy.Denial // in calls that answered
	hosts    []string        // that it wanted to reach
}

// methodNotFound is the code with which a server declines a list that it does not have.
const methodNotFound = -32601

// theStart is a start in place of the name of a call.
const theStart = "the start"

// failure is a start or a call that failed.
type failure struct {
	call, tool string
	why        string
	hints      []diagnostics.Hint
}

// helped reports whether a call answered. The start did if there is any answer.
func (t *try) helped(call string) bool {
	return slices.Contains(t.answered, call) || call == theStart && t.about != ""
}

// try starts the server with what was granted so far.
func (l *loop) try(ctx context.Context) (*try, error) {
	t, err := l.target()
	if t.InstallsAfter(err) {
		if err = l.install(t); err == nil {
			t, err = l.target()
		}
	}
	if err != nil {
		return nil, err
	}
	defer t.Close()
	l.net, l.own = t.Policy.Net, []string{t.Profile.Home}
	if w := t.Profile.Workspace; !hostfs.Within(t.Host.OS, session.ResolveLinks(t.Host.Home), w) { // or it is the whole home directory
		l.own = append(l.own, w)
	}
	limited, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	slow := time.AfterFunc(patience, func() { stop(fmt.Errorf("no answer within %v", patience)) })
	defer slow.Stop()
	player := player{
		Client: callcmd.Client{Name: "mcp-jail learn", Root: l.root}, Requests: l.drive, Place: l.place(t),
		Each: func(answer) { slow.Reset(patience) },
	}
	var played *played
	var failed error
	trial := callcmd.Trial{Target: t, Umask: l.c.Umask, Name: "mcp-jail learn", Reads: true, Slow: func() { l.c.Sayf("starting %s ...", l.name) }}
	record, err := trial.Talk(limited, func(from io.Reader, to io.WriteCloser) { played, failed = player.play(limited, from, to) })
	if err != nil {
		return nil, err
	}
	if why := context.Cause(limited); failed != nil && why != nil {
		failed = why
	}
	return outcome(played, failed, record), nil
}

// target returns the server with what was granted so far.
func (l *loop) target() (*session.Target, error) {
	args, server := cmdline.Split(append([]string{}, l.argv...))
	flags, err := cmdline.ParseRun(args)
	if err != nil {
		return nil, err
	}
	t, err := session.LoadWith(config.LoadOptions{Candidate: l.edit.File()}, flags.ConfigFlags, flags.PolicyFlags, flags.Server, "", server)
	if err == nil {
		err = t.Resolve()
	}
	return t, err
}

// install fetches the package of the server, as its first start does.
func (l *loop) install(t *session.Target) error {
	in, hold, err := os.Pipe() // the client that waits for it
	if err != nil {
		return err
	}
	defer in.Close()
	defer hold.Close()
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer null.Close()
	l.c.Sayf("fetching the package of %s, once ...", l.name)
	_, err = t.Package.Install(terminal.New(in, null, null), t.Reach)
	return err
}

// place returns what arguments are made of: a directory that the server's line names, or its workspace.
func (l *loop) place(t *session.Target) (p place) {
	p.Workspace = t.Policy.Workspace
	for _, word := range l.words {
		at := l.edit.At(word)
		if info, err := os.Stat(at); err == nil && info.IsDir() && filepath.IsAbs(word) {
			p.Workspace = at
			break
		}
	}
	entries, _ := os.ReadDir(p.Workspace)
	for _, e := range entries {
		if e.Type().IsRegular() && !strings.HasPrefix(e.Name(), ".") {
			p.File = e.Name()
			break
		}
	}
	for _, r := range t.Policy.Net {
		p.Hosts = append(p.Hosts, r.Host)
	}
	return p
}

// outcome puts together what came of a try.
func outcome(played *played, failed error, record diagnostics.Record) *try {
	t := &try{hosts: hostsOf(record)}
	if failed != nil {
		t.failed = []failure{{call: theStart, why: show.Line(failed.Error()), hints: hintsOf(record, "", true)}}
		if n := len(record.Diagnoses); n > 0 {
			t.failed[0].why = record.Diagnoses[n-1].Sentence()
		}
		return t
	}
	t.about, t.skipped = strings.TrimSpace(played.Server), played.Skipped
	for _, a := range played.Answers {
		call := a.Request.String()
		switch {
		case a.Request.Tool == "" && a.Error != nil && a.Error.Code == methodNotFound:
		case a.Failed():
			t.failed = append(t.failed, failure{call: call, tool: a.Request.Tool, why: reason(a), hints: hintsOf(record, a.Request.Tool, false)})
		case !slices.Contains(t.answered, call):
			t.answered = append(t.answered, call)
		}
	}
	if played.Broken != nil {
		t.failed = append(t.failed, failure{call: played.Lost.String(), tool: played.Lost.Tool, why: show.Line(played.Broken.Error()), hints: hintsOf(record, played.Lost.Tool, false)})
	}
	t.answered = slices.DeleteFunc(t.answered, func(call string) bool { // one of its calls failed
		return slices.ContainsFunc(t.failed, func(f failure) bool { return f.call == call })
	})
	for _, a := range played.Answers {
		if call := a.Request.String(); a.Request.Tool != "" && slices.Contains(t.answered, call) && !slices.Contains(t.tools, call) {
			t.tools = append(t.tools, call)
		}
	}
	for _, d := range record.Diagnoses {
		if d.Answered {
			t.refused = append(t.refused, d.Denials...)
		}
	}
	return t
}

// hostsOf returns the hosts that were refused: with the port of a connection, or as a look-up names them.
func hostsOf(record diagnostics.Record) (hosts []string) {
	for _, d := range record.Denials {
		isName := d.Operation == "connect" || d.Operation == "resolve"
		if d.Axis == policy.AxisNet && d.Reason == policy.DeniedNotGranted && isName && !slices.Contains(hosts, d.Target) && len(hosts) < 100 {
			hosts = append(hosts, d.Target)
		}
	}
	return hosts
}

// hintsOf returns what the failures of a tool lacked, or those of no tool, or all.
func hintsOf(record diagnostics.Record, tool string, all bool) (hints []diagnostics.Hint) {
	for _, d := range record.Diagnoses {
		if (all || d.Tool == tool) && !d.Answered {
			hints = append(hints, d.Hints...)
		}
	}
	return hints
}

// reason returns the first line with which a call failed, in quotes.
func reason(a answer) string {
	texts, _ := callcmd.ReadResult(a.Result)
	text := strings.Join(texts, "\n")
	if a.Error != nil {
		text = a.Error.Message
	}
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			return show.Quote(cli.Clip(line, 200))
		}
	}
	return "it says that it failed, and not why"
}
