package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
	"github.com/mcp-jail/mcp-jail/policy/resolve"
)

// inNetwork makes a command start as root in new user, network and mount namespaces.
func inNetwork(cmd *exec.Cmd) error {
	if _, err := exec.LookPath("ip"); err != nil {
		return errors.New("the program ip (iproute2) is not installed")
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  unix.CLONE_NEWUSER | unix.CLONE_NEWNET | unix.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
		Pdeathsig:   syscall.SIGKILL,
	}
	runtime.LockOSThread() // the end of this thread would kill the command (Pdeathsig)
	return nil
}

// runRole runs the role that the environment names, and ends the process. It returns if
// there is none.
func runRole() {
	var err error
	switch os.Getenv(roleEnv) {
	case "":
		return
	case roleHost:
		os.Unsetenv(roleEnv)
		err = runHost(os.Args[1], os.Args[2], os.Args[3], os.Args[4], os.Args[5] != "")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

const hostPolicy = `version = 1
[servers.bench]
command = %q
[[servers.bench.access.net]]
host = "bench.test"
scheme = "tcp"
port = 7000
allow = true
[[servers.bench.access.net]]
host = "bench.test"
scheme = "tcp"
port = 7001
allow = true
[[servers.bench.access.net]]
host = "bench.test"
scheme = "https"
allow = true
`

// inspectPolicy has a rule on requests, so that mcp-jail-tls inspects them.
const inspectPolicy = `version = 1
[servers.bench]
command = %q
[[servers.bench.access.net]]
host = "seen.test"
scheme = "https"
path_prefix = "/bench"
allow = true
`

// host is the namespace that stands for the host.
type host struct {
	client        string
	granted, seen *policy.Profile
	launcher      confine.Launcher
	run           netRun
}

func runHost(dir, client, internet, rounds string, forbid bool) error {
	end, err := joinInternet(dir, internet)
	if err != nil {
		return err
	}
	defer end()
	h := host{client: client}
	if forbid {
		// The gaps of the other axes do not matter here.
		h.launcher.Waive = []policy.Axis{policy.AxisFs, policy.AxisIPC, policy.AxisProcess, policy.AxisLimits}
		if err := os.WriteFile("/proc/sys/user/max_user_namespaces", []byte("0"), 0); err != nil {
			return err
		}
	}
	n, err := strconv.Atoi(rounds)
	if err != nil {
		return err
	}
	if h.granted, err = profileOf(fmt.Sprintf(hostPolicy, client)); err != nil {
		return err
	}
	if h.seen, err = profileOf(fmt.Sprintf(inspectPolicy, client)); err != nil {
		return err
	}
	for range n {
		if err := h.round(); err != nil {
			return err
		}
	}
	if err := h.launches(n); err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(h.run)
}

func profileOf(text string) (*policy.Profile, error) {
	cfg, err := config.Decode([]byte(text), "bench.toml")
	if err != nil {
		return nil, err
	}
	p, err := cfg.Policy("bench", "")
	if err != nil {
		return nil, err
	}
	local, err := hostfs.LocalHost()
	if err != nil {
		return nil, err
	}
	profile, _, err := resolve.Resolve(p, local)
	return profile, err
}

// round measures every side once.
func (h *host) round() error {
	bare, err := h.bare("bench.test")
	if err != nil {
		return err
	}
	jailed, err := h.jailed(h.granted, "bench.test")
	if err != nil {
		return err
	}
	h.run.Bare, h.run.Jail = append(h.run.Bare, bare), append(h.run.Jail, jailed)
	if h.run.Notes != nil {
		return nil
	}
	seen, err := h.jailed(h.seen, "seen.test", "tls")
	if err != nil {
		h.run.Notes = append(h.run.Notes, "requests that have to be seen: "+firstLine(err.Error()))
		return nil
	}
	h.run.Inspected = append(h.run.Inspected, seen)
	return nil
}

func (h *host) bare(args ...string) (found netFound, err error) {
	cmd := exec.Command(h.client, args...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return found, fmt.Errorf("without a jail: %w", err)
	}
	return found, json.Unmarshal(out, &found)
}

func (h *host) jailed(as *policy.Profile, args ...string) (found netFound, err error) {
	profile := *as
	profile.Argv = append([]string{h.client}, args...)
	r, w, err := os.Pipe()
	if err != nil {
		return found, err
	}
	defer r.Close()
	p, err := h.launcher.Start(context.Background(), &profile, confine.Stdio{Out: w, Err: os.Stderr})
	w.Close()
	if err != nil {
		return found, err
	}
	out, err := io.ReadAll(r)
	exit, werr := p.Wait()
	if err = errors.Join(err, werr); err != nil {
		return found, err
	}
	if exit.Code != 0 {
		return found, fmt.Errorf("in the jail: status %d, refused %+v", exit.Code, p.Denials())
	}
	return found, json.Unmarshal(out, &found)
}

// launches pairs starts with and without granted hosts.
func (h *host) launches(n int) error {
	program, err := exec.LookPath("true")
	if err != nil {
		return nil
	}
	without, err := profileOf(fmt.Sprintf("version = 1\n[servers.bench]\ncommand = %q\naccess = {}\n", program))
	if err != nil {
		return err
	}
	with := *without
	with.Net = h.granted.Net
	for i := range 4 * n {
		for _, side := range []struct {
			profile *policy.Profile
			to      *[]float64
		}{{without, &h.run.Alone}, {&with, &h.run.Granted}} {
			took, err := timed(context.Background(), func(ctx context.Context) error { return runJailed(ctx, h.launcher, side.profile) })
			if err != nil {
				return err
			}
			if i > 1 {
				*side.to = append(*side.to, ms(took))
			}
		}
	}
	return nil
}

// joinInternet makes the namespace that stands for the Internet, and a link to it.
func joinInternet(dir, internet string) (end func(), err error) {
	if err := unix.Mount("", "/", "", unix.MS_PRIVATE|unix.MS_REC, ""); err != nil {
		return nil, err
	}
	if err := coverHostFiles(dir, internet); err != nil {
		return nil, err
	}
	other := exec.Command(internet, "serve", dir)
	other.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNET, Pdeathsig: syscall.SIGKILL}
	other.Stderr = os.Stderr
	up, err := other.StdoutPipe()
	if err != nil {
		return nil, err
	}
	runtime.LockOSThread()
	if err := other.Start(); err != nil {
		return nil, err
	}
	err = ip("link set lo up", fmt.Sprint("link add outside type veth peer name inside netns ", other.Process.Pid),
		"addr add 192.0.2.1/24 dev outside", "link set outside up", "route add default via 192.0.2.2")
	if err == nil {
		if _, err = io.ReadFull(up, make([]byte, 2)); err != nil {
			err = fmt.Errorf("the other namespace did not come up: %w", err)
		}
	}
	end = func() {
		other.Process.Kill()
		other.Wait()
	}
	if err != nil {
		end()
		return nil, err
	}
	return end, nil
}

// coverHostFiles mounts files over those of the host, so that names are looked up in the
// other namespace and its certificates are accepted.
func coverHostFiles(dir, internet string) error {
	roots := systemRoots()
	if roots == "" {
		return errors.New("this system has no file of certificate authorities (ca-certificates)")
	}
	known, err := os.ReadFile(roots)
	if err != nil {
		return err
	}
	ca, err := exec.Command(internet, "certify", dir).Output()
	if err != nil {
		return err
	}
	for name, content := range map[string]string{"/etc/resolv.conf": "nameserver 198.51.100.53\n", roots: string(known) + "\n" + string(ca)} {
		target, err := filepath.EvalSymlinks(name)
		if err != nil {
			return err
		}
		file := filepath.Join(dir, filepath.Base(name))
		if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
			return err
		}
		if err := unix.Mount(file, target, "", unix.MS_BIND, ""); err != nil {
			return fmt.Errorf("%s: %w", target, err)
		}
	}
	return nil
}

func systemRoots() string {
	for _, f := range []string{"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem"} {
		if _, err := os.Stat(f); err == nil {
			return f
		}
	}
	return ""
}

func ip(commands ...string) error {
	for _, c := range commands {
		if out, err := exec.Command("ip", strings.Fields(c)...).CombinedOutput(); err != nil {
			return fmt.Errorf("ip %s: %w: %s", c, err, out)
		}
	}
	return nil
}
