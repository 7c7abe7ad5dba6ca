//go:build !linux

package streams

import "os"

// pipe makes a pipe, of which the server gets one end, in blocking mode.
func pipe(serverReads bool) (r, w *os.File, err error) {
	if r, w, err = os.Pipe(); err == nil && serverReads {
		r.Fd()
	} else if err == nil {
		w.Fd()
	}
	return r, w, err
}

// Enlarge does nothing: a pipe has its size.
func Enlarge(*os.File, int) {}

func resize(*os.File, int) {}
