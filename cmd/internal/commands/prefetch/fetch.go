package prefetch

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"time"

	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/exit"
	"github.com/mcp-jail/mcp-jail/cmd/internal/fetching"
	"github.com/mcp-jail/mcp-jail/cmd/internal/programs"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/internal/show"
)

// atOnce is how many packages are fetched at once. While one unpacks, another uses the line.
const atOnce = 3

// sayEvery is the time between two lines about one package where there is no terminal.
const sayEvery = 10 * time.Second

// news is what is heard of the fetch of one package.
type news struct {
	of *fetch
	fetching.Message
	ended bool
}

// fetch is one mcp-jail-cli install.
type fetch struct {
	*Package
	begin, said time.Time
	last        fetching.Message
	in          io.Closer // its end ends the fetch
}

// Fetch fetches packages, a few at once, and says how far that is. It goes on if one fails. When a
// signal ends it, what was fetched is kept. The servers are wrapped already, and stay so.
func Fetch(c terminal.Console, packages []*Package) error {
	if len(packages) == 0 {
		return nil
	}
	c.Printf("\n")
	program, err := programs.Beside(programs.Companion)
	if err != nil {
		return err
	}
	interrupted := cli.Interrupts()
	defer signal.Stop(interrupted)
	heard := make(chan news)
	r := &round{console: c, program: program, all: len(packages), waiting: packages, heard: heard}
	if c.Spins() {
		r.spinner = c.Spinner()
	}
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	var signalled os.Signal
	for r.more(); len(r.running) > 0; r.more() {
		select {
		case n := <-heard:
			r.hear(n)
		case <-tick.C:
			r.report()
		case signalled = <-interrupted:
			signal.Stop(interrupted) // the second one ends the program at once
			r.waiting, r.ended = nil, true
			for _, f := range r.running {
				f.in.Close()
			}
		}
	}
	r.clear()
	if signalled != nil {
		c.Errorf("interrupted: the servers are wrapped. What was fetched is kept, and `mcp-jail wrap` or the first start of a server goes on with it")
		return cli.Interrupted(signalled)
	}
	if r.failed > 0 {
		c.Errorf("%s not fetched. The servers are wrapped, and their first starts try it again", cli.Plural(r.failed, "package"))
		return exit.ReportedStatus(exit.Failure)
	}
	return nil
}

// round is the fetching of some packages.
type round struct {
	console terminal.Console
	program string
	spinner *terminal.Spinner // nil where a line cannot be changed
	all     int
	ended   bool // by a signal: what fails then need not be said
	waiting []*Package
	running []*fetch
	ready   int
	failed  int
	heard   chan news
}

// more starts fetches, as many as may run at once.
func (r *round) more() {
	for len(r.waiting) > 0 && len(r.running) < atOnce {
		f := &fetch{Package: r.waiting[0], begin: time.Now(), said: time.Now()}
		r.waiting = r.waiting[1:]
		if err := f.start(r.program, r.heard); err != nil {
			r.fail(f, err.Error())
			continue
		}
		r.running = append(r.running, f)
		if r.spinner == nil {
			r.console.Sayf("fetching %s ...", show.Line(f.Name))
		}
	}
}

func (f *fetch) start(program string, heard chan<- news) error {
	cmd := exec.Command(program, append([]string{"install", "--for-wrap", "--"}, f.argv...)...)
	cmd.Dir, cmd.Env = f.dir, slices.DeleteFunc(slices.Clone(f.env), func(e string) bool { return strings.Contains(e, unknown) })
	said := &bytes.Buffer{}
	cmd.Stderr = said
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	f.in = in
	go func() {
		json.NewEncoder(in).Encode(f.flags) // if it has ended, it says why
		lines, answered := bufio.NewScanner(out), false
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			n := news{of: f}
			if json.Unmarshal(lines.Bytes(), &n.Message) == nil {
				answered = answered || n.Error != "" || n.Ready != ""
				heard <- n
			}
		}
		err := cmd.Wait()
		if !answered {
			heard <- news{of: f, Message: fetching.Message{Error: strings.TrimSpace(fmt.Sprintf("%s (%v)", said.String(), err))}}
		}
		in.Close()
		heard <- news{of: f, ended: true}
	}()
	return nil
}

func (r *round) hear(n news) {
	f := n.of
	switch {
	case n.ended:
		r.running = slices.DeleteFunc(r.running, func(other *fetch) bool { return other == f })
	case n.Error != "":
		r.fail(f, n.Error)
	case n.Ready != "":
		r.ready++
		r.clear()
		r.console.Printf("%s: %s, %s, %s\n", r.console.Paint(terminal.Green, "ready"), show.Line(n.Ready), cli.Plural(n.Packages, "package"), cli.SizeText(n.Bytes))
		for _, name := range n.Skipped {
			r.console.Printf("  the script that %s brings for its installation did not run\n", show.Line(name))
		}
		if len(n.Skipped) > 0 {
			r.console.Printf("  if the server needs it:  mcp-jail install --install-scripts %s\n", f.asked)
		}
	default:
		f.last = n.Message
	}
	r.show()
}

// fail says why a package was not fetched, and how it can be.
func (r *round) fail(f *fetch, why string) {
	if r.ended {
		return
	}
	r.failed++
	r.clear()
	r.console.Errorf("%s: not fetched: %s\nto try it again:  %s", show.Line(strings.Join(f.Servers, ", ")), show.Lines(why), f.again)
}

func (r *round) report() {
	r.show()
	for _, f := range r.running {
		if r.spinner == nil && time.Since(f.said) >= sayEvery {
			f.said = time.Now()
			r.console.Sayf("%s %s%s, after %d s", fetching.Step(f.last.Step), show.Line(f.Name), f.size(), int(time.Since(f.begin).Seconds()))
		}
	}
}

// show changes the line on a terminal.
func (r *round) show() {
	if r.spinner == nil || len(r.running) == 0 {
		return
	}
	var parts []string
	for _, f := range r.running {
		parts = append(parts, fetching.Step(f.last.Step)+" "+f.Name+f.size())
	}
	r.spinner.Show(fmt.Sprintf("%d of %d ready: %s", r.ready, r.all, strings.Join(parts, "; ")))
}

func (r *round) clear() {
	if r.spinner != nil {
		r.spinner.Clear()
	}
}

func (f *fetch) size() string {
	if f.last.Files < 2 && f.last.Bytes < 1000 { // one small file is there before anything is fetched
		return ""
	}
	return " " + cli.SizeText(f.last.Bytes)
}
