package main

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// runningKernel is what must be true of the running kernel by its version. The checks
// compare it with what mcp-jail finds out by probing.
type runningKernel struct {
	boot         string
	release      string
	major, minor int
	landlock     int    // the ABI that Linux documents for this version, as booted
	modules      string // the active security modules
	patience     string // for how long tests may run
}

// landlockSince are the versions that brought each ABI (the changelog of
// landlock(7)). The first is ABI 1. From 7.0 on the ABI is not known by the version.
var landlockSince = [][2]int{{5, 13}, {5, 19}, {6, 2}, {6, 7}, {6, 10}, {6, 12}, {6, 15}}

func thisMachine(boot string) (*runningKernel, error) {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return nil, err
	}
	k := &runningKernel{boot: boot, release: unix.ByteSliceToString(u.Release[:])}
	if n, err := fmt.Sscanf(k.release, "%d.%d", &k.major, &k.minor); n != 2 {
		return nil, fmt.Errorf("release %q: %w", k.release, err)
	}
	b, err := os.ReadFile("/sys/kernel/security/lsm")
	if err != nil {
		return nil, err
	}
	k.modules = string(b)
	if strings.Contains(k.modules, "landlock") {
		for i, since := range landlockSince {
			if k.atLeast(since[0], since[1]) {
				k.landlock = i + 1
			}
		}
	}
	return k, nil
}

func (k *runningKernel) atLeast(major, minor int) bool {
	return k.major > major || k.major == major && k.minor >= minor
}
