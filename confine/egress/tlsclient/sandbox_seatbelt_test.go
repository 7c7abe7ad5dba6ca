//go:build linux && seatbelt

package tlsclient

import (
	"net"
	"os"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine/egress/tlsworker"
	"github.com/mcp-jail/mcp-jail/internal/testkit/fakesandbox"
)

// sandbox is the stand-in for sandbox-exec if this process was started as it. It returns what makes the
// tests use it.
func sandbox() (prepare func() error, clean func()) {
	fakesandbox.Main(tlsworker.Name)
	clean = func() {}
	return func() (err error) {
		remove, err := fakesandbox.Install()
		clean = remove
		tlsworker.SandboxExec = fakesandbox.Path()
		return err
	}, func() { clean() }
}

// TestUnconfined: a client that is not confined connects to nothing.
func TestUnconfined(t *testing.T) {
	defer func(was string) { tlsworker.SandboxExec = was }(tlsworker.SandboxExec)
	port, certificate, asked := tlsProxy(t)
	t.Setenv("SSL_CERT_FILE", certificate)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"": "", "-all": "it is not confined", "-connect": "it is not confined: it can connect"} {
		tlsworker.SandboxExec = fakesandbox.Path() + name
		conn, err := net.Dial("tcp", "127.0.0.1:"+port)
		if err != nil {
			t.Fatal(err)
		}
		inside, err := tlsworker.StartTLS(t.Context(), self, conn.(*net.TCPConn), "127.0.0.1")
		if err == nil {
			inside.Close()
		}
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
	if len(asked) > 0 {
		t.Errorf("the proxy was asked %q", <-asked)
	}
}
