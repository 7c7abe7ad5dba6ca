//go:build darwin || linux

package selftest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/mcp-jail/mcp-jail/confine/internal/sandboxexec"
	"github.com/mcp-jail/mcp-jail/confine/internal/seatbelt"
)

// longest is how long the attempts in one jail may take.
const longest = 10 * time.Second

// runner makes one self-test. Tests replace what makes the attempts.
type runner struct {
	self    string // this program, which makes attempts (Serve)
	sandbox string // sandbox-exec
	dir     string // a directory of its own, for the trees
	temp    string // a short one, for sockets
	folds   bool   // the volume of dir ignores case
	perform func(ctx context.Context, program string, args []string, list []attempt) (outcomes []string, status int, said string)
}

// run tests. It leaves out the optional operations that the system does not know.
func (r *runner) run(ctx context.Context) (Result, error) {
	h := listen()
	defer h.close()
	var without []string
	for {
		result, unknown, err := r.round(ctx, h, without)
		if err != nil || unknown == "" || slices.Contains(without, unknown) {
			result.Proof.Without = without
			return result, err
		}
		without = append(without, unknown)
	}
}

func (r *runner) is(condition string) bool {
	return condition == "mac" && runtime.GOOS == "darwin" || condition == "case" && r.folds
}

// round makes two trees, and all attempts. unknown is an optional operation that the system does not know,
// without which the round must be made again.
func (r *runner) round(ctx context.Context, h *hosts, without []string) (_ Result, unknown string, err error) {
	var sides [2]names // outside of the jails, and inside
	for i := range sides {
		name := fmt.Sprint(len(without), "oi"[i:i+1])
		sides[i] = treeNames(filepath.Join(r.dir, name), filepath.Join(r.temp, name))
		if err := build(h, sides[i]); err != nil {
			return Result{}, "", fmt.Errorf("the files of the self-test could not be made: %w", err)
		}
		for key, value := range h.names {
			sides[i][key] = value
		}
	}
	table := Table()
	made := attempts(table, r.is)
	in := func(n names, jail func(Jail) bool) (list []attempt, at []int) {
		for i, a := range made {
			if jail(table[a.Probe].Jail) {
				a.Args = n.all(a.Args)
				list, at = append(list, a), append(at, i)
			}
		}
		return list, at
	}
	all, _ := in(sides[0], func(Jail) bool { return true })
	control, _, _ := r.limited(ctx, r.self, []string{role}, all)
	got, said := make([]string, len(made)), map[Jail]string{}
	for jail := range jails {
		text, err := seatbelt.Compile(r.input(jail, sides[1], h.proxy, without))
		if err != nil {
			return Result{}, "", fmt.Errorf("the text of the self-test could not be made: %w", err)
		}
		list, at := in(sides[1], func(j Jail) bool { return j == jail })
		outcomes, status, words := r.limited(ctx, r.sandbox, sandboxexec.Arguments(text, r.self, role), list)
		for i, outcome := range outcomes {
			got[at[i]] = outcome
		}
		if op := unknownOperation(words); status == sandboxexec.StatusRefusedText && slices.Contains(seatbelt.Optional, op) {
			return Result{}, op, nil
		}
		if status != 0 {
			said[jail] = sandboxexec.Classify(sandboxexec.Ended{Code: status, Said: words}).Detail
		}
	}
	if err := ctx.Err(); err != nil {
		return Result{}, "", context.Cause(ctx)
	}
	return result(table, made, control, got, said), "", nil
}

// input is what the text of a jail is made of.
func (r *runner) input(jail Jail, n names, proxy int, without []string) seatbelt.Input {
	in := seatbelt.Input{Profile: n.profile(), Self: r.self, TempDir: n.in("{s}/t"), NoFork: jail == NoFork, Without: without}
	if jail == Hosts {
		in.ProxyPort = proxy
	}
	return in
}

// unknownOperation returns the name that sandbox-exec does not know, of what it said.
func unknownOperation(said string) string {
	_, after, _ := strings.Cut(said, "unbound variable: ")
	name, _, _ := strings.Cut(after, " ")
	return name
}

// limited makes attempts by a program for so long at most. The outcomes are as many as the attempts.
func (r *runner) limited(ctx context.Context, program string, args []string, list []attempt) ([]string, int, string) {
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	outcomes, status, said := r.perform(ctx, program, args, list)
	if len(outcomes) != len(list) {
		outcomes = make([]string, len(list))
	}
	return outcomes, status, said
}

// perform starts a program that makes attempts. When it returns, that and all of its group have ended.
func perform(ctx context.Context, program string, args []string, list []attempt) (outcomes []string, status int, said string) {
	asked, err := json.Marshal(list)
	if err != nil {
		return nil, -1, err.Error()
	}
	var out, words bytes.Buffer
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env, cmd.SysProcAttr, cmd.WaitDelay = []string{}, &syscall.SysProcAttr{Setpgid: true}, time.Second
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(asked), &out, &words
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	err = cmd.Run()
	if cmd.ProcessState == nil {
		return nil, -1, err.Error()
	}
	cmd.Cancel() // what it has started
	if err != nil || json.Unmarshal(out.Bytes(), &outcomes) != nil {
		return nil, max(cmd.ProcessState.ExitCode(), -1), strings.TrimSpace(words.String())
	}
	return outcomes, 0, ""
}

// newRunner returns the runner of a self-test in a directory.
func newRunner(o Options, dir, temp string, folds bool) (*runner, error) {
	r := &runner{self: o.Self, sandbox: o.Sandbox, folds: folds, perform: perform, temp: temp}
	var err error
	if r.self == "" {
		if r.self, err = os.Executable(); err != nil {
			return nil, err
		}
	}
	if r.sandbox == "" {
		r.sandbox = sandboxexec.Path
	}
	if r.self, err = filepath.EvalSymlinks(r.self); err == nil {
		r.dir, err = filepath.EvalSymlinks(dir)
	}
	return r, err
}
