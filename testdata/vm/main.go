// Command vm boots Linux kernels of other ages in virtual machines and runs
// mcp-jail and its kernel tests on them.
//
//	go run ./testdata/vm [flags] [KERNEL...]
//
// A KERNEL is a suite of the Debian mirror that this machine's apt already uses
// (bookworm, trixie-backports, ...), whose current kernel is downloaded with apt, or
// a list of .deb files with commas between them. Without any, it is one kernel of each
// age that Debian still serves. The oldest has no Landlock.
//
// qemu emulates the machine's processors; -kvm uses those of this host. The disk holds the
// binaries that this command builds, a few programs of this host, and guest, which is the
// init and the list of checks. The machine has no network card. With -arch its processors
// are of another architecture, and its programs come from Debian's packages.
//
// # To add a check
//
// Write a row in the table of guest/checks.go: a name, the boots in which it makes
// sense, and a function that returns an error. The function runs as root on a machine
// whose disk is thrown away afterwards. The machine has /proc, /sys, a cgroup v2 hierarchy
// on /sys/fs/cgroup with all controllers of the kernel, and an ordinary user, 1000. If the
// check needs other programs, add them to the lists in image.go. The tests of confine/integration
// and confine/attacks need no row: all of them run, as root and as that user.
//
// To look around on an old kernel, give a command instead:
//
//	go run ./testdata/vm -exec 'mcp-jail doctor; uname -a' bookworm
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// hostArch is the architecture of this host.
const hostArch = runtime.GOARCH

// suites are the Debian suites whose kernels differ in their Landlock ABI.
var suites = []string{"bullseye", "bookworm", "trixie", "trixie-backports"}

func main() {
	var o options
	flag.StringVar(&o.arch, "arch", hostArch, "the `architecture` of the machine, amd64 or arm64")
	flag.StringVar(&o.command, "exec", "", "run this shell `command` in the machine instead of the checks")
	flag.StringVar(&o.only, "run", "", "run only the checks and boots (boot/check) that match this `regexp`")
	flag.StringVar(&o.append, "append", "", "more words for the kernel's `command line`")
	flag.DurationVar(&o.timeout, "timeout", 30*time.Minute, "end a machine after `this long`")
	flag.IntVar(&o.cpus, "cpus", 2, "processors of a machine")
	flag.BoolVar(&o.kvm, "kvm", false, "use /dev/kvm, which is several times faster where it works")
	flag.BoolVar(&o.virtio, "virtio", false, "attach the disk in another way: Ubuntu's kernels know virtio without a module, Debian's know NVMe")
	flag.Func("file", "put this `path` of the host on the disk too, at the same place", func(s string) error {
		o.files = append(o.files, s)
		return nil
	})
	flag.Parse()
	o.kernels = flag.Args()
	if len(o.kernels) == 0 {
		o.kernels = suites
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	failed, err := run(ctx, o)
	if err != nil {
		fmt.Fprintln(os.Stderr, "vm:", err)
		os.Exit(2)
	}
	if failed {
		os.Exit(1)
	}
}

type options struct {
	kernels       []string
	arch          string
	command, only string
	append        string
	files         []string
	timeout       time.Duration
	cpus          int
	kvm, virtio   bool
}

func run(ctx context.Context, o options) (failed bool, err error) {
	board, ok := boards[o.arch]
	if !ok {
		return false, fmt.Errorf("-arch %s: there are machines of amd64 and arm64 only", o.arch)
	}
	for _, program := range []string{board.qemu, "mke2fs", "debugfs", "apt-get", "dpkg-deb"} {
		if _, err := exec.LookPath(program); err != nil {
			return false, fmt.Errorf("%s is missing: apt-get install %s e2fsprogs apt dpkg", program, board.install)
		}
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return false, err
	}
	cache = filepath.Join(cache, "mcp-jail-tests", "kernels")
	work, err := os.MkdirTemp("/var/tmp", "mcp-jail-vm-")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(work)
	disk, err := makeDisk(work, cache, o)
	if err != nil {
		return false, err
	}
	var table []string
	for _, name := range o.kernels {
		k, err := findKernel(cache, name, o.arch)
		if err != nil {
			return false, err
		}
		boots := allBoots
		if o.command != "" {
			boots = boots[:1]
		}
		for _, b := range boots {
			if err := ctx.Err(); err != nil {
				return false, err
			}
			began := time.Now()
			m := machine{kernel: k, boot: b, disk: disk, board: board, options: o}
			r := m.run(ctx, work)
			failed = failed || r.failed()
			table = append(table, fmt.Sprintf("%-28s %-12s %s  (%s)", k.release, b.name, r.summary(), time.Since(began).Round(time.Second)))
		}
	}
	if o.command == "" {
		fmt.Println("\n" + strings.Join(table, "\n"))
	}
	return failed, nil
}
