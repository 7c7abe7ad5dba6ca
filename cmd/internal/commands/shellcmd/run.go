package shellcmd

import (
	"os"
	"syscall"
	"time"

	"github.com/mcp-jail/mcp-jail/cmd/internal/exit"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/lifecycle"
)

// connection connects a program in a jail with the streams of mcp-jail: by a terminal of the jail's own, or
// by pipes.
type connection struct {
	console     terminal.Console
	interactive bool
	look        func(last bool) // is called while the program runs

	terminal *confine.Terminal // if it is interactive
	streams  *terminal.Streams // if not
}

func (on *connection) start(start func(confine.Stdio) (lifecycle.Process, error)) (lifecycle.Process, error) {
	if on.interactive {
		on.terminal = &confine.Terminal{Prepare: on.console.LikeConsole}
		process, err := start(confine.Stdio{Terminal: on.terminal})
		if err != nil && on.terminal.Master != nil {
			on.terminal.Master.Close()
		}
		return process, err
	}
	streams, err := on.console.Streams()
	if err != nil {
		return nil, &exit.HostError{Err: err}
	}
	process, err := start(confine.Stdio{In: streams.In, Out: streams.Out, Err: streams.Err})
	if err != nil {
		streams.Close()
		return nil, err
	}
	on.streams = streams
	return process, nil
}

// serve passes bytes on until the program has ended. A signal hangs up its terminal, and ends the jail; in
// a session without a terminal the program gets it.
func (on *connection) serve(process lifecycle.Process, signals <-chan os.Signal) (confine.Exit, error) {
	if !on.interactive {
		on.streams.Copy(on.console)
		on.await(process, signals, func(s os.Signal) { process.Signal(s) })
		on.streams.Wait()
		return process.Wait()
	}
	defer on.terminal.Master.Close()
	attached, err := on.console.Attach(on.terminal.Master)
	if err != nil {
		process.Kill()
		process.Wait()
		return confine.Exit{}, err
	}
	defer attached.Detach()
	var by syscall.Signal
	on.await(process, signals, func(s os.Signal) {
		by, _ = s.(syscall.Signal)
		process.Kill()
	})
	<-attached.Drawn()
	if by != 0 {
		process.Wait()
		return confine.Exit{Code: 128 + int(by)}, nil
	}
	return process.Wait()
}

func (on *connection) await(process lifecycle.Process, signals <-chan os.Signal, end func(os.Signal)) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			on.look(false)
		case s := <-signals:
			end(s)
		case <-process.Done():
			return
		}
	}
}
