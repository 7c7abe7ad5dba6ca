package winjail

import (
	"strings"
	"testing"
	"unicode/utf16"
)

func TestEnvironment(t *testing.T) {
	for want, env := range map[string][]string{
		"\x00\x00": nil,
		"a=1\x00B=2\x00Path=x=y\x00PATHEXT=\x00\x00": {"PATHEXT=", "B=2", "Path=x=y", "a=1"},
		"ü=€\x00\x00": {"ü=€"},
	} {
		block, err := Environment(env)
		if got := string(utf16.Decode(block)); got != want || err != nil {
			t.Errorf("%q: %q, %v, want %q", env, got, err, want)
		}
	}
	for fault, env := range map[string][]string{
		"two variables": {"Path=a", "PATH=b"}, "zero byte": {"A=b\x00C=d"}, "no name": {"A=b", "=C:=C:\\"}, "no name: \"A\"": {"A"},
	} {
		if _, err := Environment(env); err == nil || !strings.Contains(err.Error(), fault) {
			t.Errorf("%q: %v, want %s", env, err, fault)
		}
	}
}
