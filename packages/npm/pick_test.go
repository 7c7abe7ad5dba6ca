package npm

import (
	"encoding/json"
	"testing"
)

// TestGuess: a tag, a version that was taken before, latest, and else the highest that fits.
func TestGuess(t *testing.T) {
	var p Packument
	if err := json.Unmarshal([]byte(`{"dist-tags":{"latest":"2.1.0","next":"3.0.0-rc.1"},"versions":{
		"1.0.0":{"version":"1.0.0"},"1.9.0":{"version":"1.9.0","os":"linux"},"1.10.0":{"version":"1.10.0"},"2.1.0":{"version":"2.1.0","deprecated":""},"2.2.0":{"version":"2.2.0"},"3.0.0-rc.1":{"version":"3.0.0-rc.1"},"5.2.0":{"version":"5.2.0"},"5.1.0":{"version":"5.1.0"},"7.0.0+a":{"version":"7.0.0+a"},"7.0.0+b":{"version":"7.0.0+b"},"7.0.0+c":{"version":"7.0.0+c"},"7.0.0+d":{"version":"7.0.0+d"},"7.0.0+e":{"version":"7.0.0+e"},"odd":{"version":"odd"},"null":null}}`), &p); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		rng, have, want string
	}{
		{"latest", "", "2.1.0"}, {"next", "", "3.0.0-rc.1"}, {"^1.0.0", "", "1.10.0"}, {"^1.0.0", "1.0.0", "1.0.0"}, {"^2.0.0", "", "2.1.0"}, {"*", "", "2.1.0"}, {"<2.0.0 || 2.2.0", "", "2.2.0"}, {"^5", "", "5.2.0"}, {"1.9.x", "", "1.9.0"}, {"^7", "", "7.0.0+a"}, {">=8", "", ""}, {"no range", "", ""}, {"~1.0", "2.1.0", "1.0.0"},
	} {
		got := ""
		if r := p.Guess(c.rng, []string{c.have}); r != nil {
			got = r.Version
		}
		if got != c.want {
			t.Errorf("%s beside %q: %q, want %q", c.rng, c.have, got, c.want)
		}
	}
	if os := p.Versions["1.9.0"].OS; len(os) != 1 || os[0] != "linux" {
		t.Errorf("%q", os)
	}
}

// TestFits compares lists of systems as npm does.
func TestFits(t *testing.T) {
	for _, c := range []struct {
		list []string
		want bool
	}{
		{nil, true}, {[]string{"linux"}, true}, {[]string{"darwin"}, false}, {[]string{"darwin", "linux"}, true}, {[]string{"!linux"}, false}, {[]string{"!darwin"}, true}, {[]string{"any"}, true}, {[]string{"!darwin", "win32"}, false},
	} {
		if got := Fits(c.list, "linux"); got != c.want {
			t.Errorf("%q: %v", c.list, got)
		}
	}
}
