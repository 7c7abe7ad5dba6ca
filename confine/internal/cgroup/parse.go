package cgroup

import (
	"strings"
)

// Path returns the cgroup of a process in the v2 hierarchy from the content of its
// /proc/PID/cgroup. ok is false if there is none.
func Path(cgroup string) (path string, ok bool) {
	for line := range strings.Lines(cgroup) {
		if p, found := strings.CutPrefix(strings.TrimSpace(line), "0::"); found {
			return p, true
		}
	}
	return "", false
}

// isVersion1 reports whether memory or pids belong to a v1 hierarchy, from the content of
// /proc/self/cgroup. A controller belongs to one hierarchy, so v2 does not have it then.
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

// Mount returns where the v2 hierarchy is mounted and which part of it, from the content of
// /proc/self/mountinfo.
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
