package pkgcmd

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/session"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/packages/install"
	"github.com/mcp-jail/mcp-jail/packages/installed"
	"github.com/mcp-jail/mcp-jail/packages/lockfile"
	"github.com/mcp-jail/mcp-jail/packages/runline"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

func (i *installCmd) installer(host hostfs.Host, t *session.Target, w wanted, progress func(install.Progress)) *install.Installer {
	return &install.Installer{
		Store: session.PackageStore(host), LockFile: session.LockFile(host), Host: host, Untrusted: t.Untrusted, Asked: w.asked,
		Own: w.own || session.IsOwn(t), Scripts: i.scripts, Progress: progress, Waive: t.Policy.Waive,
	}
}

// withWaivers adds to the error of a jail with gaps the command line that accepts them.
func (i *installCmd) withWaivers(err error, w wanted) error {
	var gaps *confine.GapError
	if !errors.As(err, &gaps) || gaps.Waive == nil {
		return err
	}
	command := "mcp-jail install"
	for _, option := range []struct {
		given bool
		flag  string
	}{{i.update, " --update"}, {i.scripts, " --install-scripts"}, {i.yes, " --yes"}} {
		if option.given {
			command += option.flag
		}
	}
	asked := w.asked
	for given := true; given; { // the axes that are waived already are among those of gaps
		var rest string
		if rest, given = strings.CutPrefix(asked, "--waive "); given {
			_, asked, _ = strings.Cut(rest, " ")
		}
	}
	return fmt.Errorf("%w. To accept them: %s %s %s", err, command, confine.WaiveFlags(gaps.Waive), asked)
}

// ready says that a package is installed, and what its server lists.
func (j *job) ready(c terminal.Console, what string, e *lockfile.Entry, found toolsFound) {
	line := fmt.Sprintf("%s %s: version %s, ", show.Line(j.name), c.Paint(terminal.Green, what), e.Version)
	if found.listed {
		line += cli.Plural(found.count, "tool") + ", "
	}
	line += cli.SizeText(treeSize(j.host, e)) + "."
	c.PrintText(line + "\n")
	if found.remark != "" {
		c.PrintText("  note: " + show.Line(found.remark) + "\n")
	}
	for _, more := range found.more {
		c.Printf("  %s\n", show.Line(more))
	}
}

// allowed returns a phrase for a line that names a version or a range, since a newer version may
// exist. It returns "" for other lines.
func allowed(line *runline.Line) string {
	if p := line.Packages[0]; p.Version != "" || p.Range != "" {
		return " that the line allows: " + show.Line(p.String())
	}
	return ""
}

// treeSize returns the bytes of an installed tree, 0 if it cannot be found.
func packageCount(e *lockfile.Entry) int {
	list, _ := e.List()
	return len(list)
}

func treeSize(host hostfs.Host, e *lockfile.Entry) int64 {
	trees, _ := session.PackageStore(host).Trees()
	for _, t := range trees {
		if t.ID == installed.ID(e) {
			return t.Bytes
		}
	}
	return 0
}

// idleAfterClient is how long an installation without a client may make no progress. The next
// start waits for the end of this installation, and asks the registry anew.
const idleAfterClient = 15 * time.Second

// background ends an installation whose client has left. Its methods may be called from
// several goroutines.
type background struct {
	end func()

	mu    sync.Mutex
	last  install.Progress
	idle  *time.Timer // nil while there is a client
	total *time.Timer
}

func (b *background) left() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.idle, b.total = time.AfterFunc(idleAfterClient, b.end), time.AfterFunc(session.AfterClient, b.end)
}

func (b *background) progress(p install.Progress) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.idle != nil && p != b.last {
		b.idle.Reset(idleAfterClient)
	}
	b.last = p
}
