package pkgcmd

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/callcmd"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/session"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/internal/private"
	"github.com/mcp-jail/mcp-jail/packages/install"
	"github.com/mcp-jail/mcp-jail/packages/toolpin"
)

// handshakeTimeout is the time that a server has for listing its tools.
const handshakeTimeout = time.Minute

// toolsFound is what is known of the tools of a server.
type toolsFound struct {
	listed bool
	count  int
	remark string   // about the tools, or why they are not known; "" if there is nothing to say
	more   []string // further lines
}

// pinTools starts the server of an installed package as run would, and pins the tools that it
// lists. If they differ from pinned ones, it only says so. It starts no server whose tools
// are pinned.
func (i *installCmd) pinTools(ctx context.Context, p *installProgress, w wanted) toolsFound {
	t, err := w.load()
	if err == nil {
		err = t.Resolve()
	}
	if err == nil {
		defer t.Close()
		if t.Package.Entry() == nil {
			return toolsFound{remark: t.Package.Text()}
		}
		err = errors.Join(t.ClaimHome(), t.Package.Check(ctx))
	}
	if err != nil {
		return toolsFound{remark: "it was not started: " + err.Error()}
	}
	pins := t.Package.Pins()
	var pinned map[string]*toolpin.Pin
	if pins != nil {
		if pinned, err = pins.Pinned(true); err != nil {
			return toolsFound{remark: "its tools were not compared: " + err.Error()}
		}
		// Tools that are pinned do not change unasked, so the server need not be started.
		if known := pinned[pins.Name(nil)]; known != nil {
			return toolsFound{listed: true, count: len(known.Tools)}
		}
	}
	p.starting()
	answer, err := trial(t, p.board.console).Run(ctx)
	if err != nil {
		return unlisted("its tools are pinned at its first session", err)
	}
	found := toolsFound{listed: true, count: len(answer.Tools)}
	if pins == nil {
		return found
	}
	list, err := answer.Pin()
	if err != nil {
		found.remark = "its tools cannot be pinned: " + err.Error()
		return found
	}
	verdict := toolpin.Judge(pinned, pins.Name(nil), list, false)
	switch {
	case verdict.New:
		err = pins.Add(pins.Name(nil), list)
	case len(verdict.Differences) > 0:
		found.remark = "its tools are not those that are pinned. To accept them: " + pins.Accept()
		found.more = differenceTexts(verdict.Differences)
	}
	if err != nil {
		found.remark = "its tools could not be pinned: " + err.Error()
	}
	return found
}

// tryUpdate starts the new version of a package, which is not accepted yet, and compares its
// tools with those that are pinned. The tools that it lists become part of the update.
func (i *installCmd) tryUpdate(ctx context.Context, p *installProgress, w wanted, u *install.Update) toolsFound {
	later := "its tools are compared at its next session"
	beside, err := private.Open(filepath.Dir(u.LockFile), ".")
	if err != nil {
		return toolsFound{remark: later + ": " + err.Error()}
	}
	defer beside.Close()
	dir, err := beside.MakeTemp()
	if err != nil {
		return toolsFound{remark: later + ": " + err.Error()}
	}
	defer beside.RemoveAll(dir)
	t, err := w.load()
	if err == nil {
		// The version is not accepted yet: it gets no network and a HOME that goes.
		t.Try(session.Trial{Store: u.Store, LockFile: u.LockFile, StateDir: filepath.Join(filepath.Dir(u.LockFile), dir)})
		err = t.Resolve()
	}
	if err == nil {
		defer t.Close()
		if t.Package.Entry() == nil {
			return toolsFound{remark: t.Package.Text()}
		}
		err = errors.Join(t.ClaimHome(), t.Package.Check(ctx))
	}
	if err != nil {
		return toolsFound{remark: later + " (it was not started: " + err.Error() + ")"}
	}
	pins := t.Package.Pins()
	if pins == nil {
		return toolsFound{}
	}
	p.starting()
	answer, err := trial(t, p.board.console).Run(ctx)
	if err != nil {
		return unlisted("without a network and the right to write it did not list its tools, so they are compared at its next session", err)
	}
	list, err := answer.Pin()
	if err != nil {
		return toolsFound{remark: "its tools cannot be pinned: " + err.Error()}
	}
	name := pins.Name(nil)
	// A pin is for one set of capabilities of a client. A session may have pinned a list for a
	// client with others, and there may be no pin for this client. So the list is compared with the
	// closest pin. The other pins stay: a server could list harmless tools here, and other tools
	// there.
	changed := toolpin.Closest(u.New.Pins, name, list)
	if changed == nil && len(u.New.Pins) > 0 || len(list.Tools) == 0 && u.New.Pins[name] == nil {
		return toolsFound{}
	}
	if u.New.Pins == nil {
		u.New.Pins = map[string]*toolpin.Pin{}
	}
	u.New.Pins[name] = list
	return toolsFound{more: differenceTexts(slices.DeleteFunc(changed, func(d toolpin.Difference) bool {
		return d.Server && d.Mild() // the package's version, once more
	}))}
}

func trial(t *session.Target, c terminal.Console) callcmd.Trial {
	return callcmd.Trial{Target: t, Umask: c.Umask, Name: "mcp-jail install", Timeout: handshakeTimeout}
}

func unlisted(remark string, err error) toolsFound {
	var failure *callcmd.Failure
	if !errors.As(err, &failure) || failure.Diagnosis == nil {
		return toolsFound{remark: remark + " (" + err.Error() + ")"}
	}
	d := failure.Diagnosis
	found := toolsFound{}
	if said := d.LastError(); said != "" {
		found.remark = remark + " (it said: " + cli.Truncate(said, 200) + ")"
	} else {
		found.remark = remark + " (" + d.What + ")"
	}
	if d.Cause != "" {
		found.more = strings.Split(d.Summary(), "\n")
	}
	return found
}

func differenceTexts(all []toolpin.Difference) (lines []string) {
	for _, d := range all {
		lines = append(lines, d.String())
	}
	return lines
}
