package streams

import (
	"os"
	"os/signal"
)

// ListenForSignals catches SIGPIPE at once, before anything is written. It catches the signals
// that end a session on its own goroutine, since each call costs two thread switches that the
// start need not wait for. A signal before that ends this process, and the kernel ends the
// processes that it has started. caught waits until the signals are caught: a session calls it
// before the client gets anything from a server. An ignored signal stays ignored, also in the
// server.
func ListenForSignals() (ends chan os.Signal, caught, stop func()) {
	dropped := make(chan os.Signal, 1)
	if pipe := pipeSignals(); len(pipe) > 0 { // Notify without a signal catches all of them
		signal.Notify(dropped, pipe...)
	}
	ends = make(chan os.Signal, 4)
	taken := make(chan struct{})
	go func() {
		defer close(taken)
		for _, sig := range endSignals() {
			if !signal.Ignored(sig) { // as under nohup
				signal.Notify(ends, sig)
			}
		}
	}()
	return ends, func() { <-taken }, func() {
		<-taken
		signal.Stop(ends)
		signal.Stop(dropped)
	}
}
