package diagnostics

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/policy"
)

// ofCertificate returns the evidence of a call of a program that failed with text. The variables of
// the host are withheld, but for those that are granted.
func ofCertificate(program, text string, host map[string]string, granted ...string) Evidence {
	ev := evidence(text)
	ev.FromCommandLine = true
	defaultProfile(ev.Profile)
	ev.Profile.Argv = []string{program, "server"}
	ev.Profile.Withheld = nil
	for _, name := range slices.Sorted(maps.Keys(host)) {
		if slices.Contains(granted, name) {
			ev.Profile.Env = append(ev.Profile.Env, policy.Variable{Name: name, Value: host[name]})
		} else {
			ev.Profile.Withheld = append(ev.Profile.Withheld, name)
		}
	}
	ev.Variable = func(name string) string { return host[name] }
	ev.Exists = func(path string) bool {
		return path == "/home/u/certs/ca.pem" || path == "/home/u/certs" || path == "/home/u" || path == "/home/u/work" || path == "/etc/ssl/ca.pem"
	}
	return ev
}

const (
	ofPython   = "<urlopen error [SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: unable to get local issuer certificate (_ssl.c:992)>"
	ofRequests = "requests.exceptions.SSLError: HTTPSConnectionPool(host='api.github.com', port=443): Max retries exceeded with url: / (Caused by SSLError(SSLCertVerificationError(1, '[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: self-signed certificate in certificate chain (_ssl.c:1006)')))"
	ofNode     = "fetch failed: UNABLE_TO_VERIFY_LEAF_SIGNATURE unable to verify the first certificate"
	ofGo       = `Get "https://api.github.com/": tls: failed to verify certificate: x509: certificate signed by unknown authority`
	ofRustls   = "error sending request for url (https://api.github.com/x): client error (Connect): invalid peer certificate: UnknownIssuer"
	ofCurl     = "curl: (60) SSL certificate problem: unable to get local issuer certificate"
	ofGit      = "fatal: unable to access 'https://api.github.com/x.git/': SSL certificate problem: self-signed certificate in certificate chain"
	ofGnuTLS   = "fatal: unable to access 'https://api.github.com/x.git/': server certificate verification failed. CAfile: none CRLfile: none"
	ofJava     = "javax.net.ssl.SSLHandshakeException: PKIX path building failed: sun.security.provider.certpath.SunCertPathBuilderException: unable to find valid certification path to requested target"
	ofDotnet   = "The remote certificate is invalid because of errors in the certificate chain: UntrustedRoot"
	ofRuby     = "SSL_connect returned=1 errno=0 peeraddr=1.2.3.4:443 state=error: certificate verify failed (self signed certificate in certificate chain)"
	ofBoto     = "botocore.exceptions.SSLError: SSL validation failed for https://s3.amazonaws.com/ [SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: self signed certificate"
)

// allCertificates are all variables that name authorities, and one more.
func allCertificates() map[string]string {
	all := map[string]string{"DENO_TLS_CA_STORE": "system", "UV_NATIVE_TLS": "1", "NODE_USE_SYSTEM_CA": "1", "OTHER_CERT_FILE": "/home/u/certs/ca.pem"}
	for _, name := range []string{"NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO", "DENO_CERT", "AWS_CA_BUNDLE", "PIP_CERT", "CARGO_HTTP_CAINFO"} {
		all[name] = "/home/u/certs/ca.pem"
	}
	all["JAVA_TOOL_OPTIONS"] = "-Xmx1g -Djavax.net.ssl.trustStore=/home/u/certs/ca.pem"
	return all
}

// TestCertificateVariable checks which variable is proposed where all of them are withheld: one that
// the program reads, with its file.
func TestCertificateVariable(t *testing.T) {
	for _, tt := range []struct{ program, text, want string }{
		{"node", ofNode, "NODE_EXTRA_CA_CERTS"},
		{"python3", ofNode, "NODE_EXTRA_CA_CERTS"},
		{"npx", "FetchError: request to https://api.github.com/x failed, reason: self-signed certificate in certificate chain", "NODE_EXTRA_CA_CERTS"},
		{"bun", "error: unable to get local issuer certificate", "NODE_EXTRA_CA_CERTS"},
		{"node", "Error: self signed certificate; code: 'DEPTH_ZERO_SELF_SIGNED_CERT'", "NODE_EXTRA_CA_CERTS"},
		{"python3.11", ofPython, "SSL_CERT_FILE"},
		{"python3", ofRequests, "REQUESTS_CA_BUNDLE"},
		{"python3", "ssl.SSLCertVerificationError: [SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed", "SSL_CERT_FILE"},
		{"python3", "httpx.ConnectError: [SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: self-signed certificate", "SSL_CERT_FILE"},
		{"python3", ofBoto, "AWS_CA_BUNDLE"},
		{"pip", ofPython, "PIP_CERT"},
		{"server", ofGo, "SSL_CERT_FILE"},
		{"java", ofJava, "JAVA_TOOL_OPTIONS"},
		{"deno", ofRustls, "DENO_CERT"},
		{"uvx", ofRustls, "SSL_CERT_FILE"},
		{"cargo", ofRustls, "CARGO_HTTP_CAINFO"},
		{"server", ofRustls, "SSL_CERT_FILE"},
		{"python3", ofCurl, "CURL_CA_BUNDLE"},
		{"node", ofGit, "GIT_SSL_CAINFO"},
		{"node", ofGnuTLS, "GIT_SSL_CAINFO"},
		{"dotnet", ofDotnet, "SSL_CERT_FILE"},
		{"ruby", ofRuby, "SSL_CERT_FILE"},
	} {
		d := Diagnose(ofCertificate(tt.program, tt.text, allCertificates()))
		if want := "--env " + tt.want + " --read '~/certs/ca.pem'"; d.Attribution != Likely || len(d.Hints) == 0 || d.Hints[0].Target != tt.want || !strings.Contains(strings.ReplaceAll(advised(d), "'", ""), strings.ReplaceAll(want, "'", "")) {
			t.Errorf("%s, %s: want %s\n%s", tt.program, tt.text, want, d.Text())
		}
	}
}

// TestCertificateFile checks what is said where the variable is granted.
func TestCertificateFile(t *testing.T) {
	host := map[string]string{"NODE_EXTRA_CA_CERTS": "/home/u/certs/ca.pem", "SSL_CERT_FILE": "/home/u/certs/ca.pem"}
	for name, tt := range map[string]struct {
		ev     Evidence
		sure   Attribution
		target string // of the first hint
		flags  string
		fix    string
	}{
		"its file is not granted":          {ofCertificate("node", ofNode, host, "NODE_EXTRA_CA_CERTS"), Likely, "/home/u/certs/ca.pem", "--read ~/certs/ca.pem", ""},
		"of another program":               {ofCertificate("python3", ofPython, host, "NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE"), Likely, "/home/u/certs/ca.pem", "--read ~/certs/ca.pem", ""},
		"its file does not exist":          {ofCertificate("node", ofNode, map[string]string{"NODE_EXTRA_CA_CERTS": "/home/u/gone.pem"}, "NODE_EXTRA_CA_CERTS"), Possible, "", "", "has to be in what NODE_EXTRA_CA_CERTS names"},
		"what node does not read":          {ofCertificate("node", ofNode, map[string]string{"SSL_CERT_FILE": "/home/u/certs/ca.pem"}), Possible, "", "", "set NODE_EXTRA_CA_CERTS"},
		"no variable":                      {ofCertificate("deno", ofRustls, nil), Possible, "", "", "set DENO_CERT to the PEM file"},
		"no variable, java":                {ofCertificate("java", ofJava, nil), Possible, "", "", "trustStore=FILE"},
		"options of java for other things": {ofCertificate("java", ofJava, map[string]string{"JAVA_TOOL_OPTIONS": "-Xmx1g"}), Possible, "", "", "set JAVA_TOOL_OPTIONS"},
		"no file":                          {ofCertificate("deno", ofRustls, map[string]string{"DENO_TLS_CA_STORE": "system"}), Likely, "DENO_TLS_CA_STORE", "--env DENO_TLS_CA_STORE", ""},
		"in the home":                      {ofCertificate("node", ofNode, map[string]string{"NODE_EXTRA_CA_CERTS": "/home/u"}), Likely, "NODE_EXTRA_CA_CERTS", "--env NODE_EXTRA_CA_CERTS", "which the server may not read"},
		"expired":                          {ofCertificate("python3", "[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: certificate has expired (_ssl.c:992)", allCertificates()), None, "", "", ""},
		"another name":                     {ofCertificate("server", "tls: failed to verify certificate: x509: certificate is valid for a.b, not c.d", allCertificates()), None, "", "", ""},
		"a file in the words":              {ofCertificate("python3", "curl: (77) error setting certificate verify locations:  CAfile: /home/u/certs/ca.pem CApath: none", nil), Likely, "/home/u/certs/ca.pem", "--read ~/certs/ca.pem", ""},
	} {
		d := Diagnose(tt.ev)
		target := ""
		if len(d.Hints) > 0 {
			target = d.Hints[0].Target
		}
		if d.Attribution != tt.sure || target != tt.target || strings.Join(d.Words, " ") != tt.flags || !strings.Contains(advised(d), tt.fix) {
			t.Errorf("%s:\n%s", name, d.Text())
		}
	}
	for _, tt := range []struct {
		rule      policy.NetRule
		inspected bool
	}{
		{policy.NetRule{Host: "api.github.com", Methods: []string{"GET"}, Allow: true}, true},
		{policy.NetRule{Host: "api.github.com", PathPrefix: "/x", Allow: true}, true},
		{policy.NetRule{Host: "api.github.com", Secrets: []policy.Secret{{Env: "T"}}, Allow: true}, true},
		{policy.NetRule{Host: "api.github.com", Allow: true}, false},
		{policy.NetRule{Host: "api.github.com", PathPrefix: "/x"}, false},
		{policy.NetRule{Host: "other.example", PathPrefix: "/x", Allow: true}, false},
	} {
		ev := ofCertificate("server", ofRustls, host)
		tt.rule.Scheme = "https"
		ev.Profile.Net = []policy.NetRule{tt.rule}
		d := Diagnose(ev)
		if ours := len(d.Words) == 0 && strings.Contains(advised(d), "a rule without these keys"); ours != tt.inspected || !ours && d.Hints[0].Target != "SSL_CERT_FILE" {
			t.Errorf("%+v:\n%s", tt.rule, d.Text())
		}
	}
	ev := ofCertificate("node", ofNode, host)
	ev.FromCommandLine = false
	want := `--env NODE_EXTRA_CA_CERTS --read ~/certs/ca.pem`
	if d := Diagnose(ev); !strings.Contains(strings.Join(d.Words, " "), want) {
		t.Errorf("the lines have both:\n%s", d.Text())
	}
}
