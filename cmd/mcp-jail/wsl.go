package main

import (
	"io"
	"os"

	"github.com/mcp-jail/mcp-jail/cmd/internal/cmdline"
	"github.com/mcp-jail/mcp-jail/cmd/internal/exit"
	"github.com/mcp-jail/mcp-jail/cmd/internal/session"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/cmd/internal/wsl"
	"github.com/mcp-jail/mcp-jail/confine"
)

// findWSL finds wsl.exe. Tests put a program of theirs in its place.
var findWSL = wsl.Find

// withoutJail serves a session for which this process makes no jail: its command line is wrong, or the
// mcp-jail of a Linux makes one.
func withoutJail(c terminal.Console, args []string, server cmdline.Server, flags *cmdline.RunFlags, err error) confine.Exit {
	if err != nil {
		return confine.Exit{Code: session.Misuse(c, args, server, err)}
	}
	return runInWSL(c, args, server, flags)
}

// runInWSL has the mcp-jail of a Linux in WSL serve the session. args begin with "run".
func runInWSL(c terminal.Console, args []string, server cmdline.Server, flags *cmdline.RunFlags) confine.Exit {
	program, target, line, granted, err := handOver(args, server, flags)
	if err != nil {
		return refuse(c, nil, flags.Server, err)
	}
	in, out, errs := c.Raw()
	end, err := program.Start(target, line, target.Environment(os.Environ(), granted), wsl.Streams{In: in, Out: out, Err: errs, Slow: func() {
		c.Sayf("waiting for %s, a Linux of WSL: it takes some seconds to start", target.Name)
	}})
	switch {
	case err != nil:
		return refuse(c, nil, flags.Server, &exit.HostError{Err: err})
	case end.Started:
		return confine.Exit{Code: end.Status}
	}
	// What the client has sent is answered here, since no server has.
	again, writer, err := os.Pipe()
	if err != nil {
		return refuse(c, nil, flags.Server, &exit.HostError{Err: err})
	}
	go func() {
		io.Copy(writer, end.Rest)
		writer.Close()
	}()
	return refuse(terminal.New(again, out, errs), nil, flags.Server, &exit.HostError{Err: program.Explain(target, end)})
}

func handOver(args []string, server cmdline.Server, flags *cmdline.RunFlags) (p wsl.Program, t wsl.Target, line, granted []string, err error) {
	if t, err = wsl.ParseTarget(flags.WSL); err != nil {
		return p, t, nil, nil, exit.UsageErrorf("%s", err)
	}
	var argv []string
	if server.Given {
		argv = server.Argv
	}
	if line, err = t.Line(args[1:], argv); err != nil {
		return p, t, nil, nil, exit.UsageErrorf("%s", err)
	}
	if granted, err = wsl.Granted(flags); err != nil {
		return p, t, nil, nil, err
	}
	if p, err = findWSL(); err != nil {
		err = &exit.HostError{Err: err}
	}
	return p, t, line, granted, err
}
