package hostfs

import (
	"strconv"
	"strings"

	"github.com/mcp-jail/mcp-jail/policy"
)

func pseudoMounts() (places []string) {
	const file = "/proc/self/mountinfo"
	buf := buffers.Get().(*[]byte)
	defer buffers.Put(buf)
	b := *buf
	n, err := readStart(file, b)
	for ; err == nil && n == len(b); n, err = readStart(file, b) {
		b = make([]byte, 2*len(b))
	}
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(b[:n])) { // proc(5)
		before, after, _ := strings.Cut(line, " - ")
		kind, _, _ := strings.Cut(after, " ")
		if !isPseudoFS(kind) {
			continue
		}
		if f := strings.Fields(before); len(f) > 4 {
			if p := unescapeMount(f[4]); !policy.Within(p, "/proc") && !policy.Within(p, "/sys") && !policy.Within(p, "/dev") {
				places = append(places, p)
			}
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
