package npm

import (
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

func TestVersionErrors(t *testing.T) {
	for _, v := range []string{"", "1", "1.2", "1.2.x", "=1.2.3", "1.2.3.4", "01.2.3", "1.2.3-", "1.2.3-01", "1.2.3-a..b", "1.2.3+", "1.2.9007199254740992", "latest"} {
		if ok, err := EngineFits("*", v); err == nil || ok {
			t.Errorf("%q is a version", v)
		}
	}
	for _, v := range []string{"v1.2.3", " 1.2.3 ", "1.2.3-0a.-", "1.2.3+007"} {
		if ok, err := EngineFits("*", v); err != nil || !ok {
			t.Errorf("%q: %v", v, err)
		}
	}
}

func TestEngines(t *testing.T) {
	for _, c := range testkit.Table[struct{ name, file, want, err string }](t, "engines.txt") {
		got, err := Engines([]byte(c.file))
		if got != c.want || message(err) != c.err {
			t.Errorf("%s: %q, %v", c.name, got, err)
		}
	}
}

func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func FuzzEngineFits(f *testing.F) {
	f.Add("^1.2 || 1 - 2 || >=3.x", "1.2.3-beta.1+b")
	f.Add("> > 1", "v1.0.0")
	f.Fuzz(func(t *testing.T, rng, v string) {
		once, err := EngineFits(rng, v)
		if again, _ := EngineFits(rng+" || "+rng, v); err == nil && again != once {
			t.Error("a range is not what it is twice")
		}
	})
}
