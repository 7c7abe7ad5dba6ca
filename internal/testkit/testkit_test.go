package testkit

import (
	"fmt"
	"os"
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

func TestGolden(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.Mkdir("testdata", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("testdata/x", []byte("one"), 0o644); err != nil {
		t.Fatal(err)
	}
	r := &recorder{TB: t}
	if Golden(r, "x", "one"); r.said != "" {
		t.Errorf("the same text: %q", r.said)
	}
	if Golden(r, "x", []byte("two")); !strings.HasPrefix(r.said, "error: testdata/x differs") {
		t.Errorf("another text: %q", r.said)
	}
	defer func() { *update = false }()
	*update = true
	Golden(t, "y/z", "three")
	if *update = false; !t.Failed() {
		Golden(t, "y/z", "three")
	}
}
