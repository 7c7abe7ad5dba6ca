package attacker

import (
	"fmt"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A race has at least this many attempts, and this many during which the other thread acted.
const races, meetings = 3000, 300

// race calls try repeatedly while another thread calls again. It answers "made" if made reports
// true once, and "held" otherwise. It counts the turns of the other thread, since with one
// processor that thread has few.
func race(again func(i int), try func(), made func() bool) (string, error) {
	moves, stop := turns(again)
	defer stop()
	for attempts, met := 0, 0; attempts < races || met < meetings; attempts++ {
		before := moves.Load()
		try()
		if made() {
			return "made", nil
		}
		if moves.Load() != before {
			met++
		}
	}
	return "held", nil
}

// turns calls again repeatedly in another thread and counts the calls.
func turns(again func(i int)) (moves *atomic.Int64, stop func()) {
	if runtime.GOMAXPROCS(0) == 1 {
		runtime.GOMAXPROCS(2) // the kernel lets them take turns more often than Go does
	}
	var stopped atomic.Bool
	moves, done := new(atomic.Int64), make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		for i := 0; !stopped.Load(); i++ {
			again(i)
			moves.Add(1)
		}
	}()
	return moves, func() { stopped.Store(true); <-done }
}

func stands(name string) func() bool {
	return func() bool { _, err := os.Lstat(name); return err == nil }
}

// attemptParallelNames makes a file of one name in many directories at once: in a[0]/plainN and
// in the git directories a[0]/repoN/.git. It tries a[1] times in each, and answers how often
// either succeeded.
func attemptParallelNames(a []string) (string, error) {
	var plain, protected atomic.Int64
	var wg sync.WaitGroup
	for n := range 4 {
		for dir, made := range map[string]*atomic.Int64{fmt.Sprint(a[0], "/plain", n): &plain, fmt.Sprint(a[0], "/repo", n, "/.git"): &protected} {
			wg.Go(func() {
				for range Number(a[1]) {
					if f, err := os.OpenFile(dir+"/config", os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644); err == nil {
						made.Add(1)
						f.Close()
						os.Remove(dir + "/config")
					}
				}
			})
		}
	}
	wg.Wait()
	return fmt.Sprint(plain.Load(), protected.Load()), nil
}

// attemptRaceMemory changes the name of a call while the call is being made.
func attemptRaceMemory(a []string) (string, error) {
	name := append([]byte(a[0]+"/.envrc"), 0)
	at := len(a[0]) + 1
	return race(func(i int) { name[at] = "x."[i&1] }, func() {
		unix.RawSyscall6(unix.SYS_MKDIRAT, ^uintptr(99), uintptr(unsafe.Pointer(&name[0])), 0o755, 0, 0, 0)
		unix.Rmdir(a[0] + "/xenvrc")
	}, stands(a[0]+"/.envrc"))
}

// attemptRaceRename makes a file in a directory while another thread renames the directory to a
// protected name.
func attemptRaceRename(a []string) (string, error) {
	one, github := a[0]+"/one", a[0]+"/.github"
	made := stands(github + "/workflows")
	return race(func(int) {
		unix.Rename(one, github)
		unix.Rename(github, one)
	}, func() {
		unix.Mkdir(one+"/workflows", 0o755)
		if !made() {
			unix.Rmdir(one + "/workflows")
		}
	}, made)
}

// attemptRaceSymlink makes a name by a symlink whose target another thread changes.
func attemptRaceSymlink(a []string) (string, error) {
	github := a[0] + "/.github"
	must(unix.Mkdir(github, 0o755))
	return race(func(int) {
		for _, target := range []string{"one", ".github"} {
			unix.Symlink(target, a[0]+"/next")
			unix.Rename(a[0]+"/next", a[0]+"/swap")
		}
	}, func() {
		unix.Mkdir(a[0]+"/swap/workflows", 0o755)
		unix.Rmdir(a[0] + "/one/workflows")
	}, stands(github+"/workflows"))
}

// attemptRaceOpen writes to a file that another thread replaces by a symlink to a protected file,
// now and then.
func attemptRaceOpen(a []string) (string, error) {
	name, next, config := a[0]+"/swap", a[0]+"/next", a[0]+"/repo/.git/config"
	before := get(os.ReadFile(config))
	return race(func(int) {
		os.WriteFile(next, nil, 0o644)
		unix.Rename(next, name)
		unix.Symlink("repo/.git/config", next)
		unix.Rename(next, name)
	}, func() {
		if fd, err := unix.Open(name, unix.O_WRONLY|unix.O_CLOEXEC, 0); err == nil {
			unix.Write(fd, []byte("taken"))
			unix.Close(fd)
		}
	}, func() bool { now, _ := os.ReadFile(config); return string(now) != string(before) })
}

// attemptRaceCreate makes a file at a name at which another thread makes and removes a symlink to
// a protected name that does not exist.
func attemptRaceCreate(a []string) (string, error) {
	name := a[0] + "/swap"
	return race(func(int) {
		unix.Symlink(".envrc", name)
		unix.Unlink(name)
	}, func() {
		if fd, err := unix.Open(name, unix.O_WRONLY|unix.O_CREAT|unix.O_CLOEXEC, 0o644); err == nil {
			unix.Close(fd)
		}
	}, stands(a[0]+"/.envrc"))
}

// attemptRaceMaker makes and removes a protected name where attemptRaceMover, in another
// jail, moves its parent.
func attemptRaceMaker(a []string) (string, error) {
	for end := time.Now().Add(2 * time.Second); time.Now().Before(end); {
		unix.Mkdir(a[0]+"/node_modules/p/.vscode", 0o755)
		unix.Rmdir(a[0] + "/node_modules/p/.vscode")
	}
	return "", nil
}

// remains reports whether a name exists and is not removed again within some seconds. A supervisor
// removes it a moment after it has made it, which takes long on a busy machine.
func remains(name string) bool {
	for end := time.Now().Add(5 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		if _, err := os.Lstat(name); err != nil {
			return false
		}
		if time.Now().After(end) {
			return true
		}
	}
}

func attemptRaceMover(a []string) (string, error) {
	p, q := a[0]+"/node_modules/p", a[0]+"/q"
	for end := time.Now().Add(2 * time.Second); time.Now().Before(end); {
		unix.Rename(p, q)
		if remains(q + "/.vscode") {
			return "left", nil
		}
		unix.Rename(q, p)
	}
	return "", nil
}
