package python

import (
	"slices"
	"testing"

	"github.com/mcp-jail/mcp-jail/policy"
)

// TestCredentials tests where passwords of indexes are found.
func TestCredentials(t *testing.T) {
	pip := "[global]\nindex-url = https://user:in%2Ddex-Pa55@a.test/simple\nextra-index-url =\n    https://b.test:8443/x\n    http://token@c.test/y\n"
	uv := "[[index]]\nurl = \"https://u:0ther-Pa55@d.test/simple\"\n"
	netrc := "machine b.test login u password netrc-Pa55\nmachine other.test login u password no\n"
	got := Credentials([]string{pip, uv, ""}, netrc, []string{"UV_INDEX_MINE_PASSWORD=v4riable-Pa55", "UV_INDEX_MINE_USERNAME=u", "OTHER_PASSWORD=x"})
	var want []policy.Variable
	for _, v := range [][2]string{
		{"the password of the Python index a.test", "in-dex-Pa55"}, {"the password of the Python index d.test", "0ther-Pa55"},
		{"UV_INDEX_MINE_PASSWORD", "v4riable-Pa55"}, {"the password of the Python index b.test", "netrc-Pa55"},
	} {
		want = append(want, policy.Variable{Name: v[0], Value: v[1], Secret: true})
	}
	if !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}
}
