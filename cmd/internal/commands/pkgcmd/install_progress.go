package pkgcmd

import (
	"fmt"
	"sync"
	"time"

	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/session"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/packages/install"
)

// installProgress shows how far an installation is. On a terminal it changes one line. Elsewhere
// it prints a line for each step, and at most one every ten seconds while a step lasts.
type installProgress struct {
	console terminal.Console
	name    string

	mu      sync.Mutex
	spinner *terminal.Spinner // on a terminal, while something is done
	step    string
	said    time.Time
}

// progressEvery is the least time between two lines of one step where there is no terminal.
const progressEvery = 10 * time.Second

func newInstallProgress(c terminal.Console, name string) *installProgress {
	return &installProgress{console: c, name: show.Line(name)}
}

// show shows the progress that package install reports. It may be called in another goroutine.
func (p *installProgress) show(at install.Progress) {
	size := ""
	if at.Bytes > 0 {
		size = ": " + cli.SizeText(at.Bytes)
		if at.Files > 1 { // one is there before anything is fetched
			size = fmt.Sprintf(": %s, %s", cli.Plural(at.Files, "file"), cli.SizeText(at.Bytes))
		}
	}
	p.print(session.InstallStep(string(at.Step)), size)
}

func (p *installProgress) starting() { p.print("starting", "") }

func (p *installProgress) print(step, size string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.console.Spins() {
		if step != p.step || time.Since(p.said) >= progressEvery {
			if step == p.step {
				step += " " + p.name + size
			} else {
				p.step = step
				step += " " + p.name
			}
			p.said = time.Now()
			p.console.Sayf("%s ...", step)
		}
		return
	}
	if p.spinner == nil {
		p.spinner = p.console.Spinner()
	}
	p.spinner.Show(step + " " + p.name + size)
}

func (p *installProgress) done() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.spinner != nil {
		p.spinner.Clear()
		p.spinner = nil
	}
}
