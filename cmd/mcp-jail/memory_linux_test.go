//go:build linux

package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// maxOwnMemory is how many MB each process of mcp-jail may grow in a flood: 64, and the size of the
// frames that it must hold.
const maxOwnMemory = 88

// maxTLSMemory is where the kernel ends mcp-jail-tls, in MB.
const maxTLSMemory = 256

// maxBatches takes the place of maxOwnMemory where eight processes send batches, each a frame of up to
// 4 MB with its parts. Without a bound, mcp-jail grew by 500 MB there.
const maxBatches = 160

// peaks adds the peak memory of a process and its descendants, in MB, if they are ours. It returns
// the processor time that they have taken, in ticks of 10 ms.
func peaks(pid int, into map[string]int) (ticks int) {
	dir := filepath.Join("/proc", strconv.Itoa(pid))
	argv, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
	first, _, _ := strings.Cut(string(argv), "\x00")
	if name := filepath.Base(first); strings.HasPrefix(name, "mcp-jail") && name != hostName && name != internetName {
		status, _ := os.ReadFile(filepath.Join(dir, "status"))
		_, rest, _ := strings.Cut(string(status), "VmHWM:")
		if f := strings.Fields(rest); len(f) > 0 {
			kb, _ := strconv.Atoi(f[0])
			into[name] = max(into[name], kb>>10)
		}
		stat, _ := os.ReadFile(filepath.Join(dir, "stat"))
		_, rest, _ = strings.Cut(string(stat), ") ")
		if f := strings.Fields(rest); len(f) > 12 {
			user, _ := strconv.Atoi(f[11])
			system, _ := strconv.Atoi(f[12])
			ticks += user + system
		}
	}
	tasks, _ := filepath.Glob(filepath.Join(dir, "task", "*", "children"))
	for _, task := range tasks {
		children, _ := os.ReadFile(task)
		for _, child := range strings.Fields(string(children)) {
			if n, err := strconv.Atoi(child); err == nil {
				ticks += peaks(n, into)
			}
		}
	}
	return ticks
}

const floodHello = `{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{"sampling":{},"roots":{}},"clientInfo":{"name":"t","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
`

// measureFlood runs a session, in which the client writes texts until client returns "", and reads
// everything or nothing but the first answer. It returns by how many MB each process of ours has grown.
func measureFlood(t *testing.T, cmd *exec.Cmd, reads bool, client func(i int) string) map[string]int {
	t.Helper()
	in, err := cmd.StdinPipe()
	must(t, err)
	out, err := cmd.StdoutPipe()
	must(t, err)
	errs, err := cmd.StderrPipe()
	must(t, err)
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid = true
	must(t, cmd.Start())
	defer func() {
		syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		cmd.Wait()
	}()
	_, err = io.WriteString(in, floodHello)
	must(t, err)
	hello := make([]byte, 1<<10)
	if n, _ := out.Read(hello); !strings.Contains(string(hello[:n]), `"result"`) {
		said := make([]byte, 1<<10)
		m, _ := errs.Read(said)
		t.Fatalf("initialize was answered with %q; stderr: %s", hello[:n], said[:m])
	}
	before := map[string]int{}
	begin := peaks(cmd.Process.Pid, before)
	if reads {
		go io.Copy(io.Discard, out)
		go io.Copy(io.Discard, errs)
	}
	var written atomic.Int64
	go func() {
		for i := 0; ; i++ {
			text := client(i)
			if text == "" {
				return
			}
			if _, err := io.WriteString(in, text); err != nil {
				return
			}
			written.Add(int64(len(text)))
		}
	}()
	peak := map[string]int{}
	enough, took, moved := floodTicks(), 0, time.Now()
	for time.Since(moved) < 2*time.Second && took < enough { // a flood that is held up ends by itself
		time.Sleep(20 * time.Millisecond)
		if now := peaks(cmd.Process.Pid, peak) - begin; now > took {
			took, moved = now, time.Now()
		}
	}
	t.Logf("mcp-jail took %d ms of a processor, and the client has written %d bytes", 10*took, written.Load())
	if reads && took < leastTicks && written.Load() <= 256<<10 { // that fits into the pipe, unread
		t.Errorf("this is no flood: mcp-jail took %d ms of a processor", 10*took)
	}
	if peak["mcp-jail"] == 0 || syscall.Kill(cmd.Process.Pid, 0) != nil {
		t.Errorf("mcp-jail has ended")
	}
	for name, mb := range before {
		peak[name] -= mb
	}
	return peak
}

// floodTicks is how much processor time mcp-jail takes in a flood, in ticks of 10 ms, unless the flood
// is held up. In half a second, most floods stay below maxOwnMemory where nothing bounds them. It is the same on a busy machine.
func floodTicks() int {
	return testkit.Rounds(100, 1000) // what is not bounded is seen in the first second
}

// leastTicks is the processor time of a flood that is held up.
const leastTicks = 10

func floodCall(id any, tool string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%v,"method":"tools/call","params":{"name":%q,"arguments":{},"_meta":{"progressToken":1}}}`+"\n", id, tool)
}

// calling returns a client that calls a tool n times.
func calling(n int, tool string) func(int) string {
	return func(i int) string {
		if i < n {
			return floodCall(i, tool)
		}
		return ""
	}
}

func floodRequest(id any, method, params string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%v,"method":%q,"params":%s}`+"\n", id, method, params)
}

// clientFloods are what a client writes without end, each time with another number.
var clientFloods = map[string]func(int) string{
	"calls":      func(i int) string { return floodCall(i, "deaf") },
	"fails":      func(i int) string { return floodCall(i, "fail") },
	"unlisted":   func(i int) string { return floodCall(i, fmt.Sprint("unlisted-", i)) },
	"long-ids":   func(i int) string { return floodCall(fmt.Sprintf(`"%09000d"`, i), "deaf") },
	"huge-ids":   func(i int) string { return floodCall(fmt.Sprintf(`"%0900000d"`, i), "deaf") },
	"same-ids":   func(i int) string { return floodCall(fmt.Sprintf(`"%0900000d"`, i/2), "deaf") },
	"huge-tools": func(i int) string { return floodCall(i, fmt.Sprintf("%0900000d", i)) },
	"reads":      func(i int) string { return floodRequest(i, "resources/read", "{}") },
	"read-ids":   func(i int) string { return floodRequest(fmt.Sprintf(`"%09000d"`, i), "resources/read", "{}") },
	"pings":      func(i int) string { return floodRequest(i, "ping", "{}") },
	"subscribe":  func(i int) string { return floodRequest(i, "subscriptions/listen", "{}") },
	"levels":     func(i int) string { return floodRequest(i, "logging/setLevel", fmt.Sprintf(`{"level":"%09000d"}`, i)) },
	"lists": func(i int) string {
		return floodRequest(i, "resources/templates/list", fmt.Sprintf(`{"x":"%060000d"}`, i))
	},
	"clients": func(i int) string {
		return floodRequest(i, "initialize", fmt.Sprintf(`{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"%0900000d","version":"1"}}`, i))
	},
	"modern": func(i int) string {
		return floodRequest(i, "tools/list", fmt.Sprintf(`{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"%0900000d","version":"1"}}}`, i))
	},
	"batches": func(i int) string {
		var b strings.Builder
		for n := range 4000 {
			fmt.Fprintf(&b, ",%s", strings.TrimSpace(floodRequest(fmt.Sprintf(`"%d-%d"`, i, n), "resources/read", "{}")))
		}
		return "[" + b.String()[1:] + "]\n"
	},
	"notes": func(i int) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/x","params":{"n":%d}}`+"\n", i)
	},
	"one-line": func(i int) string { return fmt.Sprintf("%01000d", i) },
}

// shortFloods are the floods of TestOwnMemory outside of make test-long: those in which mcp-jail once
// took hundreds of megabytes.
var shortFloods = map[string]bool{
	"stateful/reads": true, "stateful/stderr": true, "per-call/ask-batch": true,
}

// TestOwnMemory floods each queue of mcp-jail, until mcp-jail has taken one second of a processor, and ten
// in make test-long, and reads the peak memory of each process of ours. The client reads what it gets;
// make test-long has one that does not, too.
func TestOwnMemory(t *testing.T) {
	need(t, "jail")
	for _, stateful := range []bool{true, false} {
		for name, client := range clientFloods {
			ownMemory(t, stateful, name, "", client)
		}
		for name := range serverFloods {
			keys := map[string]string{
				"ask-roots": "roots = \"advertise\"\n",
				"hosts":     "[[servers.s.ACCESS.net]]\nhost = \"granted.example\"\nallow = true\n",
				"starts":    "[servers.s.ACCESS.commands.\"/bin/true\"]\nargs = [\"x\"]\n",
			}[name]
			if name == "headers" || name == "slow" || name == "heads" { // TestOwnMemoryNetwork
				continue
			}
			ownMemory(t, stateful, name, keys, calling(8, name))
			if strings.HasPrefix(name, "ask") {
				ownMemory(t, stateful, "read-"+name, keys, calling(8, "read-"+name))
			}
		}
		for _, kind := range []string{"one", "many"} {
			ownMemory(t, stateful, "pages-"+kind, fmt.Sprintf("arguments = [%q]\n", kind), func(i int) string {
				return floodRequest(i, "tools/list", fmt.Sprintf(`{"cursor":"%d"}`, i)) + clientFloods["unlisted"](-i-1)
			})
		}
	}
}

func ownMemory(t *testing.T, stateful bool, name, keys string, client func(int) string) {
	kind, access := "stateful", "access"
	if !stateful {
		kind, access = "per-call", `tools."*".access`
	}
	if !testkit.Long() && !shortFloods[kind+"/"+name] {
		return
	}
	for _, reads := range []bool{true, false} {
		if !reads && !testkit.Long() {
			continue
		}
		t.Run(fmt.Sprintf("%s/%s/%v", kind, name, reads), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			config := filepath.Join(w.base, "flood.toml")
			must(t, os.WriteFile(config, fmt.Appendf(nil, "version = 1\n[servers.s]\ncommand = %q\nstateful = %v\n%s",
				w.copySelf(t, "flood"), stateful, strings.ReplaceAll(keys, "ACCESS", access)), 0o644))
			most := maxOwnMemory
			if strings.HasSuffix(name, "ask-batch") {
				most = maxBatches
			}
			judgePeaks(t, measureFlood(t, w.jail("--config", config, "s"), reads, client), most)
		})
	}
}

func judgePeaks(t *testing.T, peak map[string]int, most int) {
	t.Helper()
	t.Logf("grown by MB: %v", peak)
	for who, mb := range peak {
		if mb > most && (who != tlsName || mb > maxTLSMemory) {
			t.Errorf("%s grew by %d MB", who, mb)
		}
	}
}

// TestOwnMemoryNetwork floods mcp-jail-tls and the gateway: with requests that have large headers, in
// many streams of many connections; with answers that are not read; with heads that have no end.
func TestOwnMemoryNetwork(t *testing.T) {
	need(t, "jail")
	for i, name := range []string{"headers", "slow", "heads"} {
		t.Run(name, func(t *testing.T) {
			if i > 0 {
				testkit.NeedsLong(t)
			}
			t.Parallel()
			w := newWorld(t)
			newInternet(t, w, "none")
			if file, err := buildTLS(); err != nil {
				t.Logf("mcp-jail-tls is the test binary: %v", err)
			} else {
				w.copyProgram(t, file, tlsName)
			}
			config := filepath.Join(w.base, "flood.toml")
			must(t, os.WriteFile(config, fmt.Appendf(nil, source(t, "memory.toml"), w.copySelf(t, "flood"), internetHost, readOnlyHost), 0o644))
			peak := measureFlood(t, w.jail("--config", config, "s"), true, calling(1, name))
			if name != "heads" && peak[tlsName] == 0 {
				t.Errorf("no %s", tlsName)
			}
			judgePeaks(t, peak, maxOwnMemory)
		})
	}
}

// buildTLS builds mcp-jail-tls once for all tests, and returns its path.
var buildTLS = sync.OnceValues(func() (string, error) {
	file := filepath.Join(os.TempDir(), "bin", tlsName) // TestMain removes it
	build := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", file, "../"+tlsName)
	build.Env = append(os.Environ(), "GOGC=off", "GOMEMLIMIT=512MiB")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return file, nil
})
