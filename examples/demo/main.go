// Command demo shows mcp-jail at work. It starts the honest server notes and the dishonest server thief in jails, speaks
// MCP to them through the proxy as any client does, and prints what worked, what the jail blocked, and the command that
// would allow it.
//
//	make demo
//
// Everything happens in a temporary directory with a home, a project and secrets, which the command removes at the end.
// For comparison the thief also runs once without a jail; its targets are then the planted things only. The command does
// not need root. The status is 1 if an outcome is not the expected one.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/mattn/go-isatty"
)

// patience bounds the whole run, so that it ends even if a server hangs.
const patience = 2 * time.Minute

// options are the flags.
type options struct {
	programs programs // those without a path are built
	color    bool
	out      *os.File
}

func main() {
	var c options
	flag.StringVar(&c.programs.jail, "mcp-jail", "", "use this `file` instead of building mcp-jail")
	color := flag.String("color", "auto", "auto, always or never")
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "demo: %q is not a flag; see --help\n", flag.Arg(0))
		os.Exit(2)
	}
	c.out = os.Stdout
	c.color = *color == "always" || *color == "auto" && isatty.IsTerminal(os.Stdout.Fd()) && os.Getenv("NO_COLOR") == ""

	// SIGPIPE too: if a reader such as head closes the pipe early, stop and clean up.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE)
	err := run(ctx, c)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

// run plays the demonstration. When it returns, everything that it started has ended and everything that it made is
// removed, also if ctx ends early.
func run(ctx context.Context, c options) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	site, err := newSite()
	if err != nil {
		return err
	}
	d := demo{site: site, transcript: transcript{out: c.out, color: c.color}, lasting: c.programs.jail != ""}
	err = d.play(ctx, c.programs)
	if err != nil && ctx.Err() != nil {
		// The output of the failed server says why.
		err = fmt.Errorf("stopped: %w", context.Cause(ctx))
	}
	if err := errors.Join(err, site.remove()); err != nil {
		return err
	}
	return d.end()
}

func (d *demo) play(ctx context.Context, given programs) (err error) {
	if d.programs, err = given.build(ctx, d.path("bin")); err != nil {
		return err
	}
	d.title()
	if err := d.notes(ctx); err != nil {
		return err
	}
	if err := d.tools(ctx); err != nil {
		return err
	}
	if err := d.thief(ctx); err != nil {
		return err
	}
	return d.hosts(ctx)
}
