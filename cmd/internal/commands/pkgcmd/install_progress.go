package pkgcmd

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/mcp-jail/mcp-jail/cmd/internal/session"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/packages/install"
)

// progressBoard shows how far some installations are. On a terminal it changes one line. Elsewhere it
// prints a line for each step of each installation, and at most one every ten seconds while a step
// lasts.
type progressBoard struct {
	console terminal.Console
	all     int // installations

	printing sync.Mutex // held while a text is printed, or an answer waited for

	mu      sync.Mutex
	spinner *terminal.Spinner // on a terminal, since something was done
	shown   bool              // the line is there
	quiet   bool              // another text is printed now
	late    []string          // lines to print after that
	running []*installProgress
	ended   int      // installations
	waived  []string // lines about waived gaps that were printed
}

// installProgress is what the board shows of one installation.
type installProgress struct {
	board *progressBoard
	name  string
	last  session.Message
	begin time.Time // of the step
	said  time.Time
	ended bool
}

// progressEvery is the least time between two lines of one step where there is no terminal, lookQuietly how long it looks
// for newer versions without a line, and showEach how long the line on a terminal is about one of several packages.
const (
	progressEvery = 10 * time.Second
	lookQuietly   = 2 * time.Second
	showEach      = 3 * time.Second
)

func (b *progressBoard) add(name string) *installProgress {
	return &installProgress{board: b, name: show.Line(name)}
}

// show shows the progress that package install reports. It may be called in another goroutine.
func (p *installProgress) show(at install.Progress) {
	p.is(session.Message{Step: string(at.Step), Files: at.Files, Bytes: at.Bytes})
}

func (p *installProgress) starting() { p.is(session.Message{Step: session.Starting}) }

func (p *installProgress) is(at session.Message) {
	b := p.board
	b.mu.Lock()
	defer b.mu.Unlock()
	if !slices.Contains(b.running, p) {
		b.running = append(b.running, p)
	}
	another := at.Step != p.last.Step || p.begin.IsZero()
	if p.last = at; another {
		p.begin, p.said = time.Now(), time.Time{}
		if at.Step == "looking" { // that is short, and often there is nothing to say of it
			p.said = p.begin.Add(lookQuietly - progressEvery)
		}
	}
	switch {
	case b.console.Spins():
		b.draw()
	case time.Since(p.said) >= progressEvery:
		p.said = time.Now()
		b.say(p.text())
	}
}

func (p *installProgress) text() string {
	return session.Moving(p.name, p.last, time.Since(p.begin))
}

// end says that the board shows an installation no more.
func (p *installProgress) end() {
	b := p.board
	b.mu.Lock()
	defer b.mu.Unlock()
	b.running = slices.DeleteFunc(b.running, func(other *installProgress) bool { return other == p })
	if !p.ended {
		p.ended = true
		b.ended++
	}
	b.draw()
}

// draw draws the line, or removes it. The caller has locked mu.
func (b *progressBoard) draw() {
	if !b.console.Spins() || b.quiet {
		return
	}
	if len(b.running) == 0 {
		b.clear()
		return
	}
	text := b.running[int(time.Now().Unix()/int64(showEach/time.Second))%len(b.running)].text()
	if b.all > 1 {
		text = fmt.Sprintf("%d of %d: %s", b.ended, b.all, text)
	}
	if b.spinner == nil {
		b.spinner = b.console.Spinner()
	}
	b.spinner.Show(text)
	b.shown = true
}

func (b *progressBoard) clear() {
	if b.shown {
		b.spinner.Clear()
		b.shown = false
	}
}

// say prints a line, at the latest when quietly is done. The caller has locked mu.
func (b *progressBoard) say(line string) {
	if b.quiet {
		b.late = append(b.late, line)
		return
	}
	b.clear()
	b.console.Sayf("%s", line)
}

// quietly calls a function that prints or asks, and shows nothing meanwhile. It waits for another such
// call.
func (b *progressBoard) quietly(print func()) {
	b.printing.Lock()
	defer b.printing.Unlock()
	b.mu.Lock()
	b.clear()
	b.quiet = true
	b.mu.Unlock()
	print()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.quiet = false
	for _, line := range b.late {
		b.console.Sayf("%s", line)
	}
	b.late = nil
	b.draw()
}

// warn says lines about the jail of an installation, each once.
func (b *progressBoard) warn(lines []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, line := range lines {
		if !slices.Contains(b.waived, line) {
			b.waived = append(b.waived, line)
			b.say(show.Line(line))
		}
	}
}
