package config

import (
	"testing"
)

// What is the same but for its place is there once.
func TestDedupNet(t *testing.T) {
	layer := func(file, secret string) *Config {
		c, ps := decodeLayer([]byte("[servers.s.access]\nnet = { strategy = \"dedup\", value = [{ host = \"a\", allow = true, methods = [\"GET\"], secret = { env = \""+secret+"\" } }] }\n"), file)
		if len(ps) > 0 {
			t.Fatal(ps)
		}
		return c
	}
	c := layer("one", "T")
	c.overlay(layer("two", "T"))
	if got := len(c.Servers["s"].Access.Net); got != 1 {
		t.Errorf("%d rules", got)
	}
	c.overlay(layer("three", "U"))
	if got := len(c.Servers["s"].Access.Net); got != 2 {
		t.Errorf("%d rules: another secret is another rule", got)
	}
}
