//go:build linux || darwin

package confine

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/confine/egress/tlsworker"
	"github.com/mcp-jail/mcp-jail/confine/internal/gateway"
	"github.com/mcp-jail/mcp-jail/policy"
)

// runTLS returns what starts mcp-jail-tls for the jail of a profile, in a jail in which it has its own program,
// its standard input and output, and nothing else. What that jail cannot hold on this host is waived as for the
// jail that it serves.
func (l Launcher) runTLS(served *policy.Profile) gateway.Runner {
	return func(ctx context.Context, program string, in, out *os.File) (tlsworker.Process, error) {
		p := &policy.Profile{
			Server: tlsworker.Name, Program: program, Argv: []string{tlsworker.Name}, Dir: "/",
			Entries: tlsEntries(program),
			// With GOMAXPROCS set, Go's runtime looks for no file of a cgroup.
			Env: []policy.Variable{{Name: "GOMAXPROCS", Value: fmt.Sprint(min(runtime.NumCPU(), 4))}, {Name: "GOTRACEBACK", Value: "none"}},
		}
		own := Launcher{SupervisorPath: l.SupervisorPath, Waive: slices.Concat(served.Waive, l.Waive)}
		process, err := own.Start(ctx, p, Stdio{In: in, Out: out})
		if err != nil {
			return nil, fmt.Errorf("its jail: %w", err)
		}
		return tlsProcess{process}, nil
	}
}

// librariesOfMac are what dyld reads before any program of macOS begins.
var librariesOfMac = []string{"/System/Cryptexes", "/System/Library", "/System/Volumes/Preboot/Cryptexes", "/private/var/db/dyld", "/usr/lib"}

func tlsEntries(program string) []policy.Entry {
	entries := []policy.Entry{{Path: program, Kind: policy.KindFile}}
	if runtime.GOOS == "darwin" {
		for _, dir := range librariesOfMac {
			entries = append(entries, policy.Entry{Path: dir, Kind: policy.KindDir})
		}
	}
	for i := range entries {
		e := &entries[i]
		e.Named, e.Rights, e.Origin, e.Rule = e.Path, policy.Read|policy.Execute, policy.OriginBaseline, "the program"
	}
	slices.SortFunc(entries, func(a, b policy.Entry) int { return strings.Compare(a.Path, b.Path) })
	return entries
}

type tlsProcess struct{ *Process }

// Wait returns how mcp-jail-tls ended.
func (p tlsProcess) Wait() string {
	switch exit, _ := p.Process.Wait(); {
	case exit.Why != "":
		return exit.Why
	case exit.Signal != 0:
		return "signal: " + exit.Signal.String()
	default:
		return fmt.Sprintf("exit status %d", exit.Code)
	}
}

func (p *Process) tellOfTLS(end error) {
	p.notify(Notice{Text: end.Error() + ": until then, requests to hosts whose requests are read are blocked", Warning: true})
}
