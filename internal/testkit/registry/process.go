package registry

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// ProgramName is the name under which a test binary must register [Main]:
//
//	testkit.Programs{registry.ProgramName: registry.Main}.Dispatch()
const ProgramName = "mcp-jail-test-registry"

// The variables that Main reads.
const (
	ListenVariable = "MCPJAIL_REGISTRY_LISTEN" // the address; 127.0.0.1:0 otherwise
	StockVariable  = "MCPJAIL_REGISTRY_STOCK"  // what ReadStock reads
	LogVariable    = "MCPJAIL_REGISTRY_LOG"    // a file to which each request is appended as a line of JSON
)

// Main serves a stock in a process of its own. Its first line on stdout is its URL. It ends when
// its stdin ends. It reads the stock again when its file changes, but not when a file inside a
// directory of stocks does.
func Main() {
	if err := serveProcess(os.Stdin, os.Stdout, os.Getenv); err != nil {
		fmt.Fprintln(os.Stderr, ProgramName+":", err)
		os.Exit(1)
	}
}

func serveProcess(stdin io.Reader, stdout io.Writer, getenv func(string) string) error {
	file := getenv(StockVariable)
	seen, err := os.Stat(file)
	if err != nil {
		return fmt.Errorf("the variable %s: %w", StockVariable, err)
	}
	stock, err := ReadStock(file)
	if err != nil {
		return fmt.Errorf("the variable %s: %w", StockVariable, err)
	}
	r := New(stock)
	if name := getenv(LogVariable); name != "" {
		lines, err := os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
		if err != nil {
			return err
		}
		defer lines.Close()
		r.LogTo(lines)
	}
	l, err := net.Listen("tcp", firstOf(getenv(ListenVariable), "127.0.0.1:0"))
	if err != nil {
		return err
	}
	s := serve(l, r, (&reloader{file: file, seen: seen}).reload)
	defer s.Close()
	if _, err := fmt.Fprintln(stdout, s.URL); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, stdin)
	return err
}

// reloader reads a stock again after its file was replaced.
type reloader struct {
	file string
	mu   sync.Mutex
	seen fs.FileInfo
}

func (l *reloader) reload(r *Registry) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	info, err := os.Stat(l.file)
	if err != nil {
		return err
	}
	if os.SameFile(info, l.seen) && info.ModTime().Equal(l.seen.ModTime()) && info.Size() == l.seen.Size() {
		return nil
	}
	stock, err := ReadStock(l.file)
	if err != nil {
		return err
	}
	r.Load(stock)
	l.seen = info
	return nil
}

// Process is a registry in a process of its own.
type Process struct {
	URL string

	dir   string
	stdin io.Closer
	cmd   *exec.Cmd
}

// StartProcess serves a stock in another process until the test ends. Options change the
// command before it starts: its address, its namespaces. The test binary must know
// ProgramName.
func StartProcess(t testing.TB, stock Stock, options ...func(*exec.Cmd)) *Process {
	t.Helper()
	p := &Process{dir: t.TempDir(), cmd: testkit.Self(ProgramName)}
	if err := p.Load(stock); err != nil {
		t.Fatal(err)
	}
	p.cmd.Env = append(os.Environ(), StockVariable+"="+p.stock(), LogVariable+"="+p.log())
	p.cmd.Stderr = os.Stderr
	for _, change := range options {
		change(p.cmd)
	}
	in, err := p.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p.stdin = in
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Errorf("the registry's process: %v", err)
		}
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("the registry's process did not tell its address; is %s registered in TestMain? %v", ProgramName, err)
	}
	p.URL = strings.TrimSpace(line)
	return p
}

func (p *Process) stock() string { return filepath.Join(p.dir, "stock.json") }
func (p *Process) log() string   { return filepath.Join(p.dir, "log.jsonl") }

// Load replaces the stock. The next request sees it.
func (p *Process) Load(stock Stock) error { return stock.WriteFile(p.stock()) }

// Requests returns the requests that have ended.
func (p *Process) Requests() ([]Request, error) {
	f, err := os.Open(p.log())
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var list []Request
	for decode := json.NewDecoder(f); ; {
		var q Request
		if err := decode.Decode(&q); errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) { // a line in the making
			return list, nil
		} else if err != nil {
			return list, err
		}
		list = append(list, q)
	}
}

// Close ends the process and waits for it. It may be called twice.
func (p *Process) Close() error {
	if p.stdin == nil {
		return nil
	}
	p.stdin.Close()
	p.stdin = nil
	return p.cmd.Wait()
}
