// Package plantest has facts of hosts, and a profile, for tests that compile plans.
package plantest

import (
	"github.com/mcp-jail/mcp-jail/confine/internal/kernel"
	"github.com/mcp-jail/mcp-jail/confine/internal/seccomp"
	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/policy"
)

// Kernel returns the facts of a host that supports jails with namespaces and mediated calls.
func Kernel() kernel.Facts {
	return kernel.Facts{
		Features: kernel.Features{
			OS: "linux", Arch: "amd64", LandlockABI: 7, Landlock: kernel.Available("ABI 7"), Seccomp: kernel.Available(""), SeccompNotify: kernel.Available(""), PtraceScope: kernel.Available(""),
			UserNamespaces: kernel.Available(""), MountAPI: kernel.Available(""), FreshProc: kernel.Available(""), PidMax: kernel.Available(""),
		},
		Traces:    kernel.Available(""),
		Supported: true, Machine: seccomp.ArchAMD64, UID: 1000, PID: 4711, Devices: []string{"/dev/null", "/dev/urandom"}, Inotify: spec.Inotify{Instances: 128, Watches: 65536},
	}
}

func Profile() *policy.Profile {
	entry := func(p string, k policy.Kind, r policy.Rights) policy.Entry {
		return policy.Entry{Path: p, Kind: k, Rights: r, Named: p, Rule: "path = " + p, Origin: policy.OriginRule}
	}
	return &policy.Profile{
		Server: "notes", Program: "/usr/bin/node", Argv: []string{"node", "server.js"}, Dir: "/home/u/work",
		Entries: []policy.Entry{
			entry("/home/u/work", policy.KindDir, policy.Read|policy.Write),
			entry("/home/u/work/.env", policy.KindFile, 0),
			entry("/home/u/work/sub/.git/hooks", policy.KindDir, policy.Read),
			entry("/usr", policy.KindDir, policy.Read|policy.Execute),
		},
		Links: []policy.Link{{Path: "/bin", Target: "usr/bin"}},
		Env:   []policy.Variable{{Name: "HOME", Value: "/home/u"}, {Name: "TOKEN", Value: "geheim", Secret: true}}, Withheld: []string{"AWS_KEY", "SSH_AUTH_SOCK"},
		Limits: policy.DefaultLimits,
	}
}

// Mac returns the facts of a Mac on which the self-test has passed.
func Mac() kernel.Facts {
	return kernel.Facts{
		Features: kernel.Features{OS: "darwin", Arch: "arm64"}, Supported: true, UID: 501, PID: 4711,
		TempDir: "/private/tmp/mj-501-0a1b2c3d", Seatbelt: kernel.Available("/usr/bin/sandbox-exec"), Proof: kernel.Proof{Made: true},
	}
}

// Windows returns the facts of a Windows.
func Windows() kernel.Facts {
	return kernel.Facts{
		Features: kernel.Features{OS: "windows", Arch: "amd64"}, Supported: true, UID: -1, PID: 4711,
		TempDir: `C:\t\mcp-jail-0a1b2c3d`,
	}
}
