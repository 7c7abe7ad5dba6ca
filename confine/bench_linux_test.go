package confine

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

// BenchmarkLaunch is what a jail costs: true in one, against a bare spawn. The
// shim here is the test binary, which starts slower than mcp-jail itself.
func BenchmarkLaunch(b *testing.B) {
	needsJail(b)
	b.Run("bare", func(b *testing.B) {
		for b.Loop() {
			if err := exec.Command("/usr/bin/true").Run(); err != nil {
				b.Fatal(err)
			}
		}
	})
	copied := homeProfile(b, b.TempDir())
	for _, c := range []struct {
		name string
		p    *policy.Profile
	}{{"jail", jailProfile(b)}, {"hosts granted", gatedProfile(b, policy.NetRule{Host: "example.org", Allow: true})}, {"home kept", kept(copied)}, {"home copied", copied}} {
		b.Run(c.name, func(b *testing.B) {
			p := *c.p
			p.Program, p.Argv = "/usr/bin/true", []string{"true"}
			for b.Loop() {
				proc, err := Launcher{}.Start(b.Context(), &p, Stdio{})
				if err != nil {
					b.Fatal(err)
				}
				if exit, err := proc.Wait(); err != nil || exit != (Exit{}) {
					b.Fatal(exit, err)
				}
			}
		})
	}
}

// BenchmarkServerStart is a real node server from its start to the answer to
// initialize, in a jail with and without the supervisor: what handing the write tier
// over costs a server that hardly writes. It needs MCPJAIL_SERVERS.
func BenchmarkServerStart(b *testing.B) {
	needsJail(b)
	servers, node := os.Getenv("MCPJAIL_SERVERS"), "/usr/bin/node"
	index := filepath.Join(servers, "node_modules/@modelcontextprotocol/server-filesystem/dist/index.js")
	for _, file := range []string{index, node} {
		if _, err := os.Stat(file); err != nil {
			b.Skip(err)
		}
	}
	modules, err := filepath.EvalSymlinks(filepath.Join(servers, "node_modules"))
	if err != nil {
		b.Fatal(err)
	}
	dir := testkit.Plant(b, "file")
	p := jailProfile(b, grant{dir, policy.Read | policy.Write}, grant{modules, policy.Read})
	p.Program, p.Argv = node, []string{"node", filepath.Join(modules, "@modelcontextprotocol/server-filesystem/dist/index.js"), dir}
	for _, supervised := range []bool{true, false} {
		b.Run(fmt.Sprintf("supervised=%v", supervised), func(b *testing.B) {
			f := hostFacts()
			if !supervised {
				f.SeccompNotify = unavailable("left out", "")
			}
			for b.Loop() {
				answerInitialize(b, compile(p, f))
			}
		})
	}
}

// answerInitialize starts a server under a plan and waits for its first answer.
func answerInitialize(b *testing.B, plan *Plan) {
	in, ask, err := os.Pipe()
	if err != nil {
		b.Fatal(err)
	}
	answer, out, err := os.Pipe()
	if err != nil {
		b.Fatal(err)
	}
	proc, err := (Launcher{}).shimFor().start(b.Context(), plan, Stdio{In: in, Out: out})
	in.Close()
	out.Close()
	if err != nil {
		b.Fatal(err)
	}
	io.WriteString(ask, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}`+"\n")
	line, err := bufio.NewReader(answer).ReadString('\n')
	if err != nil || !strings.Contains(line, `"result"`) {
		b.Fatal(line, err)
	}
	proc.Kill()
	proc.Wait()
	ask.Close()
	answer.Close()
}

// hookedCallsTimed are calls that the supervisor carries out, each as a program
// makes it, in a directory that holds file and nothing else: see BenchmarkHookedCall.
var hookedCallsTimed = map[string]func(dir string) error{
	"open existing": func(dir string) error { return rawOpen(dir+"/file", unix.O_WRONLY) },
	"open relative": func(string) error { return rawOpen("file", unix.O_WRONLY|unix.O_CREAT) },
	"open, unlink": func(dir string) error {
		return errors.Join(rawOpen(dir+"/new", unix.O_RDWR|unix.O_CREAT|unix.O_EXCL), raw(unix.SYS_UNLINKAT, dir+"/new", 0))
	},
	"mkdir, rmdir": func(dir string) error { return rawMkdir(dir + "/") },
	// A tmpfs, where what is left is the price of asking.
	"mkdir, rmdir in shm": func(string) error { return rawMkdir(shmName) },
}

// raw makes a call behind the back of Go's scheduler, of which other programs have
// none: it would have threads at work of its own as long as the call takes.
func raw(call uintptr, name string, arg uintptr) error {
	p, err := unix.BytePtrFromString(name)
	if err != nil {
		return err
	}
	_, _, errno := unix.RawSyscall6(call, atFdcwd, uintptr(unsafe.Pointer(p)), arg, 0, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

func rawMkdir(name string) error {
	return errors.Join(raw(unix.SYS_MKDIRAT, name+"-new", 0o755), raw(unix.SYS_UNLINKAT, name+"-new", unix.AT_REMOVEDIR))
}

func rawOpen(name string, flags uintptr) error {
	p, err := unix.BytePtrFromString(name)
	if err != nil {
		return err
	}
	fd, _, errno := unix.RawSyscall6(unix.SYS_OPENAT, atFdcwd, uintptr(unsafe.Pointer(p)), flags|unix.O_CLOEXEC, 0o644, 0, 0)
	if errno != 0 {
		return errno
	}
	return unix.Close(int(fd))
}

var shmName = fmt.Sprint("/dev/shm/mcp-jail-bench-", os.Getpid())

const atFdcwd = ^uintptr(-unix.AT_FDCWD - 1)

// probeTimed makes a call so many times and answers how long that took, in
// nanoseconds.
func probeTimed(a []string) (string, error) {
	runtime.LockOSThread()
	n, err := strconv.Atoi(a[1])
	if err == nil {
		err = unix.Chdir(a[2])
	}
	if err != nil {
		return "", err
	}
	begun := time.Now()
	for range n {
		if err := hookedCallsTimed[a[0]](a[2]); err != nil {
			return "", err
		}
	}
	return strconv.FormatInt(time.Since(begun).Nanoseconds(), 10), nil
}

// BenchmarkHookedCall is what a call costs that the supervisor carries out, against
// the same one without a jail. The start of the program is not in it.
func BenchmarkHookedCall(b *testing.B) {
	needsJail(b)
	dir := testkit.Plant(b, "file")
	p := jailProfile(b, grant{dir, rw})
	for _, call := range slices.Sorted(maps.Keys(hookedCallsTimed)) {
		timed := func(run func(a attempt) outcome) func(b *testing.B) {
			return func(b *testing.B) {
				got, ok := strings.CutPrefix(run(try("timed", call, strconv.Itoa(b.N), dir)), succeeded+" ")
				ns, err := strconv.ParseFloat(got, 64)
				if !ok || err != nil {
					b.Fatal(got, err)
				}
				b.ReportMetric(ns/float64(b.N), "ns/op")
			}
		}
		b.Run(call+"/bare", timed(func(a attempt) outcome { return unconfined(b, "/", a)[0] }))
		b.Run(call+"/jail", timed(func(a attempt) outcome { return inJail(b, p, a)[0] }))
	}
}
