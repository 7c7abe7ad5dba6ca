package jail

import (
	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

// bareProbes are what must fail here, besides what must fail in every jail.
func (b *Builder) bareProbes() []probe {
	probes := []probe{
		{What: "make shared memory", Try: func() error {
			id, err := unix.SysvShmGet(unix.IPC_PRIVATE, 1, unix.IPC_CREAT|0o600)
			if err == nil {
				unix.SysvShmCtl(id, unix.IPC_RMID, nil)
			}
			return err
		}},
	}
	if b.Order.Landlock.FS&ll.AccessFSResolveUnix == 0 {
		probes = append(probes, probe{What: "make a UNIX socket", Try: func() error { return socketProbe(b.Server, unix.AF_UNIX, unix.SOCK_STREAM) }})
	}
	switch {
	case b.Order.Gate.Asked && b.Order.Landlock.Net&ll.AccessNetConnectTCP != 0:
		probes = append(probes, probe{What: "connect a TCP socket by itself", Try: connectProbe})
	case !b.Order.Gate.Asked && !b.Order.HostNames:
		probes = append(probes,
			probe{What: "make a TCP socket", Try: func() error { return socketProbe(b.Server, unix.AF_INET, unix.SOCK_STREAM) }},
			probe{What: "make a UDP socket", Try: func() error { return socketProbe(b.Server, unix.AF_INET6, unix.SOCK_DGRAM) }})
	}
	return probes
}
