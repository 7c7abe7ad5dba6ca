package egress

import (
	"errors"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

func TestKernelRefusals(t *testing.T) {
	g, _ := testGateway(t, map[string][]string{"api.test": {"198.51.100.7"}}, allow("api.test"))
	resolve(t, g, "api.test")
	g.Serve(Sockets{Refused: packets(t)})
	listen(t, "127.0.0.1:9000", echo(""))
	for _, c := range testkit.Table[struct{ network, at, target string }](t, "kernel-refusals.txt") {
		before := len(g.Denials())
		if conn, err := net.Dial(c.network, c.at); err == nil {
			conn.SetDeadline(time.Now().Add(patience))
			conn.Write([]byte("x"))
			testkit.Is(t, c.at, testkit.ErrorOf(conn.Read(make([]byte, 1))), syscall.ECONNREFUSED)
			conn.Close()
		} else if !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("%s: %v", c.at, err)
		}
		// The program knows by now, so it is on record by now.
		all := g.Denials()
		if len(all) != before+1 {
			t.Errorf("%s: %+v", c.at, all)
			continue
		}
		operation := map[string]string{"tcp": "connect", "udp": "send"}[c.network]
		if d := all[before]; d.Target != c.target || d.Operation != operation || d.Count != 1 || (d.Reason == policy.DeniedNotGranted) != (c.at != "198.51.100.7:443") {
			t.Errorf("%s: %+v", c.at, d)
		}
	}
	n := len(g.Denials())
	c, err := net.Dial("tcp", "127.0.0.1:9000") // what is there, and what ends with a reset, is not refused
	testkit.Must(t, err)
	c.Write([]byte("x"))
	c.Read(make([]byte, 1))
	reset(c.(*net.TCPConn))
	testkit.Equal(t, "", len(g.Denials()), n)
}

// TestCloseReadsRefusals checks that Denials after Close includes the last refusal.
func TestCloseReadsRefusals(t *testing.T) {
	g, _ := testGateway(t, nil, allow("api.test"))
	f := packets(t)
	defer f.Close()
	raw := testkit.Get(f.SyscallConn())(t)
	g.refusals = []*refusalSocket{{raw: raw}} // without a goroutine that reads it
	if c, err := net.Dial("tcp", "198.51.100.8:8123"); err == nil {
		c.Close()
		t.Fatal("somebody listens")
	}
	g.Close()
	g.refusals = nil
	if d := onlyDenial(t, g); !strings.HasPrefix(d.Target, "198.51.100.8:") {
		t.Errorf("%+v", d)
	}
}
