package sys

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestThreads: the threads of this process are listed.
func TestThreads(t *testing.T) {
	tid, end := make(chan int), make(chan struct{})
	defer close(end)
	go func() {
		runtime.LockOSThread()
		tid <- unix.Gettid()
		<-end
	}()
	main, other := strconv.Itoa(os.Getpid()), strconv.Itoa(<-tid)
	tids, err := Threads(Dir + "/self")
	if err != nil || !slices.Contains(tids, main) || !slices.Contains(tids, other) {
		t.Errorf("%q, %v, want %s and %s among them", tids, err, main, other)
	}
}

// TestThreadsHidden: a listing that ends at the same place twice is not whole if the kernel counts more threads.
func TestThreadsHidden(t *testing.T) {
	for count, want := range map[int]error{2: nil, 3: errHidden, 0: errHidden} {
		process := t.TempDir()
		for _, tid := range []string{"7", "8"} {
			testkit.Must(t, os.MkdirAll(filepath.Join(process, "task", tid), 0o700))
		}
		stat := "7 (a) b) S 1 7 7 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 " + strconv.Itoa(count) + " 0 99 1 2 3"
		testkit.Must(t, os.WriteFile(filepath.Join(process, "stat"), []byte(stat), 0o600))
		if tids, err := Threads(process); !errors.Is(err, want) || len(tids) != 2 {
			t.Errorf("the kernel counts %d: %q, %v", count, tids, err)
		}
	}
}

// TestTerminalNumber: a program's name may look like the rest of the line.
func TestTerminalNumber(t *testing.T) {
	for stat, want := range map[string]int{
		"7 (cat) S 1 2 3 34816 5 6":               34816,
		"7 (a) S 9 9 9 99 9 9) S 1 2 3 34816 5 6": 34816,
		"7 (cat) S 1 2 3 0 -1":                    0,
		"7 (cat) S 1 2":                           0,
		"":                                        0,
	} {
		testkit.Equal(t, stat, TerminalNumber([]byte(stat)), want)
	}
}
