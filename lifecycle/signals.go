package lifecycle

import (
	"os"
	"os/signal"
)

// listenForSignals takes SIGPIPE, before anything is written, and the signals that end a session,
// aside: each is a turn of two threads, and the start need not wait for them. One that
// comes before ends this process, and the kernel what it has started. An ignored signal
// would stay ignored in the server.
func listenForSignals() (ends chan os.Signal, stop func()) {
	dropped := make(chan os.Signal, 1)
	if pipe := pipeSignals(); len(pipe) > 0 { // Notify with none would take all
		signal.Notify(dropped, pipe...)
	}
	ends = make(chan os.Signal, 4)
	taken := make(chan struct{})
	go func() {
		defer close(taken)
		for _, sig := range endSignals() {
			if !signal.Ignored(sig) { // nohup means it
				signal.Notify(ends, sig)
			}
		}
	}()
	return ends, func() {
		<-taken
		signal.Stop(ends)
		signal.Stop(dropped)
	}
}
