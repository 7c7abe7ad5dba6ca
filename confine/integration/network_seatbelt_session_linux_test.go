//go:build seatbelt

package integration

import (
	"bufio"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/confine/egress/tlsworker"
	"github.com/mcp-jail/mcp-jail/confine/internal/gateway"
	"github.com/mcp-jail/mcp-jail/confine/internal/jailtest"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

// waiting starts a jail that tells its proxy and waits until it is killed.
func waiting(t *testing.T, rules ...policy.NetRule) (process *confine.Process, proxy *url.URL) {
	t.Helper()
	out := &jailtest.Output{}
	process, _, err := jailtest.Start(t, confine.Launcher{}, script(t, `echo "$HTTPS_PROXY"; exec sleep 600`, rules...), out, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	out.Await(t, "\n")
	if proxy, err = url.Parse(strings.TrimSpace(out.Text)); err != nil {
		t.Fatal(err)
	}
	return process, proxy
}

// ask sends bytes to a proxy and returns the first line of the answer, and the connection.
func ask(t *testing.T, addr, request string) (string, net.Conn) {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	io.WriteString(c, request)
	line, err := bufio.NewReader(c).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	return strings.TrimSpace(line), c
}

// TestNetworkSeatbeltPassword: the proxy of a session serves what has its password, on both of its
// addresses, and nothing else. No process shows the password in its arguments. The proxy and its
// connections end with the session.
func TestNetworkSeatbeltPassword(t *testing.T) {
	needsTestNetwork(t)
	process, proxy := waiting(t, host("good.test"))
	basic := func(user, password string) string {
		return "Proxy-Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password)) + "\r\n"
	}
	password, _ := proxy.User.Password()
	if len(password) < 32 || proxy.Hostname() != "127.0.0.1" {
		t.Fatalf("the proxy is %v", proxy)
	}
	both := []string{proxy.Host, net.JoinHostPort("::1", proxy.Port())}
	var tunnels []net.Conn
	for _, addr := range both {
		for what, auth := range map[string]string{
			"no password": "", "another password": basic("jail", strings.Repeat("0", len(password))), "a part of it": basic("jail", password[:len(password)-1]),
			"another user": basic("root", password), "another way": "Proxy-Authorization: Bearer " + password + "\r\n", "the host's": strings.TrimPrefix(basic("jail", password), "Proxy-"),
		} {
			for _, line := range []string{"CONNECT good.test:80", "GET http://good.test/", "CONNECT other.test:80"} {
				got, c := ask(t, addr, line+" HTTP/1.1\r\nHost: good.test\r\n"+auth+"\r\n")
				if c.Close(); !strings.HasPrefix(got, "HTTP/1.1 407 ") {
					t.Errorf("%s, %s: %q", what, line, got)
				}
			}
		}
		if got, _ := ask(t, addr, "\x05\x01\x00"); got != "\x05\xff" { // no method without a password
			t.Errorf("SOCKS without a password: %q", got)
		}
		got, c := ask(t, addr, "CONNECT good.test:80 HTTP/1.1\r\nHost: good.test\r\n"+basic("jail", password)+"\r\n")
		if !strings.HasPrefix(got, "HTTP/1.1 200 ") {
			t.Errorf("the control: %q", got)
		}
		tunnels = append(tunnels, c)
	}
	denials := process.Denials()
	if len(denials) != 1 || denials[0].Axis != policy.AxisNet || strings.Contains(fmt.Sprint(denials), "test:") {
		t.Errorf("strangers chose what is on record: %+v", denials)
	}
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, name := range lines {
		if b, _ := os.ReadFile(name); strings.Contains(string(b), password) {
			t.Errorf("%s has the password: %q", name, b)
		}
	}
	if b, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", process.PID())); err != nil || len(b) == 0 || len(lines) < 4 {
		t.Errorf("the control: %d processes, %q, %v", len(lines), b, err)
	}
	for _, secret := range confine.SessionSecrets() {
		if secret.Value != password || !secret.Secret {
			t.Errorf("outputs would show the password: %+v", secret)
		}
	}
	if shown := fmt.Sprint(process.Plan().Spec.Env, process.Plan().Profile.Env); strings.Contains(shown, password) {
		t.Errorf("the plan has the password: %s", shown)
	}
	process.Kill()
	<-process.Done()
	for i, addr := range both {
		if c, err := net.Dial("tcp", addr); err == nil {
			c.Close()
			t.Errorf("%s outlives its session", addr)
			continue // so would the connection
		}
		if _, err := io.Copy(io.Discard, tunnels[i]); err != nil && !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("a connection outlives its session: %v", err)
		}
	}
}

// TestNetworkSeatbeltOwnSetting: a variable that a rule sets keeps its value, and the others lead to the
// proxy. Without granted hosts there is no proxy.
func TestNetworkSeatbeltOwnSetting(t *testing.T) {
	needsTestNetwork(t)
	p := script(t, `echo "$HTTP_PROXY $NO_PROXY|$HTTPS_PROXY|${NO_PROXY-unset}"`, host("good.test"))
	p.Env = append(p.Env, policy.Variable{Name: "HTTP_PROXY", Value: "http://mine"})
	if out, ok, _ := runClient(t, p); !ok || !strings.HasPrefix(out, "http://mine |http://jail:") || !strings.HasSuffix(out, "|\n") {
		t.Errorf("%q", out)
	}
	p.Net = []policy.NetRule{{Host: "good.test"}}
	if out, ok, _ := runClient(t, p); !ok || out != "http://mine ||unset\n" {
		t.Errorf("without granted hosts: %q", out)
	}
}

// TestNetworkSeatbeltLimits: the limits of a policy hold for the connections through the proxy.
func TestNetworkSeatbeltLimits(t *testing.T) {
	needsTestNetwork(t)
	const send = `head -c 3000000 /dev/zero | curl -sS --max-time 20 --data-binary @- http://good.test/echo 2>/dev/null | wc -c`
	p := script(t, send, host("good.test"))
	if out, ok, denials := runClient(t, p); !ok || strings.TrimSpace(out) != "3000000" || len(denials) != 0 {
		t.Errorf("the control: %q, refused %+v", out, denials)
	}
	p.Limits.NetOutMB = 1
	if out, _, denials := runClient(t, p); strings.TrimSpace(out) == "3000000" || len(denials) != 1 || denials[0].Reason != policy.DeniedLimit {
		t.Errorf("%q, refused %+v", out, denials)
	}
}

// TestNetworkSeatbeltConfines: the process that reads requests is confined by a text of its own before it
// has a secret. If it is not, the server is not started, and its proxy is closed.
func TestNetworkSeatbeltConfines(t *testing.T) {
	needsTestNetwork(t)
	trustTestAuthority(t)
	check := leavesNothing(t)
	part := policy.NetRule{Host: "good.test", Scheme: "https", PathPrefix: "/granted", Allow: true}
	confining := tlsworker.SandboxExec
	for name, want := range map[string]string{
		"": "", "-all": "it is not confined: it can open", "-connect": "it is not confined: it can connect", "-65": "refuses the rules for mcp-jail-tls (status 65)", "-71": "cannot confine or start it",
	} {
		tlsworker.SandboxExec = confining + name
		started := filepath.Join(t.TempDir(), "started")
		_, err := confine.Launcher{}.Start(t.Context(), script(t, "> "+started, part), confine.Stdio{})
		if want == "" {
			if err != nil {
				t.Fatalf("the control: %v", err)
			}
			testkit.Eventually(t, "the server runs", func() bool { _, err := os.Lstat(started); return err == nil })
			continue
		}
		var failed *confine.StartError
		if !errors.As(err, &failed) || failed.Step != gateway.StepTLS || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
		if _, err := os.Lstat(started); err == nil {
			t.Errorf("%s: the server was started", name)
		}
	}
	testkit.Eventually(t, "mcp-jail-tls has ended", func() bool { return len(tlsProcesses()) == 0 })
	check()
}
