package plan

import (
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestAuthoritiesOfInspectedHosts: where requests are inspected, no variable names a file without
// the jail's own authority, also not one that the user's environment brought.
func TestAuthoritiesOfInspectedHosts(t *testing.T) {
	o := &spec.Spec{Env: []string{"A=1", "NODE_EXTRA_CA_CERTS=/u/ca", "SSL_CERT_FILE=/u/ca", "PIP_CERT=/u/ca", "NIX_SSL_CERT_FILE=/u/ca", "SSL_CERT_DIR=/u"}}
	setAuthorities(o, "/own", "/bundle")
	slices.Sort(o.Env)
	const want = "A=1 CURL_CA_BUNDLE=/bundle GIT_SSL_CAINFO=/bundle NIX_SSL_CERT_FILE=/bundle NODE_EXTRA_CA_CERTS=/own PIP_CERT=/bundle REQUESTS_CA_BUNDLE=/bundle SSL_CERT_DIR=/u SSL_CERT_FILE=/bundle"
	testkit.Equal(t, "", strings.Join(o.Env, " "), want)
}
