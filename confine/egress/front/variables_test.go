package front

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

// TestVariables: each variable that has the password is a secret, and nothing goes past the proxy.
func TestVariables(t *testing.T) {
	a, b := NewPassword(), NewPassword()
	if a == b || len(a) != 32 || strings.Trim(a, "0123456789abcdef") != "" {
		t.Errorf("%q, %q", a, b)
	}
	of := func(program string) map[string]policy.Variable {
		m := map[string]policy.Variable{}
		for _, v := range Variables(1234, a, program) {
			testkit.Equal(t, v, strings.Contains(v.Value, a), v.Secret)
			m[v.Name] = v
		}
		return m
	}
	node := of("/usr/bin/node")
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy", "npm_config_proxy", "npm_config_https_proxy"} {
		testkit.Equal(t, fmt.Sprintf("%s=", name), node[name].Value, "http://jail:"+a+"@127.0.0.1:1234")
	}
	for _, name := range []string{"NO_PROXY", "no_proxy", "npm_config_noproxy"} {
		if v, ok := node[name]; !ok || v.Value != "" {
			t.Errorf("%s=%s, %v", name, v.Value, ok)
		}
	}
	testkit.Equal(t, node, node["NODE_USE_ENV_PROXY"].Value, "1")
	for program, want := range map[string]bool{"/usr/bin/java": true, "/usr/bin/javadoc": false, "/usr/bin/node": false, "/x/java/node": false} {
		if v := of(program)["JAVA_TOOL_OPTIONS"].Value; (v != "") != want || want && !strings.Contains(v, "-Dhttps.proxyPort=1234 ") {
			t.Errorf("%s: %q", program, v)
		}
	}
	names := Variables(1, a, "java")
	if n := len(names); n != len(slices.CompactFunc(slices.Clone(names), func(v, w policy.Variable) bool { return v.Name == w.Name })) {
		t.Errorf("a variable is given twice: %+v", names)
	}
}
