package wrapcmd

import (
	"encoding/json"
	"os/exec"
	"os/signal"
	"slices"
	"strings"

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

// fetch has mcp-jail install download packages. That goes on if one fails. When a signal ends it, what was downloaded is
// kept. The servers are wrapped already, and stay so.
func fetch(c terminal.Console, packages []*missingPackage) error {
	if len(packages) == 0 {
		return nil
	}
	program, err := cmdline.Beside(cmdline.Companion)
	if err != nil {
		return err
	}
	var all []session.Download
	for _, p := range packages {
		all = append(all, session.Download{Name: strings.Join(p.servers, ", "), Argv: p.argv, Waive: p.waive})
	}
	interrupted := cli.Interrupts()
	defer signal.Stop(interrupted)
	cmd := exec.Command(program, "install", "--for-wrap")
	_, cmd.Stdout, cmd.Stderr = c.Raw()
	in, err := cmd.StdinPipe() // its end ends the installation
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	json.NewEncoder(in).Encode(all) // if it has ended, it says why
	select {
	case err := <-ended:
		if err != nil {
			c.Errorf("not every package was downloaded. Your servers are wrapped. To download the rest:\n  mcp-jail wrap")
			return terminal.ReportedStatus(terminal.Failure)
		}
		return nil
	case <-interrupted:
		signal.Stop(interrupted) // the second one ends the program at once
		in.Close()
		<-ended
		return &terminal.InterruptedError{Undone: "your servers are wrapped, but not all of their packages are downloaded yet. To go on:\n  mcp-jail wrap"}
	}
}

// missingPackage is what some wrapped servers need, and have not got yet.
type missingPackage struct {
	servers []string // as their clients name them
	argv    []string // of one of them
	waive   []string
}

// unknown is in the place of a value that only the client knows, such as a token. No line with it in
// its package is fetched.
const unknown = "/known-to-the-client-only"

// missing returns the packages of the servers that are wrapped after some changes, as far as they are
// not in the store: each once.
func missing(host hostfs.Host, clientsHost clients.Host, changes []*wrapping.Change) (missing []*missingPackage) {
	known := map[store.Key]*missingPackage{}
	for _, ch := range changes {
		for _, s := range ch.Servers {
			p, key := packageOf(host, clientsHost, ch.File, s)
			if p == nil {
				continue
			}
			if first, ok := known[key]; ok {
				if first != nil && !slices.Contains(first.servers, p.servers[0]) {
					first.servers = append(first.servers, p.servers...)
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
func packageOf(host hostfs.Host, clientsHost clients.Host, f *wrapping.File, s wrapping.ServerChange) (*missingPackage, store.Key) {
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
	plain := installed.Key(&line, &host)
	p := &missingPackage{servers: []string{show.Name(s.Server)}, argv: w.Argv}
	for _, axis := range index.HasWaivers(s.Own, w) {
		p.waive = append(p.waive, string(axis))
	}
	host.Environ = clients.Environ(host.Environ, started.Env)
	key := installed.Key(&line, &host)
	if key != plain || strings.Contains(key.Spec, unknown) {
		return nil, store.Key{} // the entry's variables say where it comes from, which its first start knows
	}
	return p, key
}
