package pkgcmd

import (
	"fmt"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/packages/install"
)

// installProgress shows how far an installation is. On a terminal it changes one line. Elsewhere
// it prints a line for each step, and at most one every ten seconds while a step lasts.
type installProgress struct {
	console terminal.Console
	name    string

	mu   sync.Mutex
	bar  *progressbar.ProgressBar // on a terminal, while something is done
	step string
	said time.Time
}

// progressEvery is the least time between two lines of one step where there is no terminal.
const progressEvery = 10 * time.Second

func newInstallProgress(c terminal.Console, name string) *installProgress {
	return &installProgress{console: c, name: show.Line(name)}
}

// show shows the progress that package install reports. It may be called in another goroutine.
func (p *installProgress) show(at install.Progress) {
	text := map[install.Step]string{
		install.Waiting: "waiting for another installation of", install.Fetching: "fetching",
		install.Scripts: "running the install scripts of", install.Sealing: "hashing",
	}[at.Step]
	size := ""
	if at.Bytes > 0 {
		size = ": " + cli.SizeText(at.Bytes)
		if at.Files > 1 { // one is there before anything is fetched
			size = fmt.Sprintf(": %s, %s", cli.Plural(at.Files, "file"), cli.SizeText(at.Bytes))
		}
	}
	p.print(text, size)
}

func (p *installProgress) starting() { p.print("starting", "") }

func (p *installProgress) print(step, size string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.console.ErrIsTerminal() {
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
	if p.bar == nil {
		_, _, errs := p.console.Raw()
		p.bar = progressbar.NewOptions64(-1, progressbar.OptionSetWriter(errs), progressbar.OptionClearOnFinish(),
			progressbar.OptionSpinnerType(14), progressbar.OptionSetElapsedTime(true), progressbar.OptionFullWidth())
	}
	p.bar.Describe(step + " " + p.name + size)
	p.bar.Add(1)
}

func (p *installProgress) done() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bar != nil {
		p.bar.Finish()
		p.bar = nil
	}
}
