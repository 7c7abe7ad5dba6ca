package hostfs

import (
	"iter"
	"strconv"
	"strings"
)

// Mount is a mount as the kernel lists it (proc_pid_mountinfo(5)).
type Mount struct {
	Root    string   // what of its filesystem is mounted
	Point   string   // where it is mounted
	Options []string // of this mount
	Kind    string   // of its filesystem
}

// Mounts returns the mounts of a list in mountinfo.
func Mounts(list string) iter.Seq[Mount] {
	return func(yield func(Mount) bool) {
		for line := range strings.Lines(list) {
			before, after, _ := strings.Cut(line, " - ")
			// The kernel escapes blanks, tabs and line ends, and no other white space.
			f := strings.Split(before, " ")
			if len(f) < 6 {
				continue
			}
			kind, _, _ := strings.Cut(after, " ")
			if !yield(Mount{unescapeMount(f[3]), unescapeMount(f[4]), strings.Split(f[5], ","), kind}) {
				return
			}
		}
	}
}

// unescapeMount decodes the octal escapes of blanks and backslashes in mountinfo.
func unescapeMount(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(n))
				i += 3
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
