//go:build unix

package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// granted returns the flags that give the attacker what it may have.
func granted(s stage, plan string) []string {
	flags := []string{"--write", s.Grant, "--read", plan, "--execute", s.Program}
	if inWSL() {
		flags = append(flags, "--execute", ofWindows)
	}
	return flags
}

// ofWindows is a program that WSL has Windows start.
const ofWindows = "/mnt/c/Windows/System32/cmd.exe"

func inWSL() bool {
	release, _ := os.ReadFile("/proc/sys/kernel/osrelease")
	return strings.Contains(strings.ToLower(string(release)), "microsoft")
}

// windows has WSL start a program of Windows. Without WSL_INTEROP it looks for the socket of a parent.
func windows(variables ...string) error {
	c := exec.Command(ofWindows, "/c", "ver")
	c.Env = append(os.Environ(), variables...)
	said, err := c.CombinedOutput()
	if err == nil && !strings.Contains(string(said), "Microsoft Windows") {
		err = errors.New("it says " + strings.TrimSpace(string(said)))
	}
	return err
}

// made returns the attacks. Each returns nil if it succeeds.
func made() map[string]func(stage) error {
	all := map[string]func(stage) error{
		"files: read one that is not granted":             func(s stage) error { return read(s.Secret + "/key") },
		"files: list a directory that is not granted":     func(s stage) error { _, err := os.ReadDir(s.Secret); return err },
		"files: read one through a symlink":               func(s stage) error { return through(os.Symlink, s.Secret+"/key", s.Grant+"/l") },
		"files: read one through a hard link":             func(s stage) error { return through(os.Link, s.Secret+"/key", s.Grant+"/l") },
		"files: read one through ..":                      func(s stage) error { return read(s.Grant + "/../secret/key") },
		"files: read a .env in the grant":                 func(s stage) error { return read(s.Grant + "/.env") },
		"files: write one that is not granted":            func(s stage) error { return write(s.Secret + "/key") },
		"files: create one":                               func(s stage) error { return write(s.Secret + "/new") },
		"files: remove one":                               func(s stage) error { return os.Remove(s.Secret + "/key") },
		"files: move one into the grant":                  func(s stage) error { return os.Rename(s.Secret+"/key", s.Grant+"/key") },
		"files: move a directory into the grant":          func(s stage) error { return os.Rename(s.Secret+"/dir", s.Grant+"/dir") },
		"files: change the mode of one":                   func(s stage) error { return os.Chmod(s.Secret+"/key", 0o777) },
		"files: truncate one":                             func(s stage) error { return os.Truncate(s.Secret+"/key", 0) },
		"files: write a hook of git":                      func(s stage) error { return write(s.Grant + "/.git/hooks/pre-commit") },
		"files: write the configuration of git":           func(s stage) error { return write(s.Grant + "/.git/config") },
		"files: move .git away":                           func(s stage) error { return os.Rename(s.Grant+"/.git", s.Grant+"/old") },
		"files: write what an editor runs":                func(s stage) error { return write(s.Grant + "/.vscode/tasks.json") },
		"files: write what a client runs":                 func(s stage) error { return write(s.Grant + "/.mcp.json") },
		"files: make the directory of an editor":          func(s stage) error { return os.MkdirAll(s.Grant+"/sub/.vscode", 0o755) },
		"files: move a prepared directory to its name":    func(s stage) error { return os.Rename(s.Grant+"/ready", s.Grant+"/.idea") },
		"files: make a program set-id":                    func(s stage) error { return setID(s.Grant + "/work") },
		"network: connect to the host by IPv4":            func(s stage) error { return dial("tcp", s.TCP4) },
		"network: connect to the host by IPv6":            func(s stage) error { return dial("tcp", s.TCP6) },
		"network: send a packet to the host":              func(s stage) error { return packet(s.UDP) },
		"network: connect to a socket in another place":   func(s stage) error { return dial("unix", s.Socket) },
		"process: signal one of the user":                 func(s stage) error { return syscall.Kill(s.Driver, 0) },
		"processes: read the environment of another":      environment,
		"process: leave one behind, in its own session":   func(s stage) error { return leave(s) },
		"processes: a variable of the user that is a key": func(s stage) error { return own(s) },
	}
	if runtime.GOOS == "darwin" {
		for name, line := range map[string][]string{
			"system: list the keychains":     {"/usr/bin/security", "list-keychains"},
			"system: read the clipboard":     {"/usr/bin/pbpaste"},
			"system: have a program started": {"/bin/launchctl", "list"},
		} {
			all[name] = func(stage) error { return exec.Command(line[0], line[1:]...).Run() }
		}
	}
	if inWSL() {
		all["system: have Windows start a program"] = func(stage) error { return windows() }
		all["system: the same, by the socket of the host"] = func(stage) error { return windows("WSL_INTEROP=/run/WSL/1_interop") }
	}
	return all
}

func read(name string) error { _, err := os.ReadFile(name); return err }

func write(name string) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.WriteString("evil")
	return err
}

func through(link func(from, to string) error, from, to string) error {
	if err := link(from, to); err != nil {
		return err
	}
	return read(to)
}

func setID(name string) error {
	if err := os.Chmod(name, 0o755|os.ModeSetuid); err != nil {
		return err
	}
	if info, err := os.Stat(name); err != nil || info.Mode()&os.ModeSetuid == 0 {
		return errors.New("the bit is not set")
	}
	return nil
}

func dial(network, address string) error {
	c, err := net.DialTimeout(network, address, 5*time.Second)
	if err != nil {
		return err
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(5 * time.Second))
	b := make([]byte, 5)
	if _, err := c.Read(b); err != nil || string(b) != "hello" {
		return fmt.Errorf("it is another service: %v", err)
	}
	return nil
}

func packet(address string) error {
	c, err := net.Dial("udp", address)
	if err != nil {
		return err
	}
	defer c.Close()
	if _, err := c.Write([]byte("x")); err != nil {
		return err
	}
	return errSent
}

// leave starts a process of a session of its own, which writes a file after this one has ended.
func leave(s stage) error {
	c := exec.Command("/bin/sh", "-c", fmt.Sprintf("sleep %d; echo >alive", int(lateAfter.Seconds())))
	c.Dir, c.SysProcAttr = s.Grant, &syscall.SysProcAttr{Setsid: true}
	if err := c.Start(); err != nil {
		return err
	}
	return errSent
}

// shows reports what the environment of another process shows.
func shows(s stage, text []byte, err error) error {
	if err != nil {
		return err
	}
	if !strings.Contains(string(text), s.Canary) {
		return errors.New("it shows no variable")
	}
	return nil
}

func part([]string) {}
