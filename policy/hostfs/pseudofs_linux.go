package hostfs

import (
	"github.com/mcp-jail/mcp-jail/policy"
)

func pseudoMounts() (places []string) {
	list, _ := ReadFile("/proc/self/mountinfo")
	for m := range Mounts(string(list)) {
		if p := m.Point; isPseudoFS(m.Kind) && !policy.Within(p, "/proc") && !policy.Within(p, "/sys") && !policy.Within(p, "/dev") {
			places = append(places, p)
		}
	}
	return places
}

func isPseudoFS(kind string) bool {
	switch kind {
	case "proc", "sysfs", "debugfs", "tracefs", "securityfs", "configfs", "cgroup", "cgroup2", "bpf", "binfmt_misc", "mqueue",
		"devpts", "efivarfs", "pstore", "selinuxfs", "smackfs", "nsfs", "resctrl", "fusectl", "rpc_pipefs", "nfsd":
		return true
	}
	return false
}
