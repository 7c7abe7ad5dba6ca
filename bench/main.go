// Command bench measures what the jail costs, side by side with the same work without a
// jail, and prints the table of docs/performance.md.
//
//	go run ./bench
//	go run ./bench --runs 100 --write
//
// # What is measured
//
//   - Launch: from the spawn of true to its end. Once by the launcher alone,
//     inside this process, and once by a whole mcp-jail run. bwrap does the same
//     with the same program where it is installed.
//   - Initialize: from the spawn of a server to the last byte of its answer to
//     initialize. A node server, server-filesystem, and a small one in Go.
//   - Npx: the same for "npx -y PACKAGE" once the package was fetched: in the jail mcp-jail takes the line
//     apart. It is also compared with npx --offline.
//   - Call: one tools/call after the other, by the size of the answer.
//   - Memory: the proportional set size of the two processes that a jail adds,
//     while server-filesystem idles after one call; and of twenty such sessions together.
//   - A process for each call (stateful = false): a call with a cold start, against the
//     start, handshake and call of the same program bare; a call of a warm worker,
//     against a call in a stateful session in the jail; eight calls at once; a thousand
//     in a row, and what they leave behind.
//   - Throughput: large answers, requested without waiting for one another.
//
// # How
//
// The bare and the jailed side of a measure alternate within one run, so that both see
// the same machine. Both servers get the same environment. A cell is the median, with the
// least and the greatest value in parentheses. "Added" and "ratio" are medians over the
// pairs, not differences of the medians, so a slowdown of both sides of a pair cancels out.
// Budgets are printed next to the figures and never enforced.
//
// The program builds mcp-jail and the small server. It looks for server-filesystem below
// --servers, then below $MCPJAIL_SERVERS. If it is in neither, the program installs it with
// npm into a temporary directory. Standard error shows the progress; standard output has
// the table only.
//
// # Limits
//
// A call of a few hundred bytes takes one of two times: some 8 µs if the two ends of a
// pipe share a core, some 40 µs if they do not. So single rounds differ by more than the
// jail adds, and "added" needs many rounds. A negative value means that there were too few.
//
// Load on the machine slows everything. It slows the jailed side more, because that side
// is scheduled more often. The machine's line shows the load; use the figures of a launch
// only at a load below about 1. If the kernel does not let an ordinary user read the memory
// of mcp-jail's processes, the row says so.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/mcp-jail/mcp-jail/confine"
)

// options are the flags of the command line.
type options struct {
	runs     int
	write    bool
	servers  string
	measures []measure
}

func main() {
	confine.RunSupervisor()
	if err := padFDTable(); err != nil {
		fmt.Fprintln(os.Stderr, "bench: room for descriptors:", err)
		os.Exit(1)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := bench(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func parse(args []string) (o options, err error) {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.IntVar(&o.runs, "runs", 30, "`rounds` of every measure; a round is one value for each side")
	flags.StringVar(&o.servers, "servers", os.Getenv("MCPJAIL_SERVERS"), "`directory` with the node_modules that hold server-filesystem")
	flags.BoolVar(&o.write, "write", false, "write the table into docs/performance.md, and the figures of README.md there")
	only := flags.String("only", "", "these `measures`, by the names that progress shows, with commas between them")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	switch {
	case flags.NArg() > 0:
		return o, fmt.Errorf("unexpected argument %q: bench takes flags only", flags.Arg(0))
	case o.runs < 1:
		return o, errors.New("--runs must be at least 1")
	}
	o.measures, err = chosen(*only)
	return o, err
}

// measure is a part of the table.
type measure struct {
	name string
	run  func(context.Context, *site) ([]row, error)
}

// measures are all of them, in the order of the table.
var measures = []measure{
	// The launch comes first: the launcher forks this process, and a fork takes
	// longer once the other measures have allocated memory.
	{"launch", measureLaunch},
	{"initialize", measureInitialize},
	{"npx", measureNpx},
	{"call", measureCalls},
	{"memory", measureMemory},
	{"throughput", measureThroughput},
	{"a process for each call", measureStateless},
}

// chosen returns the measures of a list of names, or all of them.
func chosen(only string) ([]measure, error) {
	if only == "" {
		return measures, nil
	}
	names := strings.Split(only, ",")
	var all []string
	for _, m := range measures {
		all = append(all, m.name)
	}
	for _, name := range names {
		if !slices.Contains(all, name) {
			return nil, fmt.Errorf("--only %s: there are %s", name, strings.Join(all, ", "))
		}
	}
	return slices.DeleteFunc(slices.Clone(measures), func(m measure) bool { return !slices.Contains(names, m.name) }), nil
}

// bench runs every measure and prints one table. If a measure fails, only its rows are
// missing.
func bench(ctx context.Context, args []string, out io.Writer) error {
	o, err := parse(args)
	if errors.Is(err, flag.ErrHelp) {
		return nil
	}
	if err != nil {
		return err
	}
	s, err := newSite(ctx, o)
	if err != nil {
		return err
	}
	defer s.remove()
	t := table{Machine: machineOf(ctx), Runs: o.runs}
	var failed error
	for _, m := range o.measures {
		say("measuring %s ...", m.name)
		rows, err := m.run(ctx, s)
		if ctx.Err() != nil {
			return errors.New("interrupted")
		}
		t.Rows = append(t.Rows, rows...)
		if err != nil {
			t.Rows = append(t.Rows, row{Measure: m.name, Note: "failed: " + firstLine(err.Error())})
			failed = errors.Join(failed, fmt.Errorf("%s: %w", m.name, err))
		}
	}
	t.Machine.LoadAfter = load()
	if _, err := io.WriteString(out, t.markdown(true)+"\n"+t.notes()); err != nil {
		return err
	}
	if o.write && failed == nil {
		return writePages(t)
	}
	return failed
}

// say prints progress to standard error.
func say(format string, a ...any) { fmt.Fprintf(os.Stderr, "bench: "+format+"\n", a...) }
