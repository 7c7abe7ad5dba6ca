package integration

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/confine/internal/attacker"
	"github.com/mcp-jail/mcp-jail/confine/internal/features"
	"github.com/mcp-jail/mcp-jail/confine/internal/jail"
	"github.com/mcp-jail/mcp-jail/confine/internal/jailtest"
	planpkg "github.com/mcp-jail/mcp-jail/confine/internal/plan"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

// BenchmarkLaunch measures the start of /usr/bin/true in a jail and without one. The prepared
// process is the test binary, which starts slower than mcp-jail.
func BenchmarkLaunch(b *testing.B) {
	jailtest.Needs(b)
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
	}{{"jail", jailtest.Profile(b)}, {"hosts granted", gatedProfile(b, policy.NetRule{Host: "example.org", Allow: true})}, {"home kept", kept(copied)}, {"home copied", copied}} {
		b.Run(c.name, func(b *testing.B) {
			p := *c.p
			p.Program, p.Argv = "/usr/bin/true", []string{"true"}
			for b.Loop() {
				proc, err := confine.Launcher{}.Start(b.Context(), &p, jail.Stdio{})
				if err != nil {
					b.Fatal(err)
				}
				if exit, err := proc.Wait(); err != nil || exit != (confine.Exit{}) {
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
	jailtest.Needs(b)
	servers, node := os.Getenv("MCPJAIL_SERVERS"), "/usr/bin/node"
	index := filepath.Join(servers, "node_modules/@modelcontextprotocol/server-filesystem/dist/index.js")
	for _, file := range []string{index, node} {
		if _, err := os.Stat(file); err != nil {
			testkit.Skip(b, "node", "%v", err)
		}
	}
	modules, err := filepath.EvalSymlinks(filepath.Join(servers, "node_modules"))
	if err != nil {
		b.Fatal(err)
	}
	dir := testkit.Plant(b, "file")
	p := jailtest.Profile(b, jailtest.Grant{Path: dir, Rights: policy.Read | policy.Write}, jailtest.Grant{Path: modules, Rights: policy.Read})
	p.Program, p.Argv = node, []string{"node", filepath.Join(modules, "@modelcontextprotocol/server-filesystem/dist/index.js"), dir}
	for _, supervised := range []bool{true, false} {
		b.Run(fmt.Sprintf("supervised=%v", supervised), func(b *testing.B) {
			f := features.Detect()
			if !supervised {
				f.SeccompNotify = features.Unavailable("left out", "")
			}
			for b.Loop() {
				answerInitialize(b, jailtest.Compile(p, f))
			}
		})
	}
}

// answerInitialize starts a server under a plan and waits for its first answer.
func answerInitialize(b *testing.B, plan *planpkg.Plan) {
	in, ask, err := os.Pipe()
	if err != nil {
		b.Fatal(err)
	}
	answer, out, err := os.Pipe()
	if err != nil {
		b.Fatal(err)
	}
	proc, err := confine.Launcher{}.StartPlan(b.Context(), plan, jail.Stdio{In: in, Out: out})
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

// BenchmarkMediatedCall measures a call that the supervisor carries out, against
// the same one without a jail. The start of the program is not in it.
func BenchmarkMediatedCall(b *testing.B) {
	jailtest.Needs(b)
	dir := testkit.Plant(b, "file")
	p := jailtest.Profile(b, jailtest.Grant{Path: dir, Rights: rw})
	for _, call := range slices.Sorted(maps.Keys(attacker.MediatedCallsTimed)) {
		timed := func(run func(a attacker.Attempt) attacker.Outcome) func(b *testing.B) {
			return func(b *testing.B) {
				got, ok := strings.CutPrefix(run(attacker.Try("timed", call, strconv.Itoa(b.N), dir)), attacker.Succeeded+" ")
				ns, err := strconv.ParseFloat(got, 64)
				if !ok || err != nil {
					b.Fatal(got, err)
				}
				b.ReportMetric(ns/float64(b.N), "ns/op")
			}
		}
		b.Run(call+"/bare", timed(func(a attacker.Attempt) attacker.Outcome { return jailtest.Unconfined(b, "/", a)[0] }))
		b.Run(call+"/jail", timed(func(a attacker.Attempt) attacker.Outcome { return jailtest.Attempts(b, p, a)[0] }))
	}
}
