package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/internal/testkit/container"
	"golang.org/x/sys/unix"
)

// inside is a container, and what mcp-jail does in it.
type inside struct {
	name   string
	make   func(*testing.T) container.Container
	jail   bool     // doctor finds that the default policy can be held
	told   []string // by doctor, and by the refusal of run where nothing is waived
	waives []string // what must be waived for a server without hosts; nil: nothing starts
	net    []string // what must be waived besides, for one that may reach a host
}

// ordinary is the user of a container that does not run as root. No account has this ID.
const ordinary = 61237

// docker is a container of Docker with its default filter, capabilities and /proc, for a user.
func docker(uid int, more ...string) func(*testing.T) container.Container {
	return func(t *testing.T) container.Container {
		caps := append(slices.Clone(container.DefaultCaps), more...)
		return container.Container{Filter: container.Moby(t, caps), Caps: caps, MaskProc: true, UID: uid}
	}
}

// podman is a container with the default filter of Podman and CRI-O.
func podman(c container.Container) func(*testing.T) container.Container {
	return func(t *testing.T) container.Container {
		c.Caps = container.DefaultCaps
		c.Filter = container.Containers(t, c.Caps)
		return c
	}
}

// documented is a container of Docker with the calls that docs/install.md adds to its filter.
func documented(c container.Container) func(*testing.T) container.Container {
	return func(t *testing.T) container.Container {
		names := regexp.MustCompile(`(?s)"names": \[(.*?)\]`).FindStringSubmatch(testkit.ReadFile(t, "../../docs/install.md"))
		calls := strings.FieldsFunc(names[1], func(r rune) bool { return strings.ContainsRune("\", \n", r) })
		if len(calls) < 8 {
			t.Fatal(calls)
		}
		c.Caps = container.DefaultCaps
		c.Filter = container.MobyWith(t, c.Caps, calls...)
		return c
	}
}

func refusing(c container.Container, action string, errno uint32, calls ...string) func(*testing.T) container.Container {
	return func(t *testing.T) container.Container {
		c.Filter = container.Refusing(t, action, errno, calls...)
		return c
	}
}

func plain(c container.Container) func(*testing.T) container.Container {
	return func(*testing.T) container.Container { return c }
}

var landlockCalls = []string{"landlock_create_ruleset", "landlock_add_rule", "landlock_restrict_self"}

func insides() []inside {
	all := []string{"fs", "process", "limits"}
	const filtered = "it does not allow user namespaces: a seccomp filter around this process refuses it"
	return []inside{
		{name: "without a wall", make: plain(container.Container{UID: ordinary}), jail: true},
		{name: "docker as root", make: docker(0), told: []string{filtered}, waives: all},
		{name: "docker", make: docker(ordinary), told: []string{filtered}, waives: all},
		{name: "docker with init and no_new_privs", make: func(t *testing.T) container.Container {
			c := docker(ordinary)(t)
			c.Init, c.NoNewPrivs = true, true
			return c
		}, told: []string{filtered}, waives: all},
		{name: "docker with SYS_PTRACE", make: docker(ordinary, "CAP_SYS_PTRACE"), told: []string{filtered}, waives: all},
		{name: "docker without cgroup and shm", make: func(t *testing.T) container.Container {
			c := docker(ordinary, "CAP_SYS_PTRACE")(t)
			c.NoCgroup, c.NoShm = true, true
			return c
		}, told: []string{filtered}, waives: all},
		{name: "docker with the profile of the document", make: documented(container.Container{UID: ordinary, MaskProc: true}), waives: []string{"fs", "limits"},
			told: []string{"the jail has no /proc here", "--security-opt systempaths=unconfined"}},
		{name: "docker with that profile and an uncovered proc", make: documented(container.Container{UID: ordinary}), jail: true},
		{name: "docker without capabilities as root", make: func(t *testing.T) container.Container {
			return container.Container{Filter: container.Moby(t, nil), Caps: []string{}, MaskProc: true}
		}, told: []string{filtered}, waives: all},
		{name: "podman", make: podman(container.Container{UID: ordinary, MaskProc: true}), waives: []string{"fs", "limits"},
			told: []string{"the jail has no /proc here", "--security-opt systempaths=unconfined"}},
		{name: "podman as root in a user namespace", make: podman(container.Container{UserNS: true, MaskProc: true}), waives: []string{"fs", "limits"},
			told: []string{"the jail has no /proc here", "--security-opt systempaths=unconfined"}},
		{name: "podman with keep-id", make: podman(container.Container{UserNS: true, UID: ordinary, MaskProc: true}), waives: []string{"fs", "limits"},
			told: []string{"the jail has no /proc here"}},
		{name: "podman with an uncovered proc", make: podman(container.Container{UID: ordinary}), jail: true},
		{name: "podman without cgroup and shm", make: podman(container.Container{UID: ordinary, NoShm: true, NoCgroup: true}), jail: true},
		{name: "podman, read-only", make: podman(container.Container{UID: ordinary, ReadOnly: true}), jail: true, waives: nil,
			told: []string{"XDG_STATE_HOME"}},
		{name: "root without capabilities", make: plain(container.Container{Caps: []string{}}), waives: all,
			told: []string{"root without CAP_SETFCAP may not map itself into one", "docker run --user 1000"}},
		{name: "no user namespaces", make: plain(container.Container{UserNS: true, NoUserSysctl: true}), waives: all,
			told: []string{"user.max_user_namespaces is 0"}},
		{name: "without Landlock, EPERM", make: refusing(container.Container{UID: ordinary}, "SCMP_ACT_ERRNO", uint32(unix.EPERM), landlockCalls...),
			told: []string{"a seccomp filter around this process refuses Landlock"}},
		{name: "without Landlock, ENOSYS", make: refusing(container.Container{UID: ordinary}, "SCMP_ACT_ERRNO", uint32(unix.ENOSYS), landlockCalls...),
			told: []string{"built without Landlock, or a seccomp filter around this process hides it"}},
		{name: "without seccomp", make: refusing(container.Container{UID: ordinary}, "SCMP_ACT_ERRNO", uint32(unix.EPERM), "seccomp"),
			told: []string{"a seccomp filter around this process refuses further filters"}},
		{name: "ends what asks for namespaces", make: refusing(container.Container{UID: ordinary}, "SCMP_ACT_KILL", 0, "unshare", "setns"),
			told: []string{"a seccomp filter around this process ends each process that asks for them"}},
	}
}

// TestContainers tries doctor and run in containers. Each either works, or is refused with its
// cause and what the host must allow, and works with the waivers that the refusal names.
func TestContainers(t *testing.T) {
	need(t, "npx") // doctor looks for the program of a server
	for _, c := range insides() {
		t.Run(c.name, func(t *testing.T) {
			in := c.make(t)
			if os.Getuid() != 0 && in.UID == 0 && !in.UserNS {
				t.Skip("only root can make this container")
			}
			t.Parallel()
			tryContainer(t, c, in)
		})
	}
}

func tryContainer(t *testing.T, c inside, in container.Container) {
	w := newWorld(t)
	w.program = w.copySelf(t, "mcp-jail")
	w.copySelf(t, "mcp-jail-cli")
	w.plant(t, w.home, map[string]string{".cursor/mcp.json": `{"mcpServers": {"greeter": {"command": "npx", "args": ["-y", "greeter"]}}}`})
	if os.Getuid() == 0 && !in.UserNS {
		must(t, exec.Command("chown", "-R", strconv.Itoa(in.UID), w.base).Run())
	}
	doctor := in.Around(t, w.mcpJail("doctor"))
	said, err := doctor.CombinedOutput()
	if ok := err == nil; ok != (c.jail && !in.ReadOnly) {
		t.Errorf("doctor: %v\n%s", err, said)
	}
	refused, started := w.startsIn(t, in)
	if started != (c.jail && !in.ReadOnly) {
		t.Errorf("without waivers: started %v\n%s", started, refused)
	}
	for _, want := range c.told {
		if !strings.Contains(string(said), want) && !strings.Contains(refused, want) {
			t.Errorf("nothing of %q in:\n%s\n%s", want, said, refused)
		}
	}
	if c.waives == nil {
		return
	}
	waive := flagsFor(c.waives)
	if said, started := w.startsIn(t, in, waive...); !started {
		t.Errorf("with %s it does not start:\n%s", waive, said)
	}
	for i := range waive[1:] { // each of them is needed
		if i%2 == 0 {
			less := slices.Delete(slices.Clone(waive), i, i+2)
			if said, started := w.startsIn(t, in, less...); started {
				t.Errorf("with %s alone it starts:\n%s", less, said)
			}
		}
	}
	net := append([]string{"--net", "example.com:443", "--write", w.work}, waive...)
	if said, started := w.startsIn(t, in, net...); started != (c.net == nil) {
		t.Errorf("with a host and %s: started %v\n%s", waive, started, said)
	}
	if said, started := w.startsIn(t, in, append(net, flagsFor(c.net)...)...); !started {
		t.Errorf("with a host, and all waived, it does not start:\n%s", said)
	}
	wrap, err := in.Around(t, w.mcpJail("wrap", "--dry-run")).CombinedOutput()
	if says := strings.Contains(string(wrap), "only the hosts that the package is fetched from"); err != nil || says != (c.net != nil) || strings.Contains(string(wrap), "invalid") {
		t.Errorf("wrap --dry-run: %v\n%s", err, wrap)
	}
}

func flagsFor(axes []string) (flags []string) {
	for _, axis := range axes {
		flags = append(flags, "--waive", axis)
	}
	return flags
}

// startsIn reports whether run starts a server in a container, and what it says. The server writes
// to its workspace and its HOME.
func (w *world) startsIn(t *testing.T, in container.Container, flags ...string) (said string, started bool) {
	t.Helper()
	mark := filepath.Join(w.work, "started")
	must(t, os.RemoveAll(mark))
	cmd := in.Around(t, w.jail(append(flags, "--", "sh", "-c", "echo >~/kept && echo >$TMPDIR/x && echo >started")...))
	out, _ := cmd.CombinedOutput()
	return string(out), pathExists(mark)
}
