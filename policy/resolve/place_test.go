package resolve

import (
	"fmt"
	"strings"
	"testing"
)

// TestPlaces: rules for a cloud's credentials and for private networks are honoured,
// with a warning.
func TestPlaces(t *testing.T) {
	for host, want := range map[string]string{
		"169.254.169.254":          "metadata-host",
		"fd00:ec2::254":            "metadata-host",
		"100.100.100.200":          "metadata-host",
		"Metadata.Google.Internal": "metadata-host",
		"*.google.internal":        "metadata-host",
		"*.internal":               "metadata-host",
		"10.1.2.3":                 "private-host",
		"192.168.1.1":              "private-host",
		"fd12::1":                  "private-host",
		"169.254.1.1":              "private-host",
		"100.64.0.1":               "private-host",
		"::ffff:10.1.2.3":          "private-host",

		"93.184.216.34": "", "localhost": "", "127.0.0.1": "", "::1": "", "api.example.com": "",
		"google.internal": "", "*.example.com": "", "*": "",
	} {
		for _, allow := range []bool{true, false} {
			_, ws := mustResolve(t, newFake(aSystem), fmt.Sprintf("%s[[servers.s.access.net]]\nhost = %q\nallow = %v\n", aServer, host, allow))
			got := ""
			for _, w := range ws {
				if strings.HasSuffix(w.Code, "-host") {
					got += w.Code
					if !strings.Contains(w.Where, "toml:") || !strings.HasPrefix(w.Message, "host = ") {
						t.Errorf("%s: %s", host, w)
					}
				}
			}
			if allow && got != want || !allow && got != "" {
				t.Errorf("%s, allow = %v: %q, want %q", host, allow, got, want)
			}
		}
	}
}
