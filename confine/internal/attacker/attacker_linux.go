package attacker

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Run makes the attempts of its argument, prints their outcomes and ends the process.
func Run(args []string) {
	var attempts []Attempt
	if err := json.Unmarshal([]byte(args[0]), &attempts); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(3)
	}
	out := make([]Outcome, len(attempts))
	for i, a := range attempts {
		out[i] = makeAttempt(a)
	}
	b, _ := json.Marshal(out)
	os.Stdout.Write(b)
	unix.Exit(0) // the race detector sleeps a second in os.Exit
}

func makeAttempt(a Attempt) Outcome {
	verb, ok := Verbs[a[0]]
	if !ok {
		verb, ok = CallVerbs[a[0]]
	}
	if !ok {
		verb, ok = AttackVerbs()[a[0]]
		time.AfterFunc(time.Minute, func() { unix.Exit(9) }) // none of them takes that long
	}
	if !ok {
		return "no verb " + a[0]
	}
	answer, err := caught(verb, a[1:])
	if err != nil {
		var why emptyHanded
		if errors.As(err, &why) {
			return string(why)
		}
		var errno syscall.Errno
		if errors.As(err, &errno) {
			return unix.ErrnoName(errno)
		}
		return "error: " + err.Error()
	}
	return strings.TrimSuffix(Succeeded+" "+answer, " ")
}

// A failure is what get and must panic with. A verb that fails so ends with its error.
type failure struct{ error }

// caught calls a verb.
func caught(verb func([]string) (string, error), args []string) (answer string, err error) {
	defer func() {
		switch why := recover().(type) {
		case nil:
		case failure:
			answer, err = "", why.error
		default:
			panic(why)
		}
	}()
	return verb(args)
}

// get ends the verb if there is an error. Only the goroutine that called the verb may call it.
func get[T any](value T, err error) T {
	must(err)
	return value
}

// must is get for calls without a value.
func must(err error) {
	if err != nil {
		panic(failure{err})
	}
}

// Verbs are the verbs by name. init fills it, since the verb verify uses other verbs, and keeps
// the main goroutine, which makes the attempts, on the first thread: /proc/self/comm names that one.
var Verbs = map[string]func(args []string) (string, error){}

func init() {
	runtime.LockOSThread()
	for _, some := range []map[string]func(args []string) (string, error){
		verbsOnFiles, verbsOnModes, verbsOnPrograms, verbsOnStarts, verbsOnSelf, verbsOnOthers, verbsOnKernel, verbsOfLife, verbsOfLimits, verbsOfKernelMemory, verbsOnShared,
	} {
		for name, verb := range some {
			if Verbs[name] != nil {
				panic("two verbs are called " + name)
			}
			Verbs[name] = verb
		}
	}
}

// silent makes a verb of an operation without an answer.
func silent(f func(a []string) error) func([]string) (string, error) {
	return func(a []string) (string, error) { return "", f(a) }
}

func Closing(fd int, err error) error {
	if err == nil {
		unix.Close(fd)
	}
	return err
}

func Number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		panic(err)
	}
	return n
}

func Executable() string {
	p, _ := os.Readlink("/proc/self/exe")
	return p
}

func Holds(o Outcome) bool { return o != Succeeded && !strings.HasPrefix(o, Succeeded+" ") }

// emptyHanded is an outcome that is no errno: the call succeeded, and gave nothing.
type emptyHanded string

func (r emptyHanded) Error() string { return string(r) }

func nothingIf(empty bool) error {
	if empty {
		return emptyHanded("nothing")
	}
	return nil
}

// Attempt is a verb with its arguments.
type Attempt []string

func Try(verb string, args ...string) Attempt { return append(Attempt{verb}, args...) }

func (a Attempt) String() string { return strings.Join(a, " ") }

// Outcome is the outcome of an attempt: "ok", perhaps followed by an answer, or the name of an
// errno.
type Outcome = string

const Succeeded Outcome = "ok"

// The values of argv[0] that make the test binary another program.
const (
	Name       = "mcp-jail-attacker" // attempts, in a jail or outside one
	AsUserName = "mcp-jail-as-user"  // becomes an ordinary user, then the rest of argv
)

func ErrnoName(e syscall.Errno) string {
	if e == 0 {
		return "<nil>"
	}
	return unix.ErrnoName(e)
}

// AttackVerbs returns the verbs of package attacks.
func AttackVerbs() map[string]func([]string) (string, error) {
	verbs := map[string]func([]string) (string, error){
		"call": callThrough(nativeABI), "reaches": reachThrough(nativeABI),
	}
	if runtime.GOARCH == "amd64" {
		for name, g := range map[string]callABI{"i386-": I386ABI, "x32-": x32ABI} {
			verbs[name+"call"], verbs[name+"reaches"] = callThrough(g), reachThrough(g)
		}
	}
	maps.Copy(verbs, fileVerbs())
	maps.Copy(verbs, processVerbs())
	maps.Copy(verbs, ownVerbs())
	maps.Copy(verbs, kernelVerbs())
	maps.Copy(verbs, terminalVerbs())
	maps.Copy(verbs, NetworkVerbs())
	maps.Copy(verbs, egressVerbs())
	maps.Copy(verbs, greetingVerbs())
	maps.Copy(verbs, streamVerbs())
	maps.Copy(verbs, socketVerbs())
	verbs["callback"], verbs["parting"], verbs["foreign-program"] = callbackVerb, partingVerb, silent(runForeign)
	verbs["bind-port"], verbs["visit"], verbs["stay"] = silent(bindVerb), visitVerb, silent(stayVerb)
	return verbs
}

// RawCall makes a system call by its number.
func RawCall(nr uintptr, args ...uintptr) syscall.Errno {
	var a [6]uintptr
	copy(a[:], args)
	_, _, errno := syscall.RawSyscall6(nr, a[0], a[1], a[2], a[3], a[4], a[5])
	return errno
}
