package doctorcmd

import (
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/cmd/internal/exit"
)

// TestStatusOf tests the exit status: only what stops something counts, and the host before the
// configuration before the rest.
func TestStatusOf(t *testing.T) {
	note, stops := finding{}, finding{Stops: true}
	config, host := finding{Stops: true, status: exit.Usage}, finding{Stops: true, status: exit.Host}
	for _, c := range []struct {
		all  []finding
		want int
	}{
		{nil, exit.OK}, {[]finding{note}, exit.OK}, {[]finding{{status: exit.Host}}, exit.OK},
		{[]finding{note, stops}, exit.Failure}, {[]finding{stops, config, note}, exit.Usage}, {[]finding{host, config, stops}, exit.Host},
	} {
		if got := exit.Status(statusOf(c.all)); got != c.want {
			t.Errorf("%+v: %d, want %d", c.all, got, c.want)
		}
	}
}

// TestJoin tests that what differs only in its entries is told once, and anything else is not.
func TestJoin(t *testing.T) {
	joined := join([]finding{
		{What: "a", Of: []string{"1"}}, {What: "b", Of: []string{"1"}}, {What: "a", Of: []string{"2"}}, {What: "a", Of: []string{"1"}}, {What: "a", Fix: "other", Of: []string{"3"}},
	})
	if got := texts(joined); got != "a [1 2]\nb [1]\na [3]" {
		t.Errorf("%s", got)
	}
	if got := some(strings.Split("abcde", "")); got != "a, b, c and 2 more" {
		t.Errorf("%s", got)
	}
}
