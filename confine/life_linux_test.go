package confine

import (
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/policy"
)

// started is a jail that runs, with what it says on stderr.
type started struct {
	*Process
	t    *testing.T
	errs *lines
	out  *bytes.Buffer
	ends func()
}

func begin(t *testing.T, p *policy.Profile, attempts ...attempt) *started {
	t.Helper()
	return beginWith(t, Launcher{}, p, attempts...)
}

func beginWith(t *testing.T, l Launcher, p *policy.Profile, attempts ...attempt) *started {
	t.Helper()
	q := *p
	q.Argv = append(q.Argv[:1:1], probeArgs(t, attempts)...)
	s := &started{t: t, errs: newLines(), out: &bytes.Buffer{}}
	var err error
	if s.Process, s.ends, err = startJail(t, l, &q, s.out, s.errs); err != nil {
		t.Fatal(err)
	}
	return s
}

// finish waits until everything that held a descriptor of the jail is gone.
func (s *started) finish() Exit {
	s.t.Helper()
	exit, err := s.Wait()
	if err != nil {
		s.t.Error(err)
	}
	within(s.t, "the end of every process of the jail", s.ends)
	return exit
}

func within(t testing.TB, what string, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() { f(); close(done) }()
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		t.Fatalf("after ten seconds still not: %s", what)
	}
}

// lines collects output and lets a test wait for it.
type lines struct {
	mu   sync.Mutex
	text string
	more chan struct{}
}

func newLines() *lines { return &lines{more: make(chan struct{}, 100)} }

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	l.text += string(b)
	l.mu.Unlock()
	select {
	case l.more <- struct{}{}:
	default:
	}
	return len(b), nil
}

func (l *lines) count(text string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.text, text)
}

func (l *lines) await(t testing.TB, text string) {
	t.Helper()
	eventually(t, "stderr has "+text, func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		return strings.Contains(l.text, text)
	})
}

func TestJailExit(t *testing.T) {
	needsJail(t)
	for _, c := range []struct {
		attempt attempt
		want    Exit
	}{
		{try("exit", "0"), Exit{}},
		{try("exit", "1"), Exit{Code: 1}},
		{try("exit", "255"), Exit{Code: 255}},
		{try("die", "9"), Exit{Code: 137, Signal: syscall.SIGKILL}},
		{try("die", "15"), Exit{Code: 143, Signal: syscall.SIGTERM}},
	} {
		s := begin(t, jailProfile(t), c.attempt)
		if got := s.finish(); got != c.want {
			t.Errorf("%v: %+v, want %+v", c.attempt, got, c.want)
		}
		if err := s.Kill(); !errors.Is(err, os.ErrProcessDone) {
			t.Errorf("Kill of a jail that is gone: %v", err)
		}
	}
}

func TestJailSignalsArePassedOn(t *testing.T) {
	needsJail(t)
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2} {
		t.Run(sig.String(), func(t *testing.T) {
			t.Parallel()
			s := begin(t, jailProfile(t), try("caught"))
			s.errs.await(t, "ready")
			if err := s.Signal(sig); err != nil {
				t.Fatal(err)
			}
			if exit := s.finish(); exit != (Exit{}) {
				t.Errorf("exit %+v", exit)
			}
			if want := fmt.Sprintf(`["ok %s"]`, sig); s.out.String() != want {
				t.Errorf("the program reported %s, want %s", s.out, want)
			}
		})
	}
	t.Run("uncaught", func(t *testing.T) {
		s := begin(t, jailProfile(t), try("wait"))
		if err := s.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if exit := s.finish(); exit.Signal != syscall.SIGTERM && exit.Code != 2 { // a Go program that is still starting exits with 2
			t.Errorf("exit %+v", exit)
		}
	})
}

// TestJailEndsDaemons: whoever left the session and ignores signals dies with
// the jail, be it killed or be its program done.
func TestJailEndsDaemons(t *testing.T) {
	needsJail(t)
	t.Run("by Kill", func(t *testing.T) {
		s := begin(t, jailProfile(t), try("daemon", "2"), try("wait"))
		s.errs.await(t, "daemon")
		if err := s.Kill(); err != nil {
			t.Fatal(err)
		}
		if exit := s.finish(); exit != (Exit{Code: 137, Signal: syscall.SIGKILL}) {
			t.Errorf("exit %+v", exit)
		}
	})
	t.Run("when the program is done", func(t *testing.T) {
		s := begin(t, jailProfile(t), try("daemon", "2"), try("caught"))
		s.errs.await(t, "daemon")
		s.Signal(syscall.SIGTERM)
		if exit := s.finish(); exit != (Exit{}) {
			t.Errorf("exit %+v", exit)
		}
	})
	t.Run("SIGKILL by Signal", func(t *testing.T) {
		s := begin(t, jailProfile(t), try("daemon", "1"), try("wait"))
		s.errs.await(t, "daemon")
		s.Signal(syscall.SIGKILL)
		s.finish()
	})
}

// TestJailStartErrors: failures of the program are told from failures of the
// jail, each with its errno.
func TestJailStartErrors(t *testing.T) {
	needsJail(t)
	dir := plant(t, "text", "script", "dir/", "plain")
	for name, content := range map[string]string{"text": "no program\n", "script": "#!/nowhere/interpreter\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(dir+"/plain", 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		change func(*policy.Profile)
		step   string
		errno  syscall.Errno
	}{
		{"missing", func(p *policy.Profile) { p.Program = dir + "/missing" }, StepExec, unix.ENOENT},
		{"not executable", func(p *policy.Profile) { p.Program = dir + "/plain" }, StepExec, unix.EACCES},
		{"a directory", func(p *policy.Profile) { p.Program = dir + "/dir" }, StepExec, unix.EACCES},
		{"bad format", func(p *policy.Profile) { p.Program = dir + "/text" }, StepExec, unix.ENOEXEC},
		{"missing interpreter", func(p *policy.Profile) { p.Program = dir + "/script" }, StepExec, unix.ENOENT},
		{"not granted", func(p *policy.Profile) { p.Program = "/etc/hostname" }, StepExec, unix.EACCES},
		{"working directory", func(p *policy.Profile) { p.Dir = dir + "/missing" }, "directory", unix.ENOENT},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := jailProfile(t, grant{dir, rx})
			c.change(p)
			_, err := Launcher{}.Start(t.Context(), p, Stdio{})
			var se *StartError
			if !errors.As(err, &se) || se.Step != c.step || se.Errno != c.errno || !errors.Is(err, c.errno) {
				t.Errorf("%#v (%v), want step %s, %v", err, err, c.step, c.errno)
			} else if !strings.Contains(err.Error(), p.Program) && !strings.Contains(err.Error(), p.Dir) {
				t.Errorf("%q does not say what", err)
			}
		})
	}
	t.Run("no shim", func(t *testing.T) {
		_, err := Launcher{Shim: dir + "/missing"}.Start(t.Context(), jailProfile(t), Stdio{})
		if !errors.Is(err, unix.ENOENT) {
			t.Errorf("%v", err)
		}
	})
	t.Run("a shim that is none", func(t *testing.T) {
		_, err := Launcher{Shim: "/usr/bin/true"}.Start(t.Context(), jailProfile(t), Stdio{})
		var se *StartError
		if !errors.As(err, &se) || se.Step == StepExec {
			t.Errorf("%v", err)
		}
	})
}

// TestJailSwappedObjects: what was resolved is what is granted, or nothing
// starts.
func TestJailSwappedObjects(t *testing.T) {
	needsJail(t)
	for _, c := range []struct {
		name string
		swap func(dir string) error
	}{
		{"a symlink for the directory", func(dir string) error {
			return errors.Join(os.Rename(dir+"/grant", dir+"/old"), os.Symlink(dir+"/secret", dir+"/grant"))
		}},
		{"a symlink for a parent", func(dir string) error {
			return errors.Join(os.Rename(dir+"/parent", dir+"/old"), os.Symlink(dir+"/secret", dir+"/parent"))
		}},
		{"another directory", func(dir string) error {
			return errors.Join(os.Rename(dir+"/grant", dir+"/old"), os.Mkdir(dir+"/grant", 0o755), os.WriteFile(dir+"/grant/masked", nil, 0o600))
		}},
		{"nothing", func(dir string) error { return os.Rename(dir+"/grant", dir+"/old") }},
		{"a file for a directory", func(dir string) error {
			return errors.Join(os.Rename(dir+"/grant", dir+"/old"), os.WriteFile(dir+"/grant", nil, 0o644))
		}},
		{"another file under a mask", func(dir string) error {
			return errors.Join(os.Remove(dir+"/grant/masked"), os.WriteFile(dir+"/grant/masked", []byte("new"), 0o644))
		}},
		{"a symlink under a mask", func(dir string) error {
			return errors.Join(os.Remove(dir+"/grant/masked"), os.Symlink("inner", dir+"/grant/masked"))
		}},
		{"nothing under a mask", func(dir string) error { return os.Remove(dir + "/grant/masked") }},
		{"another file under a carve-out", func(dir string) error {
			return errors.Join(os.Remove(dir+"/grant/kept"), os.WriteFile(dir+"/grant/kept", nil, 0o644))
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := plant(t, "grant/inner", "grant/masked", "grant/kept", "parent/sub/x", "secret/sub/y", "secret/inner")
			p := jailProfile(t, grant{dir + "/grant", rw}, grant{dir + "/grant/masked", 0}, grant{dir + "/grant/kept", r}, grant{dir + "/parent/sub", rw})
			expect(t, "before", jailed(t, p, "read", dir+"/grant/inner"), "ok inner")
			if err := c.swap(dir); err != nil {
				t.Fatal(err)
			}
			before := hostTree(t, dir)
			_, err := Launcher{}.Start(t.Context(), p, Stdio{})
			var se *StartError
			if !errors.As(err, &se) || se.Step == StepExec || !strings.Contains(se.Detail, dir) {
				t.Errorf("%#v, want a StartError that names the path", err)
			}
			if after := hostTree(t, dir); after != before {
				t.Errorf("the host's tree has changed:\n%s\nto\n%s", before, after)
			}
		})
	}
}

// TestJailSwapsUnderWay flips a directory and a symlink to a secret while jails
// are built. The secret must never show.
func TestJailSwapsUnderWay(t *testing.T) {
	needsJail(t)
	dir := plant(t, "parent/grant/inner", "secret/grant/inner")
	if err := os.WriteFile(dir+"/secret/grant/inner", []byte("SECRET"), 0o644); err != nil {
		t.Fatal(err)
	}
	p := jailProfile(t, grant{dir + "/parent/grant", rw}, grant{dir + "/parent/grant/inner", r})
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
			}
			os.Rename(dir+"/parent", dir+"/away")
			os.Symlink(dir+"/secret", dir+"/parent")
			os.Remove(dir + "/parent")
			os.Rename(dir+"/away", dir+"/parent")
			time.Sleep(time.Duration(rand.IntN(2000)) * time.Microsecond)
		}
	}()
	var ran, refused int
	for range 60 {
		out, err := runJail(t, Launcher{}, p, []attempt{try("read", dir+"/parent/grant/inner"), try("write", dir+"/parent/grant/inner")})
		var se *StartError
		switch {
		case errors.As(err, &se):
			refused++
		case err != nil:
			t.Error(err)
		default:
			ran++
			if fmt.Sprint(out) != "[ok inner EROFS]" {
				t.Errorf("%v", out)
			}
		}
	}
	close(stop)
	<-stopped
	t.Logf("%d ran, %d refused", ran, refused)
}

func TestJailMakes(t *testing.T) {
	needsJail(t)
	dir := plant(t, "workspace/", "elsewhere/")
	entry := func(p string, o policy.Origin) policy.Entry {
		return policy.Entry{Path: p, Named: p, Kind: policy.KindDir, Rights: rw, Origin: o, Rule: "path = " + p, Make: true}
	}
	p := jailProfile(t)
	p.Entries = append(p.Entries, entry(dir+"/state/server/home", policy.OriginHome), entry(dir+"/workspace/out/deep", policy.OriginRule))
	hidden := entry(dir+"/workspace/cache/own", policy.OriginSensitive)
	hidden.Rights = 0
	p.Entries = append(p.Entries, hidden)
	sortEntries(p)
	got := inJail(t, p, try("create", dir+"/state/server/home/x"), try("create", dir+"/workspace/out/deep/x"), try("create", dir+"/workspace/x"))
	if fmt.Sprint(got) != "[ok ok EROFS]" {
		t.Errorf("%v", got)
	}
	if fi, err := os.Stat(dir + "/state/server/home"); err != nil || fi.Mode().Perm() != 0o700 {
		t.Errorf("the private HOME: %v, %v", fi, err)
	}
	if fi, err := os.Stat(hidden.Path); err != nil || fi.Mode().Perm() != 0o700 {
		t.Errorf("what is made to be hidden: %v, %v", fi, err)
	}

	// A link that was planted since does not choose the place.
	if err := os.Symlink(dir+"/elsewhere", dir+"/workspace/planted"); err != nil {
		t.Fatal(err)
	}
	q := jailProfile(t)
	q.Entries = append(q.Entries, entry(dir+"/workspace/planted/made", policy.OriginRule))
	sortEntries(q)
	_, err := Launcher{}.Start(t.Context(), q, Stdio{})
	var se *StartError
	if !errors.As(err, &se) || se.Errno != unix.ELOOP || !strings.Contains(se.Detail, "planted") {
		t.Errorf("%v", err)
	}
	if names, _ := os.ReadDir(dir + "/elsewhere"); len(names) != 0 {
		t.Errorf("made through a symlink: %v", names)
	}
}

func TestJailStartIsCancelled(t *testing.T) {
	needsJail(t)
	mounts := mountinfo(t)
	for i := range 60 {
		pipe := newWitness(t)
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i*150)*time.Microsecond)
		p := jailProfile(t)
		p.Argv = append(p.Argv, probeArgs(t, []attempt{try("wait")})...)
		proc, err := Launcher{}.Start(ctx, p, Stdio{Err: pipe.w})
		cancel()
		if err == nil {
			proc.Kill()
			<-proc.Done()
		} else if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("after %v: %v", time.Duration(i*150)*time.Microsecond, err)
		}
		pipe.gone(t)
	}
	if now := mountinfo(t); now != mounts {
		t.Error("the host's mounts have changed")
	}
}

// witness is a pipe whose end shows that nobody is left who holds it.
type witness struct{ r, w *os.File }

func newWitness(t testing.TB) *witness {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close(); w.Close() })
	return &witness{r, w}
}

// gone closes the test's own end and waits for the end of all others.
func (p *witness) gone(t testing.TB) {
	t.Helper()
	p.w.Close()
	within(t, "the end of everybody who held the descriptor", func() { io.Copy(io.Discard, p.r) })
}

func mountinfo(t testing.TB) string {
	t.Helper()
	b, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// runLauncher starts jails until it is killed. Descriptor 3 is the witness: the
// shims inherit it, and the programs have it as stderr.
func runLauncher() {
	var profiles []*policy.Profile
	if err := gob.NewDecoder(os.Stdin).Decode(&profiles); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	// Away from the numbers that the launcher itself uses in the shim (see withRoom).
	fd, err := unix.FcntlInt(3, unix.F_DUPFD, 2*tableRoom)
	if err != nil {
		os.Exit(1)
	}
	unix.CloseOnExec(3)
	for _, p := range profiles {
		if _, err := worldLauncher().Start(context.Background(), p, Stdio{Err: os.NewFile(uintptr(fd), "witness")}); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println("up")
	}
	select {}
}

// TestJailLauncherIsKilled: SIGKILL at any moment of a start and after it leaves
// no process, no mount and no directory.
func TestJailLauncherIsKilled(t *testing.T) {
	needsJail(t)
	dir := plant(t, "file", "sub/masked")
	p := jailProfile(t, grant{dir, rw}, grant{dir + "/sub/masked", 0})
	p.Argv = append(p.Argv, probeArgs(t, []attempt{try("daemon", "2"), try("wait")})...)
	var order bytes.Buffer
	if err := gob.NewEncoder(&order).Encode([]*policy.Profile{p, p, p}); err != nil {
		t.Fatal(err)
	}
	before, mounts, places := hostTree(t, dir), mountinfo(t), rootNames(t)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	runs := 60
	var starts int
	for i := range runs {
		pipe := newWitness(t)
		cmd := exec.Command(testBinary)
		cmd.Args = []string{launcherName}
		cmd.Stdin = bytes.NewReader(order.Bytes())
		cmd.ExtraFiles = []*os.File{pipe.w}
		out := newLines()
		cmd.Stdout = out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		// A launcher takes some ten milliseconds for its three jails.
		time.Sleep(time.Duration(random.IntN(60_000)) * time.Microsecond)
		if i == 0 { // once with everything up for certain
			eventually(t, "all jails up", func() bool { return out.count("up\n") == 3 })
		}
		cmd.Process.Kill()
		cmd.Wait()
		n := out.count("up\n")
		if i == 0 && n != 3 {
			t.Fatalf("the control: %d of 3 jails were up: %s", n, out.text)
		}
		starts += n
		pipe.gone(t)
	}
	t.Logf("%d launchers, %d of %d jails were up", runs, starts, 3*runs)
	if after := hostTree(t, dir); after != before {
		t.Errorf("the host's tree has changed:\n%s\nto\n%s", before, after)
	}
	if mountinfo(t) != mounts {
		t.Error("the host's mounts have changed")
	}
	if now := rootNames(t); now != places {
		t.Errorf("names were left on the host:\n%s\nwere\n%s", now, places)
	}
}

// TestJailThousand launches a thousand jails, eight at a time, each of which
// looks from inside whether it holds.
func TestJailThousand(t *testing.T) {
	needsJail(t)
	launches := 1000
	if os.Getenv("MCPJAIL_TEST_BINARY") != "" {
		launches = 200 // the second run, as an ordinary user
	}
	needs(t, "seccomp_notify")
	secret := plant(t, "secret") + "/secret"
	ws := plant(t, "masked", "ro/x", "plain")
	p := jailProfile(t, grant{ws, rw}, grant{ws + "/masked", 0}, grant{ws + "/ro", r})
	p.Unprotected = []string{ws + "/.envrc"}
	p.Limits.OpenFiles = 200
	check := try("verify", secret, fmt.Sprint(os.Getpid()), ws)
	for _, kind := range namespaceKinds {
		ns, err := os.Readlink("/proc/self/ns/" + kind)
		if err != nil {
			t.Fatal(err)
		}
		check = append(check, ns)
	}
	begun := time.Now()
	jobs := make(chan struct{}, launches)
	for range launches {
		jobs <- struct{}{}
	}
	close(jobs)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range jobs {
				out, err := runJail(t, Launcher{}, p, []attempt{check})
				if err != nil || out[0] != succeeded {
					t.Errorf("%v, %v", out, err)
				}
			}
		})
	}
	wg.Wait()
	t.Logf("%d launches in %v", launches, time.Since(begun).Round(time.Millisecond))
}
