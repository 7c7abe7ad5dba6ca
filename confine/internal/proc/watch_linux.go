package proc

import (
	"os"
	"strconv"
)

// innerInit is the number of a jail's init for its supervisor, who is 1.
const innerInit = 2

// othersIn lists every process of a jail but its supervisor and its init.
func OthersIn(proc string) func() ([]string, error) {
	return func() ([]string, error) {
		dir, err := os.Open(proc)
		if err != nil {
			return nil, err
		}
		defer dir.Close()
		names, err := dir.Readdirnames(-1)
		pids := names[:0]
		for _, name := range names {
			if n, err := strconv.Atoi(name); err == nil && n > innerInit {
				pids = append(pids, name)
			}
		}
		return pids, err
	}
}
