package spec

import (
	"slices"

	"github.com/mcp-jail/mcp-jail/confine/internal/landlock"
	"github.com/mcp-jail/mcp-jail/policy"
)

// Spec is a compiled plan: steps to carry out, without decisions. The launcher carries it out
// with namespaces, the supervisor process without. A supervisor also mediates calls and samples
// limits by it. The encoding is flat and uses no reflection, because each supervisor process
// decodes a Spec when it starts.
type Spec struct {
	HostNS    bool // the jail has no namespaces, so no mounts and no private directories
	HostPID   int  // of the launcher, for the self-test
	Mounts    []Mount
	Links     []policy.Link
	Files     []MadeFile
	Devices   []string
	FreshProc bool
	HostNames bool // HostNS: the server uses the host's network without limits
	Network   Network

	Landlock landlock.Ruleset
	Seccomp  []byte // struct sock_filter records
	// ListenerFilter is a second filter, for the server alone. It passes calls to the supervisor by
	// user notification (seccomp_unotify(2)). Empty: no call is mediated.
	ListenerFilter []byte
	// Profile is the part of the profile by which the supervisor decides: Entries (with Path,
	// Kind, Rights and Origin, and with the private directories), Unprotected, GitDirs,
	// HiddenLater, Folded and Programs. CommandArgs, Commands and OwnPrograms are set if each start of a program is
	// traced. Its other fields are empty.
	Profile     policy.Profile
	WorkerRules landlock.Ruleset // of the supervisor's workers, if it differs from Landlock

	// Keep tells the supervisor to keep the state before each change of the server, for package
	// undo. The supervisor then gets two descriptors with the spec.
	Keep Keep

	Limits       policy.Limits
	SampleMemory bool     // no cgroup holds Limits.MemoryMB, so the supervisor samples memory
	PidMax       bool     // limit processes by the PID namespace's pid_max (for root)
	Inotify      Inotify  // zero: not limited
	Shared       int      // the host's shared memory before the server started; 0: unknown
	MustFail     []string // directories of the host that the self-test tries to list

	Program string
	Argv    []string
	Env     []string
	Dir     string
	TempDir string // HostNS: the directory for TMPDIR; the supervisor makes it and removes it at the end
	Home    string // HostNS: a directory in TempDir for HOME; "": HOME stays
}

// Keep says whether the supervisor keeps the state before the server's changes, and how much of it.
type Keep struct {
	On              bool
	PerCall         bool // the state is kept anew for each call
	FileMB, TotalMB int
	JournalKB       int // 0: as the total allows
}

// HostRoot reports whether the jail's root is the host's, because "/" is granted.
func (o *Spec) HostRoot() bool {
	if o.HostNS {
		return slices.ContainsFunc(o.Landlock.Rules, func(r landlock.Rule) bool { return r.Path == "/" })
	}
	return len(o.Mounts) > 0 && o.Mounts[0].Path == "/"
}

// Inotify holds the limits of inotify(7), "/proc interfaces".
type Inotify struct{ Instances, Watches int }

// MadeFile is a file that the jail gets instead of the host's.
type MadeFile struct {
	Path, Content string
	Over          bool // it lies in a granted directory, so it is mounted over the host's file
}
