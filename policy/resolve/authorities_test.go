package resolve

import (
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

const aCertificate = `# a comment\n-----BEGIN CERTIFICATE-----\nQUJD\n-----END CERTIFICATE-----\n`

// TestUnsafeAuthorities: a file that another user may replace, or that is large, does not come with its variable.
func TestUnsafeAuthorities(t *testing.T) {
	fake := newFake(aSystem, "f /srv/shared/ca.pem "+aCertificate, "f /srv/large "+aCertificate+strings.Repeat("#", maxAuthorities), "f /srv/good "+aCertificate)
	fake["/srv/shared"] = fakeFile{mode: fs.ModeDir | 0o777}
	for file, want := range map[string]string{"/srv/shared/ca.pem": "may be written by other users", "/srv/large": "larger", "/srv/good": ""} {
		p, ws := mustResolve(t, fake, aServer+"[[servers.s.access.net]]\nhost = \"api.example.com\"\nallow = true\n", func(h *hostfs.Host) {
			h.Environ = append(h.Environ, "NODE_EXTRA_CA_CERTS="+file)
		})
		if passed := value(p, "NODE_EXTRA_CA_CERTS") == file; passed != (want == "") || passed != (len(ws) == 0) || !strings.Contains(fmt.Sprint(ws), want) {
			t.Errorf("%s: passed %v, %v", file, passed, ws)
		}
	}
}

// TestOnlyCertificates: a file of another program can have a certificate in it beside a secret.
func TestOnlyCertificates(t *testing.T) {
	const one = "-----BEGIN CERTIFICATE-----\nQUJD\n-----END CERTIFICATE-----\n"
	for text, want := range map[string]bool{
		one: true, one + one: true, strings.ReplaceAll(one, "\n", "\r\n"): true,
		"# Issuer: CN=A\n\n" + one: true, "##\n## Bundle\n\nA Root R1\n=========\n" + one: true,
		"Certificate:\n    Data:\n        Version: 3\n" + one: true, "Bag Attributes\n    friendlyName: a\nsubject=/CN=a\nissuer=CN = a\n" + one: true,
		one + "-----BEGIN PRIVATE KEY-----\nQUJD\n-----END PRIVATE KEY-----\n": false,
		"client\n<ca>\n" + one + "</ca>\n":                                     false,
		one + "user\npassword\n":                                               false,
		one + "    password: x\n":                                              false,
		"Certificate:\n    Data:\n" + one + "    password: x\n":                false,
		strings.Replace(one, "QUJD", "QUJD\npassword: x", 1):                   false,
		strings.TrimSuffix(one, "-----END CERTIFICATE-----\n"):                 false,
		"token = abc\n" + one:                                                  false,
	} {
		if got := onlyCertificates(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}
