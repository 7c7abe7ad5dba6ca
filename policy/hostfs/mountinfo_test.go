package hostfs

import (
	"reflect"
	"slices"
	"testing"
)

func TestUnescapeMount(t *testing.T) {
	for in, want := range map[string]string{`/a`: "/a", `/a\040b\134c`: `/a b\c`, `/a\0`: `/a\0`, `\011`: "\t"} {
		if got := unescapeMount(in); got != want {
			t.Errorf("%s: %q", in, got)
		}
	}
}

// TestMounts: a name of a mount may have white space that the kernel does not escape.
func TestMounts(t *testing.T) {
	const list = "77 68 254:0 /r\\040s /a\u00a0b\\040c ro,nosuid shared:1 master:2 - ext4 /dev/vda rw\n" +
		"short line\n" +
		"65 68 0:41 / /proc rw - proc none rw\n"
	want := []Mount{{"/r s", "/a\u00a0b c", []string{"ro", "nosuid"}, "ext4"}, {"/", "/proc", []string{"rw"}, "proc"}}
	if got := slices.Collect(Mounts(list)); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
}
