package kernel

import (
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

func TestUsernsFeatureNamesTheCause(t *testing.T) {
	for _, c := range []struct {
		facts usernsFacts
		want  string
		fix   string // "" is any
	}{
		{facts: usernsFacts{Errno: "ENOSPC", Limit: "0"}, want: "user.max_user_namespaces is 0"},
		{facts: usernsFacts{Errno: "EINVAL"}, want: "built without user namespaces"},
		{facts: usernsFacts{Errno: "ENOSYS", Built: true, SeccompMode: "2"}, want: "a seccomp filter"},
		{facts: usernsFacts{Errno: "EPERM", UnprivilegedClone: "0"}, want: "unprivileged_userns_clone is 0"},
		{facts: usernsFacts{Errno: "EPERM", UnprivilegedClone: "0", Root: true, Nested: true}, want: "unprivileged_userns_clone is 0"},
		{facts: usernsFacts{Errno: "EACCES", AppArmorRestricted: "1"}, want: "apparmor_restrict_unprivileged_userns is 1", fix: "doctor --apparmor"},
		{facts: usernsFacts{Errno: "EPERM", Stage: stageUse, AppArmorRestricted: "1"}, want: "apparmor_restrict_unprivileged_userns is 1", fix: "doctor --apparmor"},
		{facts: usernsFacts{Errno: "EPERM", AppArmorRestricted: "1", Root: true, SeccompMode: "2"}, want: "a seccomp filter"},
		{facts: usernsFacts{Errno: "EPERM", Chrooted: true, SeccompMode: "2"}, want: "chroot"},
		{facts: usernsFacts{Errno: "EPERM", SeccompMode: "2", AppArmorProfile: "docker-default"}, want: "a seccomp filter"},
		{facts: usernsFacts{Errno: "EPERM", AppArmorProfile: "docker-default"}, want: "the AppArmor profile docker-default", fix: "userns,"},
		{facts: usernsFacts{Errno: "EPERM"}, want: "refuses it with EPERM"},

		{facts: usernsFacts{Errno: "EACCES", SeccompMode: "2", AppArmorProfile: "docker-default", Stage: stageUse}, want: "the AppArmor profile docker-default around this process refuses it, or the mounts"},
		{facts: usernsFacts{Errno: "EACCES", AppArmorRestricted: "1", Root: true, AppArmorProfile: "docker-default", Stage: stageUse}, want: "the AppArmor profile docker-default"},
		{facts: usernsFacts{Errno: "EPERM", Root: true, Stage: stageMap, SeccompMode: "2"}, want: "root without CAP_SETFCAP"},
		{facts: usernsFacts{Errno: "EPERM", Root: true, SeccompMode: "2"}, want: "a seccomp filter"},
		{facts: usernsFacts{Errno: "EPERM", Stage: stageMap, SeccompMode: "2"}, want: "a seccomp filter"},
		{facts: usernsFacts{Errno: "EPERM", Stage: stageUse, SeccompMode: "2", AppArmorProfile: "docker-default"}, want: "a seccomp filter"},

		// Inside of other sandboxes.
		{facts: usernsFacts{Errno: "ENOSPC", Limit: "2147483647", Nested: true, Built: true}, want: "a sandbox around this process allows no user namespace", fix: "outside that sandbox"},
		{facts: usernsFacts{Errno: "EPERM", Built: true, Nested: true, Unmapped: true}, want: "does not know its user or its group"},
		{facts: usernsFacts{Errno: "EPERM", Stage: stageMap, Root: true}, want: "CAP_SETFCAP"},
		{facts: usernsFacts{Errno: "EPERM", Stage: stageMap, Root: true, SetFCap: true, SeccompMode: "2"}, want: "a seccomp filter"},
		{facts: usernsFacts{Errno: "EROFS", Stage: stageMap, SeccompMode: "2"}, want: "/proc is read-only", fix: "--proc /proc"},
		{facts: usernsFacts{Errno: "EPERM", Stage: stageUse, AppArmorRestricted: "1", AppArmorProfile: "unpriv_bwrap", Nested: true}, want: "the AppArmor profile unpriv_bwrap, of the sandbox", fix: "outside that sandbox"},
		{facts: usernsFacts{Errno: "EPERM", Stage: stageUse, SeccompMode: "2", AppArmorProfile: "bwrap//&unpriv_bwrap", Nested: true, Root: true}, want: "bwrap//&unpriv_bwrap", fix: "outside that sandbox"},
		{facts: usernsFacts{Errno: "EPERM", Stage: stageUse, SeccompMode: "2"}, want: "a seccomp filter around this process refuses a mount in one (EPERM)", fix: "mounts in them"},
		{facts: usernsFacts{Errno: "EPERM", Stage: stageUse}, want: "a mount in it is refused with EPERM", fix: "outside that sandbox"},
		{facts: usernsFacts{Errno: "EPERM", Stage: stageUse, SeccompMode: "2", Step: "loopback", Outside: "go out"}, want: `refuses the step "loopback" of a jail in one (EPERM)`, fix: "go out"},
		{facts: usernsFacts{Errno: "EPERM", SeccompMode: "2", Outside: "go out"}, want: "a seccomp filter", fix: "go out"},
		{facts: usernsFacts{Errno: "ENOSPC", Limit: "2147483647", Nested: true, Outside: "go out"}, want: "a sandbox around", fix: "go out"},
		{facts: usernsFacts{Errno: "EPERM", Stage: stageUse, Step: "own filesystems"}, want: `the step "own filesystems" of a jail in it is refused with EPERM`, fix: "outside that sandbox"},
		{facts: usernsFacts{Errno: "EPERM", Stage: stageUse, Chrooted: true}, want: "a mount in it is refused"},
	} {
		got := usernsFeature(c.facts)
		if got.Answer != No || !strings.Contains(got.Detail, c.want) || got.Fix == "" || !strings.Contains(got.Fix, c.fix) {
			t.Errorf("%+v: %+v, want %q, %q", c.facts, got, c.want, c.fix)
		}
	}
}

// TestUsernsShortageIsNotCertain checks that an exhausted limit is not taken for a prohibition.
func TestUsernsShortageIsNotCertain(t *testing.T) {
	for _, errno := range []string{"ENOSPC", "EUSERS"} {
		for _, f := range []usernsFacts{{Limit: "100"}, {Limit: "2147483647"}, {Limit: "1", Nested: true}, {Nested: true}} {
			f.Errno, f.Built = errno, true
			if got := usernsFeature(f); got.Answer != Unknown || got.Detail == "" || got.Fix == "" {
				t.Errorf("%+v: %+v", f, got)
			}
		}
	}
}

func TestSandbox(t *testing.T) {
	for _, c := range testkit.Table[struct {
		file, variable, init string
		want, outside        string
	}](t, "sandbox.txt") {
		getenv := func(name string) string {
			key, value, _ := strings.Cut(c.variable, "=")
			if name != key {
				return ""
			}
			return value
		}
		got := sandboxAround(func(file string) bool { return file == c.file }, getenv, c.init)
		if !strings.Contains(got.name, c.want) || (got.name == "") != (c.want == "") || !strings.Contains(got.outside, c.outside) || (got.outside == "") != (c.outside == "") {
			t.Errorf("%+v: %+v", c, got)
		}
	}
}
