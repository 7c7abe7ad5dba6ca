package confine

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

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
	b.Run("jail", func(b *testing.B) {
		p := jailProfile(b)
		p.Program, p.Argv = "/usr/bin/true", []string{"true"}
		for b.Loop() {
			proc, err := Launcher{}.Start(b.Context(), p, Stdio{})
			if err != nil {
				b.Fatal(err)
			}
			if exit, err := proc.Wait(); err != nil || exit != (Exit{}) {
				b.Fatal(exit, err)
			}
		}
	})
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
	dir := plant(b, "file")
	p := jailProfile(b, grant{dir, policy.Read | policy.Write}, grant{modules, policy.Read})
	p.Program, p.Argv = node, []string{"node", filepath.Join(modules, "@modelcontextprotocol/server-filesystem/dist/index.js"), dir}
	for _, supervised := range []bool{true, false} {
		b.Run(fmt.Sprintf("supervised=%v", supervised), func(b *testing.B) {
			f := hostFacts()
			if !supervised {
				f.SeccompNotify = no("left out", "")
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
	proc, err := (Launcher{}).shimFor(plan.Profile).start(b.Context(), plan, Stdio{In: in, Out: out})
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
