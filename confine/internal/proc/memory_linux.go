package proc

import (
	"strconv"
	"strings"
)

// eachNumber reads lines of a name and a number, as several files of /proc are
// made of.
func EachNumber(b []byte, f func(name string, n int64)) {
	for line := range strings.Lines(string(b)) {
		name, rest, _ := strings.Cut(line, ":")
		fields := strings.Fields(rest)
		if len(fields) == 0 {
			continue
		}
		if n, err := strconv.ParseInt(fields[0], 10, 64); err == nil {
			f(name, n)
		}
	}
}
