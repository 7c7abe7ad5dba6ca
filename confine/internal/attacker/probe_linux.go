package attacker

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// runProbe makes the attempts of its argument and reports the outcomes as one
// JSON list, all of them at the end: who dies half-way has reported nothing.
func Run(args []string) {
	runtime.LockOSThread()
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
	answer, err := verb(a[1:])
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

// Verbs are the attempts by their names. They are put together when the binary
// starts: one of them, verify, makes others.
var Verbs = map[string]func(args []string) (string, error){}

func init() {
	for _, some := range []map[string]func(args []string) (string, error){
		verbsOnFiles, verbsOnModes, verbsOnPrograms, verbsOnSelf, verbsOnOthers, verbsOnKernel, verbsOfLife, verbsOfLimits, verbsOnShared,
	} {
		for name, verb := range some {
			if Verbs[name] != nil {
				panic("two verbs are called " + name)
			}
			Verbs[name] = verb
		}
	}
}

// silent turns an operation without an answer into a verb.
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
