package python

import (
	"slices"
	"testing"
)

// TestCredentials tests where passwords of indexes are found.
func TestCredentials(t *testing.T) {
	pip := "[global]\nindex-url = https://user:in%2Ddex-Pa55@a.test/simple\nextra-index-url =\n    https://b.test:8443/x\n    http://token@c.test/y\n"
	uv := "[[index]]\nurl = \"https://u:0ther-Pa55@d.test/simple\"\n"
	netrc := "machine b.test login u password netrc-Pa55\nmachine other.test login u password no\n"
	got := Credentials([]string{pip, uv, ""}, netrc, []string{"UV_INDEX_MINE_PASSWORD=v4riable-Pa55", "UV_INDEX_MINE_USERNAME=u", "OTHER_PASSWORD=x"})
	want := []string{"in-dex-Pa55", "0ther-Pa55", "v4riable-Pa55", "netrc-Pa55"}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}
