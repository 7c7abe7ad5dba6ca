package resolve

import (
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

const aCertificate = `# a comment\n-----BEGIN CERTIFICATE-----\nQUJD\n-----END CERTIFICATE-----\n`

// TestAuthorities: the files that the user's variables name come with the variables if a host is
// granted. A file that a project or a server may have chosen does not, and no rule is overruled.
func TestAuthorities(t *testing.T) {
	const (
		net  = "[[servers.s.access.net]]\nhost = \"api.example.com\"\nallow = true\n"
		work = "[[servers.s.access.fs]]\npath = \".\"\nread = true\nwrite = true\n"
	)
	files := []string{
		"f /home/u/ca/corp.pem " + aCertificate, "f /home/u/ca/key.pem " + aCertificate + `-----BEGIN PRIVATE KEY-----\nQUJD\n`,
		"f /home/u/ca/notes secret", "d /home/u/ca/dir", "p /home/u/ca/pipe", "l /home/u/ca/link corp.pem", "l /home/u/proj/link ../ca/corp.pem",
		"f /home/u/proj/ca.pem " + aCertificate, "f /home/u/.ssh/ca.pem " + aCertificate, "f /home/u/.config/gcloud/ca.pem " + aCertificate, "f /home/u/.env " + aCertificate,
		"f /usr/share/ca.pem " + aCertificate, "f /opt/corp/ca.pem " + aCertificate, "f /home/u/ca/large " + aCertificate + strings.Repeat("#", maxAuthorities),
		"f /srv/shared/ca.pem " + aCertificate,
	}
	deny := "[[servers.s.access.env]]\nname = \"NODE_EXTRA_CA_CERTS\"\nread = false\n"
	for _, c := range []struct {
		name, rules, value string
		passed             bool
		entry              string // the entry of the file
		warning            string // words of the warning
	}{
		{"a host", net, "/home/u/ca/corp.pem", true, "/home/u/ca/corp.pem", ""},
		{"a host and the workspace", net + work, "/opt/corp/ca.pem", true, "/opt/corp/ca.pem", ""},
		{"no host", work, "/home/u/ca/corp.pem", false, "", ""},
		{"a host that is refused", strings.Replace(net, "true", "false", 1), "/home/u/ca/corp.pem", false, "", ""},
		{"a link", net, "/home/u/ca/link", true, "/home/u/ca/corp.pem", ""},
		{"a file of the baseline", net, "/usr/share/ca.pem", true, "", ""},
		{"a rule for the file's directory", net + "[[servers.s.access.fs]]\npath = \"~/ca\"\nread = true\n", "/home/u/ca/corp.pem", true, "", ""},
		{"a rule that refuses the variable", net + deny, "/home/u/ca/corp.pem", false, "", ""},
		{"a rule that refuses all such variables", net + strings.Replace(deny, "NODE_EXTRA_CA_CERTS", "NODE_*", 1), "/home/u/ca/corp.pem", false, "", ""},
		{"a rule that forwards it", net + strings.Replace(deny, "false", "true", 1), "/home/u/ca/corp.pem", true, "/home/u/ca/corp.pem", ""},
		{"a rule that forwards it, without a host", strings.Replace(deny, "false", "true", 1), "/home/u/ca/corp.pem", true, "", ""},
		{"a rule that hides the file", net + "[[servers.s.access.fs]]\npath = \"~/ca\"\ndeny = true\n", "/home/u/ca/corp.pem", false, "", "hidden"},
		{"a rule that hides the file itself", net + work + "[[servers.s.access.fs]]\npath = \"~/ca/corp.pem\"\ndeny = true\n", "/home/u/ca/corp.pem", false, "", "hidden"},
		{"a sensitive path", net, "/home/u/.ssh/ca.pem", false, "", "sensitive"},
		{"another sensitive path", net, "/home/u/.config/gcloud/ca.pem", false, "", "sensitive"},
		{"a sensitive name", net, "/home/u/.env", false, "", "sensitive"},
		{"a sensitive path of the user", net + "[servers.s.access]\nsensitive_paths = [\"~/ca\"]\n", "/home/u/ca/corp.pem", false, "", "sensitive"},
		{"a private key beside it", net, "/home/u/ca/key.pem", false, "", "something else than certificates"},
		{"another text", net, "/home/u/ca/notes", false, "", "no certificate"},
		{"a directory", net, "/home/u/ca/dir", false, "", "not a regular file"},
		{"a pipe", net, "/home/u/ca/pipe", false, "", "not a regular file"},
		{"a large file", net, "/home/u/ca/large", false, "", "larger"},
		{"a file that is missing", net, "/home/u/ca/none", false, "", ""},
		{"a relative path", net, "ca.pem", false, "", ""},
		{"a relative path that the root directory has", net, "opt/corp/ca.pem", false, "", ""},
		{"a file that a server may write", net + "[[servers.o.access.fs]]\npath = \"~/ca\"\nread = true\nwrite = true\n[servers.o]\ncommand = \"server\"\n", "/home/u/ca/corp.pem", false, "", "may write"},
		{"a link that a server may replace", net + "[[servers.o.access.fs]]\npath = \"/home/u/proj\"\nread = true\nwrite = true\n[servers.o]\ncommand = \"server\"\n", "/home/u/proj/link", false, "", "may replace"},
		{"a file that another user may replace", net, "/srv/shared/ca.pem", false, "", "may be written by other users"},
	} {
		fake := newFake(append(files, aSystem)...)
		fake["/srv/shared"] = fakeFile{mode: fs.ModeDir | 0o777}
		p, ws := mustResolve(t, fake, aServer+c.rules, func(h *hostfs.Host) {
			h.Environ = append(h.Environ, "NODE_EXTRA_CA_CERTS="+c.value, "OTHER=/home/u/ca/corp.pem")
		})
		passed := false
		for _, v := range p.Env {
			passed = passed || v.Name == "NODE_EXTRA_CA_CERTS" && v.Value == c.value
		}
		entry := ""
		for _, e := range p.Entries {
			if strings.HasPrefix(e.Rule, policy.AuthorityRule) {
				entry += e.Path
				if e.Rights != policy.Read || e.Kind != policy.KindFile {
					t.Errorf("%s: %s: %s", c.name, e.Path, e.Rights)
				}
			}
		}
		if passed != c.passed || entry != c.entry {
			t.Errorf("%s: the server gets the variable: %v, and %q, want %v, %q", c.name, passed, entry, c.passed, c.entry)
		}
		told := ""
		for _, w := range ws {
			if w.Code == "authorities" {
				told += w.Message
			}
		}
		if (told == "") != (c.warning == "") || !strings.Contains(told, c.warning) {
			t.Errorf("%s: warning %q, want one with %q", c.name, told, c.warning)
		}
	}
}

// TestAuthorityDirectories: directories of authorities are passed on if all can be read, and no rule
// refuses the variable.
func TestAuthorityDirectories(t *testing.T) {
	for value, want := range map[string]bool{"/etc/ssl/certs": true, "/etc/ssl/certs:/usr/share": true, "/etc/ssl/certs:/home/u/ca": false, "certs": false, "": false, "/etc/ssl/none": false} {
		p, _ := mustResolve(t, newFake(aSystem, "f /home/u/ca/x"), aServer+"[[servers.s.access.net]]\nhost = \"*\"\nallow = true\n", func(h *hostfs.Host) {
			h.Environ = append(h.Environ, "SSL_CERT_DIR="+value)
		})
		got := false
		for _, v := range p.Env {
			got = got || v.Name == "SSL_CERT_DIR"
		}
		if got != want {
			t.Errorf("%q: passed %v", value, got)
		}
	}
	for rule, want := range map[string]bool{"": true, "[[servers.s.access.fs]]\npath = \"/etc/ssl/certs\"\ndeny = true\n": false, "[[servers.s.access.env]]\nname = \"SSL_*\"\nread = false\n": false, "[[servers.s.access.env]]\nname = \"SSL_CERT_DIR\"\nread = true\n": true} {
		p, _ := mustResolve(t, newFake(aSystem), aServer+"[[servers.s.access.net]]\nhost = \"*\"\nallow = true\n"+rule, func(h *hostfs.Host) {
			h.Environ = append(h.Environ, "SSL_CERT_DIR=/etc/ssl/certs")
		})
		if got := slices.ContainsFunc(p.Env, func(v policy.Variable) bool { return v.Name == "SSL_CERT_DIR" }); got != want {
			t.Errorf("%q: passed %v", rule, got)
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
