package winproof

import (
	"strings"
	"unsafe"

	"golang.org/x/sys/windows"
)

var getProcessMitigationPolicy = windows.NewLazySystemDLL("kernel32.dll").NewProc("GetProcessMitigationPolicy")

// A mitigation is one bit of what GetProcessMitigationPolicy answers about a process.
type mitigation struct {
	policy, bit uint32
	what        string
}

// mitigations says which mitigations of package winjail this process lacks. It also asks for one that no
// process of mcp-jail has, so that an answer without meaning is not taken for one.
func mitigations() string {
	var lacking []string
	for _, m := range []mitigation{{6, 1, "extension points"}, {10, 1, "libraries of other machines"}, {10, 2, "libraries of low integrity"}} {
		if value, err := policyOf(m.policy); err != nil || value&m.bit == 0 {
			lacking = append(lacking, m.what)
		}
	}
	if value, err := policyOf(2); err != nil || value&1 != 0 { // no code made while it runs, which Go would survive
		return "Windows does not tell them"
	}
	if lacking != nil {
		return strings.Join(lacking, ", ")
	}
	return none
}

func policyOf(policy uint32) (value uint32, err error) {
	r, _, err := getProcessMitigationPolicy.Call(uintptr(windows.CurrentProcess()), uintptr(policy), uintptr(unsafe.Pointer(&value)), unsafe.Sizeof(value))
	if r == 0 {
		return 0, err
	}
	return value, nil
}
