package sys

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestLoopbackListeners: what listens on the loopback or on every address counts, and no other socket.
func TestLoopbackListeners(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{
		"tcp": "  sl  local_address rem_address   st\n" +
			"   0: 0100007F:1538 00000000:0000 0A\n" + // 127.0.0.1:5432
			"   1: 00000000:0BB8 00000000:0000 0A\n" + // 0.0.0.0:3000
			"   2: 0A00000A:1F90 00000000:0000 0A\n" + // 10.0.0.10:8080
			"   3: 0200007F:0050 00000000:0000 0A\n" + // 127.0.0.2:80
			"   4: 0100007F:0016 0100007F:9C40 01\n", // a connection
		"tcp6": "  sl  local_address                         remote_address                        st\n" +
			"   0: 00000000000000000000000001000000:2CAA 00000000000000000000000000000000:0000 0A\n" + // [::1]:11434
			"   1: 00000000000000000000000000000000:18EB 00000000000000000000000000000000:0000 0A\n" + // [::]:6379
			"   2: 0000000000000000FFFF00000100007F:0CEA 00000000000000000000000000000000:0000 0A\n", // [::ffff:127.0.0.1]:3306
	} {
		testkit.Must(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600))
	}
	listens := LoopbackListeners(dir)
	for _, c := range []struct {
		host string
		port int
		want bool
	}{
		{"localhost", 5432, true}, {"localhost", 3000, true}, {"localhost", 11434, true}, {"localhost", 6379, true}, {"localhost", 3306, true},
		{"localhost", 8080, false}, {"localhost", 80, false}, {"localhost", 22, false}, {"localhost", 40000, false},
		{"127.0.0.2", 80, true}, {"127.0.0.2", 3000, true}, {"127.0.0.2", 5432, false},
	} {
		testkit.Equal(t, fmt.Sprintf("%s:%d", c.host, c.port), listens(c.host, c.port), c.want)
	}
	l := testkit.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	port := l.Addr().(*net.TCPAddr).Port
	if !ShowsListeners("/proc/self/net") || !LoopbackListeners("/proc/self/net")("localhost", port) {
		t.Error("a listener of this process was not found")
	}
	l.Close()
	if LoopbackListeners("/proc/self/net")("localhost", port) {
		t.Error("a closed listener was found")
	}
	if ShowsListeners(dir + "/none") {
		t.Error("a directory that does not exist shows listeners")
	}
}
