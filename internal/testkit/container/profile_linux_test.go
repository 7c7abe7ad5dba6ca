package container

import (
	"encoding/binary"
	"runtime"
	"testing"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// TestProfiles runs the filters on calls whose answers the profiles' documents name.
func TestProfiles(t *testing.T) {
	const allow, eperm, enosys, einval = unix.SECCOMP_RET_ALLOW, unix.SECCOMP_RET_ERRNO | 1, unix.SECCOMP_RET_ERRNO | 38, unix.SECCOMP_RET_ERRNO | 22
	admin, tracer := append([]string{"CAP_SYS_ADMIN"}, DefaultCaps...), append([]string{"CAP_SYS_PTRACE"}, DefaultCaps...)
	moby, podman, withAdmin, withTracer := Moby(t, DefaultCaps), Containers(t, DefaultCaps), Moby(t, admin), Moby(t, tracer)
	const unknown = 9999
	for _, c := range []struct {
		call         uint32
		args         []uint64
		moby, podman uint32 // with the default capabilities
		admin        uint32 // moby's with CAP_SYS_ADMIN
		tracer       uint32 // moby's with CAP_SYS_PTRACE
	}{
		{unix.SYS_READ, nil, allow, allow, allow, allow},
		{unix.SYS_CLONE, []uint64{unix.CLONE_VM | unix.CLONE_THREAD}, allow, allow, allow, allow},
		{unix.SYS_CLONE, []uint64{unix.CLONE_NEWUSER}, eperm, allow, allow, eperm},
		{unix.SYS_CLONE, []uint64{unix.CLONE_NEWNET | unix.CLONE_VM}, eperm, allow, allow, eperm},
		{unix.SYS_CLONE3, nil, enosys, allow, allow, enosys},
		{unix.SYS_UNSHARE, []uint64{unix.CLONE_FS}, eperm, allow, allow, eperm},
		{unix.SYS_MOUNT_SETATTR, nil, eperm, allow, allow, eperm},
		{unix.SYS_SETHOSTNAME, nil, eperm, eperm, allow, eperm},
		{unix.SYS_PIDFD_GETFD, nil, eperm, allow, eperm, allow},
		{unix.SYS_PTRACE, nil, allow, allow, allow, allow},
		{unix.SYS_SECCOMP, nil, allow, allow, allow, allow},
		{unix.SYS_LANDLOCK_RESTRICT_SELF, nil, allow, allow, allow, allow},
		{unix.SYS_PERSONALITY, []uint64{8}, allow, allow, allow, allow},
		{unix.SYS_PERSONALITY, []uint64{9}, eperm, enosys, eperm, eperm},
		{unix.SYS_SOCKET, []uint64{unix.AF_NETLINK, 0, unix.NETLINK_AUDIT}, allow, allow, allow, allow}, // with CAP_AUDIT_WRITE
		{unix.SYS_REBOOT, nil, eperm, allow, eperm, eperm},
		{unknown, nil, enosys, enosys, enosys, enosys}, // newer than the profile
		{unix.SYS_NFSSERVCTL, nil, eperm, eperm, eperm, eperm},
	} {
		for name, f := range map[string]struct {
			filter []bpf.RawInstruction
			want   uint32
		}{"moby": {moby, c.moby}, "podman": {podman, c.podman}, "admin": {withAdmin, c.admin}, "tracer": {withTracer, c.tracer}} {
			if got := answer(t, f.filter, c.call, c.args); got != f.want {
				t.Errorf("%s: call %d with %#x: %#x, want %#x", name, c.call, c.args, got, f.want)
			}
		}
	}
	if got := answer(t, Containers(t, nil), unix.SYS_SOCKET, []uint64{unix.AF_NETLINK, 0, unix.NETLINK_AUDIT}); got != einval {
		t.Errorf("without CAP_AUDIT_WRITE: %#x", got)
	}
	if got := answer(t, Containers(t, nil), unix.SYS_SOCKET, []uint64{unix.AF_INET, 0, 0}); got != allow {
		t.Errorf("without CAP_AUDIT_WRITE, another socket: %#x", got)
	}
	kill := Refusing(t, "SCMP_ACT_KILL", 0, "unshare")
	if a, b := answer(t, kill, unix.SYS_UNSHARE, nil), answer(t, kill, unix.SYS_READ, nil); a != unix.SECCOMP_RET_KILL_PROCESS || b != allow {
		t.Errorf("a filter that kills: %#x, %#x", a, b)
	}
}

// answer runs a filter on a call of this machine. The machine of package bpf reads big-endian words.
func answer(t *testing.T, filter []bpf.RawInstruction, call uint32, args []uint64) uint32 {
	t.Helper()
	instructions, _ := bpf.Disassemble(filter)
	vm, err := bpf.NewVM(instructions)
	if err != nil {
		t.Fatal(err)
	}
	data := make([]byte, 64)
	binary.BigEndian.PutUint32(data, call)
	binary.BigEndian.PutUint32(data[4:], map[string]uint32{"amd64": unix.AUDIT_ARCH_X86_64, "arm64": unix.AUDIT_ARCH_AARCH64}[runtime.GOARCH])
	for i, a := range args {
		binary.BigEndian.PutUint32(data[16+8*i:], uint32(a))
		binary.BigEndian.PutUint32(data[20+8*i:], uint32(a>>32))
	}
	verdict, err := vm.Run(data)
	if err != nil {
		t.Fatal(err)
	}
	return uint32(verdict)
}
