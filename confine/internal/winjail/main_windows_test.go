package winjail

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/windows"
)

// A test starts its own program again, in a job, for the work that the first argument names.
const work = "mcp-jail: work"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[0] == work {
		os.Exit(serve(os.Args[1], os.Args[2:]))
	}
	os.Exit(m.Run())
}

func serve(do string, args []string) int {
	switch do {
	case "argv":
		for _, a := range args {
			fmt.Printf("%q\n", a)
		}
	case "environment":
		fmt.Println(strings.Join(os.Environ(), "\n"))
	case "wait": // until the standard input ends
		fmt.Println("waits")
		os.Stdin.Read(make([]byte, 1))
	case "start", "start apart":
		self, _ := os.Executable()
		c := exec.Cmd{Path: self, Args: []string{work, "wait"}, Stdin: os.Stdin, Stdout: os.Stdout}
		if err := c.Start(); err != nil {
			fmt.Println("refused:", err)
			return 1
		}
		if do == "start" {
			c.Wait()
		}
	case "commit":
		_, err := windows.VirtualAlloc(0, 512<<20, windows.MEM_COMMIT|windows.MEM_RESERVE, windows.PAGE_READWRITE)
		fmt.Println("commit:", err)
	case "handle":
		n, _ := strconv.ParseUint(args[0], 10, 64)
		_, err := windows.GetFileType(windows.Handle(n))
		fmt.Println("handle:", err == nil)
	case "status":
		n, _ := strconv.Atoi(args[0])
		return n
	}
	return 0
}

// hasOpenDesktop is whether a job of this process has no limits of the desktop, since this process is in a job
// itself, as on some runners. All else is tested there as well.
var hasOpenDesktop = sync.OnceValue(func() bool {
	self, err := os.Executable()
	if err != nil {
		return false
	}
	p, err := Start(Command{Program: self, Argv: []string{work, "status", "0"}, Env: os.Environ()}, Input{})
	if err != nil {
		return true // what else is wrong, the tests say
	}
	p.Wait()
	p.Release()
	return false
})

// A running is a program in a job, with its pipes.
type running struct {
	*Process
	in, out *os.File
	t       *testing.T
}

// launch starts this program for a piece of work.
func launch(t *testing.T, in Input, c Command, argv ...string) *running {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	childIn, parentOut, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	parentIn, childOut, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	c.Program, c.Argv, c.Stdio = self, append([]string{work}, argv...), [3]*os.File{childIn, childOut, nil}
	if c.Env == nil {
		c.Env = os.Environ()
	}
	in.Desktop = hasOpenDesktop()
	p, err := Start(c, in)
	childIn.Close()
	childOut.Close()
	if err != nil {
		t.Fatal(err)
	}
	r := &running{p, parentOut, parentIn, t}
	t.Cleanup(func() {
		r.Kill(1)
		r.Release()
		r.in.Close()
		r.out.Close()
	})
	return r
}

// read returns all that the program and what it started write, until the last of them has ended.
func (r *running) read() string {
	r.t.Helper()
	var b strings.Builder
	buf := make([]byte, 4096)
	for {
		n, err := r.out.Read(buf)
		b.Write(buf[:n])
		if err != nil {
			return strings.ReplaceAll(b.String(), "\r\n", "\n")
		}
	}
}

// await reads until a text has come.
func (r *running) await(text string) {
	r.t.Helper()
	var b strings.Builder
	buf := make([]byte, 4096)
	for !strings.Contains(b.String(), text) {
		n, err := r.out.Read(buf)
		b.Write(buf[:n])
		if err != nil {
			r.t.Fatalf("%q, %v: no %q came", b.String(), err, text)
		}
	}
}
