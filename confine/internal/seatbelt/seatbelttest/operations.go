package seatbelttest

import (
	"regexp"
	"sync"
)

// An operation is what a rule about it may say.
type operation struct {
	paths   paths
	bare    bool                  // a rule may have no filter
	filters []string              // that are not about paths, as Expr.String writes them
	pattern func() *regexp.Regexp // of such filters
}

type paths bool

const (
	noPaths   paths = false
	withPaths paths = true
)

var ownProcesses = []string{"(target self)", "(target same-sandbox)"}

// pattern returns a regular expression that is compiled when it is used: every start of mcp-jail has this
// package, and only a Mac has a use for it.
func pattern(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}

// operationTable has the operations that a text may name. None is about a group but those of which
// the whole group is meant. Not here, so never granted: to open or script other programs, devices,
// mounts, hard links, the keychain, the user's preferences, and what only older systems know.
var operationTable = map[string]operation{
	"file-read-data": {paths: withPaths}, "file-read-xattr": {paths: withPaths}, "file-read-metadata": {paths: withPaths},
	"file-test-existence": {paths: withPaths}, "file-map-executable": {paths: withPaths}, "process-exec*": {paths: withPaths},
	"file-write-data": {paths: withPaths}, "file-write-create": {paths: withPaths}, "file-write-unlink": {paths: withPaths},
	"file-write-mode": {paths: withPaths}, "file-write-owner": {paths: withPaths}, "file-write-flags": {paths: withPaths},
	"file-write-times": {paths: withPaths}, "file-write-xattr": {paths: withPaths}, "file-write-finderinfo": {paths: withPaths},
	"file-write-acl": {paths: withPaths}, "file-ioctl": {paths: withPaths},

	"process-fork": {bare: true}, "ipc-posix-sem": {bare: true}, "system-info": {bare: true}, "pseudo-tty": {bare: true},

	"process-info*": {filters: ownProcesses}, "signal": {filters: ownProcesses}, "mach-task-name": {filters: ownProcesses[:1]},
	"sysctl-read":  {pattern: pattern(`^\((sysctl-name "(hw\.[a-z0-9_]+|kern\.(argmax|bootargs|hostname|iossupportversion|maxfiles|maxfilesperproc|maxproc|ngroups|osproductversion|osrelease|ostype|osvariant_status|osversion|secure_kernel|usrstack64|version|willshutdown)|machdep\.ptrauth_enabled|security\.mac\.lockdown_mode_state|sysctl\.proc_cputype|vm\.loadavg)"|sysctl-name-prefix "(hw\.optional\.arm|hw\.optional\.armv8_|hw\.perflevel|machdep\.cpu\.)")\)$`)},
	"sysctl-write": {filters: []string{`(sysctl-name "kern.tcsm_enable")`, `(sysctl-name "kern.grade_cputype")`}},
	"mach-lookup":  {pattern: pattern(`^\(global-name "com\.apple\.(system\.(opendirectoryd\.libinfo|opendirectoryd\.membership|DirectoryService\.libinfo_v1|notification_center|logger)|logd|diagnosticd|bsd\.dirhelper|secinitd|cfprefsd\.agent|cfprefsd\.daemon|trustd|trustd\.agent)"\)$`)},

	"ipc-posix-shm-read*": {filters: []string{`(ipc-posix-name "apple.shm.notification_center")`}},
	"system-mac-syscall":  {filters: []string{`(mac-policy-name "vnguard")`, `(require-all (mac-policy-name "Sandbox") (mac-syscall-number 67))`}},
	"system-fsctl":        {filters: []string{"(fsctl-command FSIOC_CAS_BSDFLAGS)"}},
	"system-socket": {filters: []string{
		"(require-all (socket-domain AF_SYSTEM) (socket-protocol 2))",
		"(require-all (socket-domain AF_UNIX) (socket-type SOCK_STREAM))",
		"(require-all (socket-domain AF_INET) (socket-type SOCK_STREAM))",
		"(require-all (socket-domain AF_INET6) (socket-type SOCK_STREAM))",
	}},

	// A filter (local ip ...) of network-outbound matches every connection.
	"network-outbound": {paths: withPaths, pattern: pattern(`^\(remote ip "localhost:[1-9][0-9]{0,4}"\)$`)},
	"network-inbound":  {filters: []string{`(local ip "localhost:*")`}},
	"network-bind":     {paths: withPaths},
}
