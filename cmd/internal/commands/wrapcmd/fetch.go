package wrapcmd

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"time"

	"github.com/mcp-jail/mcp-jail/clients"
	"github.com/mcp-jail/mcp-jail/cmd/internal/cmdline"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/index"
	"github.com/mcp-jail/mcp-jail/cmd/internal/session"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/cmd/internal/wrapping"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/packages/installed"
	"github.com/mcp-jail/mcp-jail/packages/runline"
	"github.com/mcp-jail/mcp-jail/packages/store"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// atOnce is how many packages are fetched at once. While one unpacks, another uses the line.
const atOnce = 3

// showEach is how long the line on a terminal is about one of several packages.
const showEach = 3 * time.Second

// sayEvery is the time between two lines about one package where there is no terminal.
const sayEvery = 10 * time.Second

// news is what is heard of the fetch of one package.
type news struct {
	of *fetch
	session.Message
	ended bool
}

// fetch is one mcp-jail-cli install.
type fetch struct {
	*Package
	begin, said time.Time
	last        session.Message
	in          io.Closer // its end ends the fetch
}

// Fetch fetches packages, a few at once, and says how far that is. It goes on if one fails. When a
// signal ends it, what was fetched is kept. The servers are wrapped already, and stay so.
func Fetch(c terminal.Console, packages []*Package) error {
	if len(packages) == 0 {
		return nil
	}
	c.Printf("\n")
	program, err := cmdline.Beside(cmdline.Companion)
	if err != nil {
		return err
	}
	interrupted := cli.Interrupts()
	defer signal.Stop(interrupted)
	heard := make(chan news)
	r := &round{console: c, begin: time.Now(), program: program, all: len(packages), waiting: packages, missing: slices.Clone(packages), heard: heard}
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
		return &terminal.InterruptedError{Signal: signalled, Undone: r.notReady()}
	}
	if r.failed > 0 {
		return terminal.ReportedStatus(terminal.Failure)
	}
	return nil
}

// notReady says which packages are missing after a signal, and how to go on.
func (r *round) notReady() string {
	if len(r.missing) == 1 {
		return "Your servers are wrapped, but " + r.missing[0].name() + " is not downloaded yet. To go on:\n  " + r.missing[0].again
	}
	return fmt.Sprintf("Your servers are wrapped, but %d of them are not downloaded yet. To go on:\n  mcp-jail wrap", len(r.missing))
}

// name names the servers that wait for a package.
func (p *Package) name() string { return strings.Join(p.Servers, ", ") }

// round is the fetching of some packages.
type round struct {
	console terminal.Console
	program string
	begin   time.Time
	spinner *terminal.Spinner // nil where a line cannot be changed
	all     int
	ended   bool // by a signal: what fails then need not be said
	waiting []*Package
	running []*fetch
	missing []*Package // that are not ready
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
			r.console.Sayf("downloading %s (this can take minutes)", f.name())
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
			heard <- news{of: f, Message: session.Message{Error: strings.TrimSpace(fmt.Sprintf("%s (%v)", said.String(), err))}}
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
		r.missing = slices.DeleteFunc(r.missing, func(p *Package) bool { return p == f.Package })
		r.clear()
		r.console.PrintText(session.ReadyText(f.name(), n.Message) + "\n")
		if len(n.Skipped) > 0 {
			r.console.PrintText(fmt.Sprintf("The install scripts of %s did not run. If %s needs them:\n  mcp-jail install --install-scripts %s\n", show.Line(strings.Join(n.Skipped, ", ")), f.name(), f.asked))
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
	why, _ = strings.CutSuffix(show.Lines(why), ".")
	r.console.Errorf("%s cannot start yet: %s.\n%s is wrapped. To try it again:\n  %s", f.name(), why, f.name(), f.again)
}

func (r *round) report() {
	r.show()
	for _, f := range r.running {
		if r.spinner == nil && time.Since(f.said) >= sayEvery {
			f.said = time.Now()
			r.console.Sayf("%s", session.Moving(f.name(), f.last, time.Since(f.begin)))
		}
	}
}

// show changes the line on a terminal: it has the step of one package, and how many are ready.
func (r *round) show() {
	if r.spinner == nil || len(r.running) == 0 {
		return
	}
	f := r.running[int(time.Since(r.begin)/showEach)%len(r.running)]
	text := session.Moving(f.name(), f.last, time.Since(f.begin))
	if r.all > 1 {
		text = fmt.Sprintf("%d of %d ready: %s", r.ready, r.all, text)
	}
	r.spinner.Show(text)
}

func (r *round) clear() {
	if r.spinner != nil {
		r.spinner.Clear()
	}
}

// Package is what some wrapped servers need, and have not got yet.
type Package struct {
	Name    string   // as their lines name it
	Servers []string // as their clients name them
	asked   string   // the arguments of mcp-jail install for it
	again   string   // the command that fetches it later

	flags, argv []string // of mcp-jail run
	env         []string // of the client's start
	dir         string
}

// unknown is in the place of a value that only the client knows, such as a token. No line with it in
// its package is fetched, and no program gets it.
const unknown = "/known-to-the-client-only"

// missing returns the packages of the servers that are wrapped after some changes, as far as they are
// not in the store: each once.
func missing(host hostfs.Host, clientsHost clients.Host, changes []*wrapping.Change) (missing []*Package) {
	known := map[store.Key]*Package{}
	for _, ch := range changes {
		for _, s := range ch.Servers {
			p, key := packageOf(host, clientsHost, ch.File, s)
			if p == nil {
				continue
			}
			if first, ok := known[key]; ok {
				if first != nil && !slices.Contains(first.Servers, p.Servers[0]) {
					first.Servers = append(first.Servers, p.Servers...)
				}
				continue
			}
			if index.HasPackage(host, key) {
				p = nil
			} else {
				missing = append(missing, p)
			}
			known[key] = p
		}
	}
	return missing
}

// packageOf returns the package of a server, or nil if none is fetched for it.
func packageOf(host hostfs.Host, clientsHost clients.Host, f *wrapping.File, s wrapping.ServerChange) (*Package, store.Key) {
	if f.IsProject() { // others may have written its lines: they are fetched when the user starts them, without logins
		return nil, store.Key{}
	}
	argv := s.Argv()
	if s.Left == "" {
		argv = append([]string{cmdline.Main}, s.Try()...)
	}
	if w, ok := clients.ParseWrapped(argv); !ok || w.Argv == nil || s.Disabled || host.OS == "windows" {
		return nil, store.Key{}
	}
	started, err := s.AsClient(argv, clientsHost, func(clients.Reference) (string, error) { return unknown, nil })
	if err != nil {
		return nil, store.Key{} // the client cannot start it here, and says why
	}
	w, _ := clients.ParseWrapped(started.Argv)
	line, err := runline.Parse(w.Argv)
	if err != nil {
		return nil, store.Key{}
	}
	p := &Package{
		Name: line.Packages[0].String(), Servers: []string{show.Name(s.Server)},
		flags: w.Flags, argv: w.Argv, env: environment(host.Environ, started.Env), dir: directory(host, started),
	}
	plain := installed.Key(&line, &host)
	host.Environ, host.Dir = p.env, p.dir
	key := installed.Key(&line, &host)
	if strings.Contains(key.Spec, unknown) {
		return nil, store.Key{} // only the client knows where the package comes from
	}
	p.asked = session.AskedLine(index.HasWaivers(s.Own, w), w.Argv, &line)
	p.again = "mcp-jail install " + p.asked
	if s.Own != nil {
		p.again = show.Typed("mcp-jail install", s.Own.Server.Name)
	}
	if plain != key { // the entry's variables choose the registry
		p.again = show.Typed("mcp-jail wrap --client "+f.Client.Name+" --server", s.Server)
	}
	return p, key
}

func environment(environ []string, env []clients.Variable) []string {
	environ = slices.Clone(environ)
	for _, v := range env {
		environ = slices.DeleteFunc(environ, func(e string) bool { return strings.HasPrefix(e, v.Name+"=") })
		if !v.Unset {
			environ = append(environ, v.Name+"="+v.Value)
		}
	}
	return environ
}

func directory(host hostfs.Host, s wrapping.Started) string {
	dir := cmp.Or(s.Dir, s.Root, host.Dir)
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return host.Dir
	}
	return dir
}
