package main

import (
	"bufio"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// A boot is one way to start a kernel.
type boot struct {
	name    string
	cmdline string
}

// allBoots are the boots. The first is the kernel as the distribution configured it.
var allBoots = []boot{
	{"default", ""},
	{"no-landlock", "lsm=yama,apparmor"},
}

// A board is what differs between architectures.
type board struct {
	qemu, install   string // the program, and the packages that bring it
	machine         string
	tcg             string   // its processor in software
	console, report string   // names of the serial lines
	second          string   // the device of the second one, where the board has none
	clock           []string // words for the kernel
}

var boards = map[string]board{
	"amd64": {
		qemu: "qemu-system-x86_64", install: "qemu-system-x86 seabios", machine: "q35",
		tcg:     "max,-cx16", // QEMU 7 emulates cmpxchg16b wrongly; Linux does not need it
		console: "ttyS0", report: "ttyS1",
		// An emulated processor is slow, so the kernel's test of its timer may fail. If this
		// host is busy, the kernel also measures a wrong TSC at boot: a minute has passed as
		// half an hour. So the test is off and the clock is not the TSC.
		clock: []string{"no_timer_check", "clocksource=hpet", "tsc=unstable"},
	},
	"arm64": {
		qemu: "qemu-system-aarch64", install: "qemu-system-arm", machine: "virt,gic-version=3",
		tcg:     "max,pauth-impdef=on", // the standard algorithm for pointer signatures takes half of the time
		console: "ttyAMA0", report: "ttyS0", second: "pci-serial",
	},
}

type machine struct {
	kernel
	boot
	board board
	disk  string
	options
}

// result is what the guest reported over the second serial line (guest/report.go).
type result struct {
	passed, skipped int
	failures        []string
	ended           bool
	why             string
}

func (r result) failed() bool { return !r.ended || len(r.failures) > 0 }

func (r result) summary() string {
	s := fmt.Sprintf("%d passed, %d do not apply", r.passed, r.skipped)
	if len(r.failures) > 0 {
		s += ", FAILED: " + strings.Join(r.failures, " ")
	}
	if !r.ended {
		s += ", THE MACHINE DID NOT FINISH: " + r.why
	}
	return s
}

func (m machine) run(ctx context.Context, work string) (r result) {
	fmt.Printf("\n== %s, %s\n", m.release, m.boot.name)
	console := filepath.Join(work, "console")
	report := filepath.Join(work, "report")
	for _, f := range []string{console, report} {
		if err := os.WriteFile(f, nil, 0o600); err != nil {
			r.why = err.Error()
			return r
		}
	}
	ctx, cancel := context.WithTimeout(ctx, m.timeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, m.board.qemu, m.arguments(console, report)...)
	out := &strings.Builder{}
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		r.why = err.Error()
		return r
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	in, err := os.Open(report)
	if err != nil {
		r.why = err.Error()
		cancel()
		<-done
		return r
	}
	defer in.Close()
	r.follow(bufio.NewReader(in), done)
	if !r.ended {
		last, _ := os.ReadFile(console)
		fmt.Printf("%s\nthe console ended with:\n%s\n", out, last[max(0, len(last)-4000):])
		r.why = "see above"
		if ctx.Err() != nil {
			r.why = "it took more than " + m.timeout.String()
		}
	}
	return r
}

func (m machine) arguments(console, report string) []string {
	// Tests time out a little before the machine does, so that they still report.
	command := "only " + base64.RawURLEncoding.EncodeToString([]byte(m.only)) + " " + (m.timeout * 5 / 6).String()
	if m.command != "" {
		command = "exec " + base64.RawURLEncoding.EncodeToString([]byte(m.command))
	}
	device, root := "nvme,drive=root,serial=root", "root=/dev/nvme0n1"
	if m.virtio {
		device, root = "virtio-blk-pci,drive=root", "root=/dev/vda"
	}
	words := []string{"console=" + m.board.console, root, "rw", "panic=-1", "quiet", "nowatchdog", "rcupdate.rcu_cpu_stall_suppress=1", "mitigations=off"}
	words = append(append(words, m.board.clock...), m.cmdline, m.append, "init=/vm/init", "--", m.boot.name, m.board.report, command)
	accel, cpu := "tcg,thread=multi", m.board.tcg
	if m.kvm {
		accel, cpu = "kvm", "host"
	}
	args := []string{
		"-nodefaults", "-no-user-config", "-display", "none", "-no-reboot", "-machine", m.board.machine, "-accel", accel,
		"-cpu", cpu, "-smp", fmt.Sprint(m.cpus), "-m", "2048", "-nic", "none",
		"-kernel", m.image, "-append", strings.Join(words, " "),
		"-drive", "file=" + m.disk + ",format=raw,if=none,id=root,snapshot=on", "-device", device,
		"-device", "virtio-rng-pci",
		"-serial", "file:" + console,
	}
	if m.board.second != "" {
		return append(args, "-chardev", "file,id=report,path="+report, "-device", m.board.second+",chardev=report")
	}
	return append(args, "-serial", "file:"+report)
}

// follow reads the report while the guest writes it, until the machine ends.
func (r *result) follow(in *bufio.Reader, done <-chan error) {
	var partial string
	gone := false
	for {
		line, err := in.ReadString('\n')
		partial += line
		switch {
		case err == nil:
			r.line(strings.TrimRight(partial, "\r\n"))
			partial = ""
		case err != io.EOF || gone:
			return
		default:
			select {
			case <-done:
				gone = true
			case <-time.After(200 * time.Millisecond):
			}
		}
	}
}

func (r *result) line(s string) {
	mark, rest, _ := strings.Cut(s, " ")
	switch mark {
	case "@pass":
		r.passed++
		fmt.Println("ok   ", rest)
	case "@skip":
		r.skipped++
		fmt.Println("-    ", rest)
	case "@fail":
		name, _, _ := strings.Cut(rest, " ")
		r.failures = append(r.failures, name)
		fmt.Println("FAIL ", rest)
	case "@end":
		r.ended = true
	default:
		fmt.Println("     ", s)
	}
}
