//go:build linux

package main

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestLeaksToHosts tests the requests that a server in a jail sends to granted hosts.
func TestLeaksToHosts(t *testing.T) {
	t.Parallel()
	const value = "q7mWzp4Xc2Rk9TnB"
	encoded := base64.StdEncoding.EncodeToString([]byte("it is " + value + " and so on"))
	for _, leaks := range []string{"warn", "block"} {
		w := newWorld(t)
		host := newHosts(t, w, value, []string{internetHost})
		w.env = append(w.env, "LEAKY_TOKEN="+value)
		config := filepath.Join(w.base, "leaky.toml")
		must(t, os.WriteFile(config, fmt.Appendf(nil, `[servers.s]
command = %q
leaks = %q
variables = ["LEAKY_TOKEN"]
access.net = [{ host = %q, scheme = "https", methods = ["POST"], allow = true }, { host = "other.example", allow = true }]
`, w.copySelf(t, "sender"), leaks, internetHost), 0o644)) // a secret may go to an only host
		s := open(t, w.jail("--config", config, "s"), nil)
		for _, c := range []struct {
			place, url string
			arguments  map[string]any
		}{
			{"", "/credential", map[string]any{"authorization": "Bearer $LEAKY_TOKEN"}}, // which it is for
			{"the URL", "/url?q=" + url.QueryEscape(encoded), map[string]any{}},
			{"the body", "/body", map[string]any{"body": encoded}},
		} {
			c.arguments["url"] = "https://" + internetHost + c.url
			refused := leaks == "block" && c.place != ""
			for range 2 {
				if got := s.tool("send", c.arguments).texts(); strings.Contains(got, "403") != refused || strings.Contains(got, `leaks is "block"`) != refused {
					t.Errorf("%s, %s: %s", leaks, c.url, got)
				}
			}
			line := fmt.Sprintf("sends the value of LEAKY_TOKEN (in base64) in %s of a request to %s", c.place, internetHost)
			if n := strings.Count(s.stderr.String(), line); (n == 1) != (leaks == "warn" && c.place != "") {
				t.Errorf("%s, %s: told %d times: %s", leaks, c.place, n, &s.stderr)
			}
		}
		s.close()
		if told := host.requests(t); (leaks == "warn") != (strings.Count(told, "\n") == 6) {
			t.Errorf("%s: the host was told %s%s", leaks, told, &s.stderr)
		}
		if why := w.output(t, "why", "s", "--format", "json"); strings.Contains(why+s.stderr.String(), value) || leaks == "block" && !strings.Contains(why, `"leak"`) {
			t.Error(why)
		}
	}
}
