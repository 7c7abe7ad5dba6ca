package sandboxlog

import (
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/policy"
)

// resolver is the socket of the system's resolver, which is closed to each sandbox: programs name
// hosts to the session's proxy instead.
const resolver = "/private/var/run/mDNSResponder"

// words are the operations of Seatbelt on paths that have a word of ours.
var words = map[string]string{
	"file-read-data": "read", "file-read-metadata": "read", "file-read-xattr": "read", "file-test-existence": "read",
	"file-write-create": "create", "file-clone": "create", "file-write-unlink": "remove", "file-write-data": "write",
	"file-write-mode": "write", "file-write-owner": "write", "file-write-flags": "write", "file-write-times": "write",
	"file-write-xattr": "write", "file-write-acl": "write", "file-write-finderinfo": "write",
	"file-map-executable": "exec",
}

// noise lists the names that programs and the system's libraries ask for at each start, and do
// without.
var noise = []string{
	resolver, "com.apple.diagnosticd", "com.apple.analyticsd", "com.apple.SystemConfiguration.configd",
	"/Library/Preferences/com.apple.networkd.plist", "kern.iossupportversion",
}

// newDenial returns the denial of an operation of Seatbelt on an argument. ok is false for an
// operation without a name.
func newDenial(operation, argument string) (d policy.Denial, ok bool) {
	if operation == "" {
		return d, false
	}
	if len(argument) > maxTarget {
		argument = argument[:maxTarget]
	}
	d = policy.Denial{Operation: operation, Target: argument}
	path := strings.HasPrefix(argument, "/")
	switch family, _, _ := strings.Cut(operation, "-"); {
	case words[operation] != "" && path:
		d.Axis, d.Operation = policy.AxisFs, words[operation]
	case strings.HasPrefix(operation, "process-exec"):
		d.Axis, d.Operation = policy.AxisProcess, "exec"
	case family == "network":
		d = networkDenial(d)
	case operation == "system-socket": // also of libraries that ask which networks there are
		d = policy.Denial{Axis: policy.AxisNet, Operation: "socket", Target: argument, Reason: policy.DeniedDirect, Background: true}
		return d, true
	case slices.Contains([]string{"mach", "ipc", "appleevent", "iokit", "lsopen", "distributed", "user"}, family):
		d.Axis = policy.AxisIPC
	default: // signal, process-fork, sysctl-read, file-link, …: no rule of a policy grants them
		d.Axis = policy.AxisProcess
	}
	d.Background = slices.Contains(noise, argument) || d.Axis == policy.AxisFs && d.Operation == "write" && strings.HasPrefix(argument, "/dev/")
	return d, true
}

// networkDenial returns the denial of a network operation. A program that does not use the session's
// proxy asks the resolver or connects to an address.
func networkDenial(d policy.Denial) policy.Denial {
	path := strings.HasPrefix(d.Target, "/")
	switch outbound := d.Operation == "network-outbound"; {
	case outbound && d.Target == resolver:
		return policy.Denial{Axis: policy.AxisNet, Operation: "resolve", Reason: policy.DeniedDirect}
	case outbound && path:
		return policy.Denial{Axis: policy.AxisIPC, Operation: "connect", Target: d.Target}
	case path: // a socket that a server makes is a file
		return policy.Denial{Axis: policy.AxisFs, Operation: "create", Target: d.Target}
	case outbound:
		return policy.Denial{Axis: policy.AxisNet, Operation: "connect", Target: strings.TrimPrefix(d.Target, "remote:"), Reason: policy.DeniedDirect}
	}
	return policy.Denial{Axis: policy.AxisNet, Operation: "listen", Target: strings.TrimPrefix(d.Target, "local:")}
}
