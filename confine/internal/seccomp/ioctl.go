package seccomp

// This file lists the commands of ioctl(2) that pass. A read-only descriptor of any granted file
// reaches the state of its whole filesystem by ioctl: keys of fscrypt, subvolumes and flags of
// btrfs. Neither Landlock nor a mount decides about these, so every command that is not listed
// gets ENOTTY, as from a kernel that lacks it, and programs fall back. A command for which the
// kernel asks for a privilege gets EPERM, because the caller then looks for the right reason.

// fileCommands act on an open file of any kind, or read and clone content that the server
// can read and write anyway.
var fileCommands = []uint32{
	0x2,        // FIGETBSZ
	0x541b,     // FIONREAD, TIOCINQ, SIOCINQ
	0x5421,     // FIONBIO
	0x5450,     // FIONCLEX
	0x5451,     // FIOCLEX
	0x5452,     // FIOASYNC
	0x5460,     // FIOQSIZE
	0x40049409, // FICLONE
	0x4020940d, // FICLONERANGE
	0xc0189436, // FIDEDUPERANGE
	0xc020660b, // FS_IOC_FIEMAP
	fsGetFlags, // FS_IOC_GETFLAGS
	0x80046601, // FS_IOC32_GETFLAGS
	0x801c581f, // FS_IOC_FSGETXATTR
	0x80045200, // RNDGETENTCNT, of /dev/random
}

// terminalCommands are those of asm-generic/ioctls.h that act on the jail's own terminals.
// Serial lines have more: see DeviceTypes.
var terminalCommands = []uint32{
	0x5401, 0x5402, 0x5403, 0x5404, // TCGETS, TCSETS, TCSETSW, TCSETSF
	0x5405, 0x5406, 0x5407, 0x5408, // TCGETA, TCSETA, TCSETAW, TCSETAF
	0x802c542a, 0x402c542b, 0x402c542c, 0x402c542d, // TCGETS2, TCSETS2, TCSETSW2, TCSETSF2
	0x5409, 0x540a, 0x540b, 0x5425, // TCSBRK, TCXONC, TCFLSH, TCSBRKP
	0x5427, 0x5428, // TIOCSBRK, TIOCCBRK
	0x540c, 0x540d, 0x80045440, // TIOCEXCL, TIOCNXCL, TIOCGEXCL
	0x540e, 0x5422, // TIOCSCTTY, TIOCNOTTY
	0x540f, 0x5410, 0x5429, // TIOCGPGRP, TIOCSPGRP, TIOCGSID
	0x5411,         // TIOCOUTQ, SIOCOUTQ
	0x5413, 0x5414, // TIOCGWINSZ, TIOCSWINSZ
	0x5415, 0x5416, 0x5417, 0x5418, // TIOCMGET, TIOCMBIS, TIOCMBIC, TIOCMSET
	0x5424,                         // TIOCGETD
	0x5420, 0x80045438, 0x40045436, // TIOCPKT, TIOCGPKT, TIOCSIG
	0x80045430, 0x5441, // TIOCGPTN, TIOCGPTPEER
	0x40045431, 0x80045439, // TIOCSPTLCK, TIOCGPTLCK
	0x80045432, // TIOCGDEV
}

// socketCommands read the state of a socket or of the interfaces, or choose the receiver of a
// socket's signals as fcntl does.
var socketCommands = []uint32{
	0x8901, 0x8902, 0x8903, 0x8904, // FIOSETOWN, SIOCSPGRP, FIOGETOWN, SIOCGPGRP
	0x8905,                                 // SIOCATMARK
	0x8906, 0x8907, 0x80108906, 0x80108907, // SIOCGSTAMP, SIOCGSTAMPNS, and both _NEW
	0x894b,                                         // SIOCOUTQNSD
	0x8910, 0x8912, 0x8913, 0x8933, 0x8938, 0x8942, // SIOCGIFNAME, CONF, FLAGS, INDEX, COUNT, TXQLEN
	0x8915, 0x8917, 0x8919, 0x891b, // SIOCGIFADDR, DSTADDR, BRDADDR, NETMASK
	0x891d, 0x8921, 0x8927, 0x8970, // SIOCGIFMETRIC, MTU, HWADDR, MAP
}

// privilegedCommands get EPERM: they type into the terminal from which the jail was started,
// change what its bytes mean, or take it away.
var privilegedCommands = []uint32{tiocSTI, tiocLINUX, tiocCONS, tiocSETD, tiocVHANGUP}

// flagCommands set flags of a file, for which a read-only descriptor is enough. They pass where
// mounts decide which files may be changed.
var flagCommands = []uint32{FsSetFlags, fsSetFlags32}

// listenerCommands are those of a seccomp listener. The server has none: it could not make one.
var listenerCommands = []uint32{NotifRecv, NotifSend, notifIDValid, notifAddFD, notifSetFlags}

// DeviceTypes is the set of the type bytes (bits 8 to 15 of a command) of granted devices.
type DeviceTypes [4]uint64

// Add adds the bytes of types.
func (d *DeviceTypes) Add(types string) {
	for _, t := range []byte(types) {
		d[t/64] |= 1 << (t % 64)
	}
}

// Has reports whether a type byte is in the set.
func (d *DeviceTypes) Has(t byte) bool { return d[t/64]&(1<<(t%64)) != 0 }

// commandRule decides ioctl by its command. The kernel reads 32 bits of it.
func commandRule(opts Options) *Node {
	eperm, enotty := ErrnoNode(LinuxEPERM), ErrnoNode(linuxENOTTY)
	nodes := make(map[uint32]*Node, 100)
	set := func(node *Node, commands []uint32) {
		for _, c := range commands {
			nodes[c] = node
		}
	}
	set(eperm, privilegedCommands)
	set(eperm, flagCommands)
	if opts.Attributes {
		set(AllowNode, flagCommands)
	}
	// A driver without ethtool answers so, and psutil expects no other error.
	nodes[siocEthtool] = ErrnoNode(linuxEOPNOTSUPP)
	device := search(Low(1), overlay([]segment{{0, AllowNode}}, nodes))

	set(AllowNode, fileCommands)
	set(AllowNode, terminalCommands)
	set(AllowNode, socketCommands)
	if opts.Supervised {
		set(AllowNode, listenerCommands)
	}
	// The other commands of sockets set up interfaces, for which the kernel asks for a privilege.
	listed := search(Low(1), overlay([]segment{{0, enotty}, {0x8900, eperm}, {0x8a00, enotty}}, nodes))
	if opts.Devices == (DeviceTypes{}) {
		return listed
	}
	var types []segment
	for t := range uint32(256) {
		node := listed
		if opts.Devices.Has(byte(t)) {
			node = device
		}
		if len(types) == 0 || node != types[len(types)-1].node {
			types = append(types, segment{t << 8, node})
		}
	}
	return search(Low(1).and(0xff00), types)
}
