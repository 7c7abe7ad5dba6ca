package hostfs

import (
	"testing"
)

func TestUnescapeMount(t *testing.T) {
	for in, want := range map[string]string{`/a`: "/a", `/a\040b\134c`: `/a b\c`, `/a\0`: `/a\0`, `\011`: "\t"} {
		if got := unescapeMount(in); got != want {
			t.Errorf("%s: %q", in, got)
		}
	}
}
