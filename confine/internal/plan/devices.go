package plan

import (
	"strings"

	"github.com/mcp-jail/mcp-jail/confine/internal/seccomp"
	"github.com/mcp-jail/mcp-jail/policy"
)

// deviceCommands are the type bytes of the commands of devices, by the beginning of the path
// (Documentation/userspace-api/ioctl/ioctl-number.rst). The longest beginning counts. No byte is
// one of a filesystem.
var deviceCommands = []struct{ path, types string }{
	{"/dev/null", ""}, {"/dev/zero", ""}, {"/dev/full", ""}, {"/dev/random", ""}, {"/dev/urandom", ""},
	{"/dev/ptmx", ""}, {"/dev/pts", ""}, {"/dev/shm", ""}, {"/dev/mqueue", ""}, {"/dev/fd", ""}, {"/dev/std", ""}, {"/dev/log", ""},
	{"/dev/tty", "T"}, {"/dev/serial", "T"}, {"/dev/rfcomm", "T"}, // serial lines; tiocSTI and its like stay refused
	{"/dev/dri", "db>"}, {"/dev/accel", "dH"}, {"/dev/kfd", "K"}, {"/dev/nvidia", "\x00Fm"}, {"/dev/dxg", "G"}, {"/dev/fb", "F"},
	{"/dev/dma_heap", "Hb"}, {"/dev/udmabuf", "ub"}, {"/dev/apex", "\xdc"},
	{"/dev/snd", "ACHSTUW"}, {"/dev/dsp", "MPQ"}, {"/dev/mixer", "M"}, {"/dev/midi", "CMQ"},
	{"/dev/video", "V|"}, {"/dev/v4l", "V|"}, {"/dev/media", "|"}, {"/dev/dvb", "o"}, {"/dev/lirc", "i"}, {"/dev/cec", "a"},
	{"/dev/input", "Ej"}, {"/dev/uinput", "U"}, {"/dev/hidraw", "H"}, {"/dev/usb", "H\x06"}, {"/dev/bus/usb", "U"},
	{"/dev/kvm", "\xae"}, {"/dev/vhost", "\xaf"}, {"/dev/vsock", "\x07"}, {"/dev/vfio", ";"}, {"/dev/iommu", ";"}, {"/dev/net", "T"},
	{"/dev/i2c", "\x07"}, {"/dev/spidev", "k"}, {"/dev/gpio", "\xb4"}, {"/dev/rtc", "p"}, {"/dev/pps", "p"}, {"/dev/ptp", "="},
	{"/dev/watchdog", "W"}, {"/dev/tee", "\xa4"}, {"/dev/sgx", "\xa4"}, {"/dev/ipmi", "i"}, {"/dev/fuse", "\xe5"},
	{"/dev/sd", disk}, {"/dev/vd", disk}, {"/dev/xvd", disk}, {"/dev/nvme", disk}, {"/dev/mmcblk", disk}, {"/dev/loop", disk},
	{"/dev/dm-", disk}, {"/dev/mapper", disk}, {"/dev/md", disk}, {"/dev/nbd", disk}, {"/dev/disk", disk}, {"/dev/sr", disk}, {"/dev/sg", disk},
}

// disk are the bytes of disks: blocks, geometry, SCSI, and the drivers' own.
const disk = "\x12\x03\x22LNS\x09\xab\xb3\xfd"

// otherTypes reports whether commands of this type are those of terminals, sockets or filesystems,
// of seccomp listeners or of /proc. A device that deviceCommands does not know has all others.
func otherTypes(t byte) bool {
	return strings.IndexByte("T\x89\x8b"+"fvXrno\x94\xf5\xbc\x97\xcd\xcf"+"!\xb7\xff", t) >= 0
}

// deviceTypes returns the types of the commands that the granted devices take. On a device that is
// not granted Landlock refuses every command (ABI 5), so the types matter on other descriptors.
func deviceTypes(entries []policy.Entry) (d seccomp.DeviceTypes) {
	for _, e := range entries {
		below := policy.Within("/dev", e.Path)
		if e.Rights&(policy.Read|policy.Update) == 0 || !below && !policy.Within(e.Path, "/dev") {
			continue
		}
		longest, known := -1, false
		types := ""
		for _, c := range deviceCommands {
			switch {
			case policy.Within(c.path, e.Path):
				d.Add(c.types)
				known = known || e.Path == c.path
			case strings.HasPrefix(e.Path, c.path) && len(c.path) > longest:
				longest, types, known = len(c.path), c.types, true
			}
		}
		d.Add(types)
		if known {
			continue
		}
		for t := range 256 {
			if !otherTypes(byte(t)) {
				d.Add(string([]byte{byte(t)}))
			}
		}
	}
	return d
}
