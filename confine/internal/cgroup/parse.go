package cgroup

import (
	"strings"
)

// cgroupPath is the cgroup of this process in the v2 hierarchy, from
// /proc/self/cgroup; ok is false where there is none.
func Path(cgroup string) (path string, ok bool) {
	for line := range strings.Lines(cgroup) {
		if p, found := strings.CutPrefix(strings.TrimSpace(line), "0::"); found {
			return p, true
		}
	}
	return "", false
}

// isVersion1 tells, from /proc/self/cgroup, that memory or pids belong to a hierarchy of
// v1. A controller is in one hierarchy only, so that v2 has not got it then.
func isVersion1(cgroup string) bool {
	for line := range strings.Lines(cgroup) {
		_, line, _ = strings.Cut(line, ":")
		controllers, _, _ := strings.Cut(line, ":")
		for c := range strings.SplitSeq(controllers, ",") {
			if c == "memory" || c == "pids" {
				return true
			}
		}
	}
	return false
}

// cgroupMount is where the v2 hierarchy is mounted, from /proc/self/mountinfo, and
// which part of it.
func Mount(mountinfo string) (dir, top string) {
	for line := range strings.Lines(mountinfo) {
		before, after, found := strings.Cut(line, " - ")
		fields := strings.Fields(before)
		if found && len(fields) >= 5 && strings.HasPrefix(after, "cgroup2 ") {
			return fields[4], fields[3]
		}
	}
	return "", ""
}
