package policy

import (
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

func TestNormalizeHost(t *testing.T) {
	rows := testkit.Rows(t, "hostnames.txt", 2)
	for _, long := range []string{strings.Repeat("a", 64), strings.Repeat("a.", 127) + "a", strings.Repeat("a", 5000)} {
		rows = append(rows, []string{long, ""})
	}
	for _, row := range rows {
		host, want := row[0], row[1]
		if got, err := NormalizeHost(host); got != want || (err == nil) != (want != "") {
			t.Errorf("NormalizeHost(%q) = %q, %v; want %q", host, got, err, want)
		}
	}
}

// TestNoRanges: a range of ports or addresses is told as one, and a value after a variable's name is not
// repeated, since it may be a secret.
func TestNoRanges(t *testing.T) {
	of := func(_ string, _ int, err error) error { return err }
	for _, tt := range []struct {
		name string
		err  error
		want string
	}{
		{"ports", of(ParseHostPort("localhost:3000-3010")), `each port is written by itself, without a range or "*"`},
		{"every port", of(ParseHostPort("localhost:*")), `each port is written by itself, without a range or "*"`},
		{"addresses", of(ParseHostPort("10.0.0.0/8")), `"10.0.0.0/8" is not a host alone; a path is written as path_prefix, and each address of a range by itself`},
		{"a path", of(ParseHostPort("host/path")), `"host/path" is not a host alone; a path is written as path_prefix`},
		{"a value", CheckEnvName("KEY=hunter2"), `a value is given after the name "KEY": write the name alone`},
		{"no name", CheckEnvName("=x"), `"=x" is not the name of a variable`},
	} {
		if tt.err == nil || !strings.Contains(tt.err.Error(), tt.want) || strings.Contains(tt.err.Error(), "hunter2") {
			t.Errorf("%s: %v", tt.name, tt.err)
		}
	}
}
