// Command bench measures what the jail costs, side by side with the same thing
// done without one, and prints the table of the README.
//
//	go run ./bench
//	go run ./bench --runs 100 --format json >bench.json
//
// # What is measured
//
//   - Launch: from the spawn of true to its end. Once by the launcher alone,
//     inside this process, and once by a whole mcp-jail run. bwrap does the same
//     with the same program where it is installed.
//   - Initialize: from the spawn of a server to the last byte of its answer to
//     initialize. A node server, server-filesystem, and a small one in Go.
//   - Call: one tools/call after the other, by the size of the answer.
//   - Memory: the proportional set size of the two processes that a jail adds,
//     while server-filesystem idles.
//   - A process for each call (stateful = false): a call whose process has to be
//     started, against the start, handshake and call of the same program bare; a
//     call whose process was started ahead, against one of a process for the whole
//     session in its jail; eight at once; a thousand in a row, and what they leave.
//   - Network: a host that the policy grants, in a namespace of its own that stands for
//     the Internet, reached by the same program with and without a jail; where requests
//     have to be seen (path_prefix) by way of mcp-jail-tls; and once more with user
//     namespaces forbidden.
//   - Throughput: large answers, requested without waiting for one another.
//
// # How
//
// The bare and the jailed side of a measure alternate within one run, so that
// both see the same machine; both servers get the same environment. A cell is the median, with the least and the
// greatest value in parentheses. "Added" and "ratio" are medians over the pairs,
// not differences of the medians: what slows both sides of a pair cancels out.
// Budgets are printed next to the figures and never enforced.
//
// The program builds mcp-jail and the small server itself. server-filesystem is
// looked for below --servers, then $MCPJAIL_SERVERS, and is otherwise installed
// with npm into a directory that goes away with the rest. Standard error shows
// the progress; standard output carries the table only.
//
// # Limits
//
// A call of a few hundred bytes takes one of two times: some 8 µs where the two
// ends of a pipe happen to share a core, some 40 µs where they do not. So single
// rounds differ by more than the jail adds, and "added" needs many of them; a
// negative one says that there were too few.
//
// A loaded machine lengthens everything, and the jailed side, which takes more
// turns on the processor, more than the bare one: see the load in the machine's
// line. The figures of a launch are worth something below a load of 1 or so.
// Where the kernel refuses an ordinary user the memory of mcp-jail's processes,
// the row says so.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/mcp-jail/mcp-jail/confine"
)

// options are the command line.
type options struct {
	runs    int
	format  string
	servers string
	only    string
}

func main() {
	confine.ShimMain()
	runRole()
	if err := roomForAll(); err != nil {
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
	flags.StringVar(&o.format, "format", "markdown", "markdown or json")
	flags.StringVar(&o.servers, "servers", os.Getenv("MCPJAIL_SERVERS"), "`directory` with the node_modules that hold server-filesystem")
	flags.StringVar(&o.only, "only", "", "one `measure`, by the name that progress shows")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	switch {
	case flags.NArg() > 0:
		return o, fmt.Errorf("what is %q? Nothing but options is understood", flags.Arg(0))
	case o.runs < 1:
		return o, errors.New("--runs must be at least 1")
	case o.format != "markdown" && o.format != "json":
		return o, fmt.Errorf("--format %s: there is markdown and json", o.format)
	}
	return o, nil
}

// bench runs every measure and prints one table. A measure that fails costs its
// own rows only.
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
	for _, m := range []struct {
		name string
		run  func(context.Context, *site) ([]row, error)
	}{
		// The launch comes first: the launcher forks this process, and what the
		// other measures allocate would have to be copied.
		{"launch", measureLaunch},
		{"initialize", measureInitialize},
		{"call", measureCalls},
		{"memory", measureMemory},
		{"throughput", measureThroughput},
		{"a process for each call", measurePerCall},
		{"network", measureNetwork},
	} {
		if o.only != "" && o.only != m.name {
			continue
		}
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
	if err := t.print(out, o.format); err != nil {
		return err
	}
	return failed
}

// say shows progress.
func say(format string, a ...any) { fmt.Fprintf(os.Stderr, "bench: "+format+"\n", a...) }
