package testkit

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func TestRequired(t *testing.T) {
	for _, c := range []struct {
		required, feature string
		want              bool
	}{
		{"landlock:6", "landlock:3", true}, {"landlock:6", "landlock:6", true}, {"landlock:2", "landlock:3", false}, {"landlock", "landlock:3", false},
		{"landlock:2", "landlock", true}, {"userns", "userns", true}, {"userns", "seccomp", false}, {"", "", false}, {"seccomp_notify", "seccomp", false},
		{"npm, userns", "userns", true},
	} {
		t.Setenv("MCPJAIL_REQUIRE", c.required)
		if got := Required(c.feature); got != c.want {
			t.Errorf("%q and %q: %v", c.required, c.feature, got)
		}
	}
}

// recorder is a test that records how it ended.
type recorder struct {
	testing.TB
	said string
}

func (r *recorder) Helper()                        {}
func (r *recorder) Errorf(format string, a ...any) { r.said += "error: " + fmt.Sprintf(format, a...) }
func (r *recorder) Fatalf(format string, a ...any) { r.said += "fatal: " + fmt.Sprintf(format, a...) }
func (r *recorder) Skipf(format string, a ...any)  { r.said += "skip: " + fmt.Sprintf(format, a...) }

func TestSkipFailsWhereRequired(t *testing.T) {
	for required, want := range map[string]string{"": "skip: needs npm: gone", "userns,npm": "fatal: MCPJAIL_REQUIRE lists npm: gone"} {
		t.Setenv("MCPJAIL_REQUIRE", required)
		r := &recorder{TB: t}
		if Skip(r, "npm", "%s", "gone"); !strings.HasPrefix(r.said, want) {
			t.Errorf("with %q: %q, want %q", required, r.said, want)
		}
	}
}

func TestTable(t *testing.T) {
	type row struct {
		text  string
		words []string
		n     int
		is    bool
	}
	want := map[string]row{"all": {"a b", []string{`"c"`, "d e"}, -2, true}, "some": {n: 1}, "none": {}}
	if got := Named[row](t, "table.txt", "<C>", `"c"`); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v", got)
	}
	if got := Table[string](t, "list.txt", "<here>", "/x"); !slices.Equal(got, []string{"one", "t\two", "#", "in /x"}) {
		t.Errorf("got %q", got)
	}
}
