package pkgcmd

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/mcp-jail/mcp-jail/cmd/internal/cmdline"
	"github.com/mcp-jail/mcp-jail/cmd/internal/exit"
	"github.com/mcp-jail/mcp-jail/cmd/internal/fetching"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/packages/install"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// serveWrap installs the package of a line for wrap, and prints a line of JSON for each step. The
// standard input has the flags with which mcp-jail run starts the line, and its end ends the
// installation. The server is not started.
func (i *installCmd) serveWrap(ctx context.Context, c terminal.Console) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	signal.Ignore(syscall.SIGPIPE)
	var flags []string
	if err := json.NewDecoder(c.Input()).Decode(&flags); err != nil {
		return fmt.Errorf("the flags of the line are missing: %w", err)
	}
	go func() {
		io.Copy(io.Discard, c.Input())
		cancel()
	}()
	say := sayTo(c)
	if err := i.installFor(ctx, flags, say); err != nil {
		say(fetching.Message{Error: strings.TrimSpace(err.Error())})
		return exit.ReportedStatus(exit.Failure)
	}
	return nil
}

func (i *installCmd) installFor(ctx context.Context, flags []string, say func(fetching.Message)) error {
	if _, err := cmdline.Parse(flags, slices.Concat(i.flags.Flags(), i.ConfigFlags.Flags())); err != nil {
		return err
	}
	w, err := i.behindDashes()
	if err != nil {
		return err
	}
	t, err := w.load()
	if err != nil {
		return err
	}
	host, err := hostfs.LocalHost()
	if err != nil {
		return err
	}
	r, err := i.installer(host, t, w, func(p install.Progress) {
		say(fetching.Message{Step: string(p.Step), Files: p.Files, Bytes: p.Bytes})
	}).Install(ctx, &w.line)
	if err != nil {
		return err
	}
	say(fetching.Message{Ready: r.Entry.Name + " " + r.Entry.Version, Packages: packageCount(r.Entry), Skipped: r.Skipped, Bytes: treeSize(host, r.Entry)})
	return nil
}

// sayTo returns a function that prints messages, each as a line of JSON.
func sayTo(c terminal.Console) func(fetching.Message) {
	return func(m fetching.Message) {
		if text, err := json.Marshal(m); err == nil {
			c.Printf("%s\n", text)
		}
	}
}
