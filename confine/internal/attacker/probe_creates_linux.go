package attacker

import (
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// attemptCreates tries to make as many files as it is told, each # in the name a number.
func attemptCreates(a []string) (string, error) {
	for i := range Number(a[1]) {
		fd, err := unix.Open(strings.ReplaceAll(a[0], "#", strconv.Itoa(i)), unix.O_WRONLY|unix.O_CREAT, 0o644)
		if Closing(fd, err) == nil {
			return "a file", nil
		}
	}
	return "", nil
}
