//go:build darwin || linux

package mac

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/mcp-jail/mcp-jail/confine/internal/kernel"
	"github.com/mcp-jail/mcp-jail/confine/internal/seatbelt"
)

// runner makes one self-test. Tests replace what makes the attempts.
type runner struct {
	self    string // this program, which makes attempts (Serve)
	sandbox string // sandbox-exec
	dir     string // a directory of its own, for the trees
	temp    string // a short one, for sockets
	perform func(ctx context.Context, program string, args []string, list []attempt) (outcomes []string, status int, said string)
}

// run tests. It leaves out the optional operations that the system does not know.
func (r *runner) run(ctx context.Context) (kernel.Proof, error) {
	h := listen()
	defer h.close()
	var without []string
	for {
		proof, unknown, err := r.round(ctx, h, without)
		if err != nil || unknown == "" || slices.Contains(without, unknown) {
			proof.Without = without
			return proof, err
		}
		without = append(without, unknown)
	}
}

// round makes two trees, and all attempts. unknown is an optional operation that the system does not know,
// without which the round must be made again.
func (r *runner) round(ctx context.Context, h *hosts, without []string) (_ kernel.Proof, unknown string, err error) {
	var sides [2]names // outside of the jails, and inside
	for i := range sides {
		name := fmt.Sprint(len(without), "oi"[i:i+1])
		sides[i] = treeNames(filepath.Join(r.dir, name), filepath.Join(r.temp, name))
		if err := build(h, sides[i]); err != nil {
			return kernel.Proof{}, "", fmt.Errorf("the files of the self-test could not be made: %w", err)
		}
		for key, value := range h.names {
			sides[i][key] = value
		}
	}
	made := attempts()
	in := func(n names, jail func(Jail) bool) (list []attempt, at []int) {
		for i, a := range made {
			if jail(probes[a.Probe].Jail) {
				a.Args = n.all(a.Args)
				list, at = append(list, a), append(at, i)
			}
		}
		return list, at
	}
	all, _ := in(sides[0], func(Jail) bool { return true })
	control, _, _ := r.perform(ctx, r.self, []string{role}, all)
	got, said := make([]string, len(made)), make([]string, jails)
	for jail := range jails {
		text, err := seatbelt.Compile(r.input(jail, sides[1], h.proxy, without))
		if err != nil {
			return kernel.Proof{}, "", fmt.Errorf("the text of the self-test could not be made: %w", err)
		}
		list, at := in(sides[1], func(j Jail) bool { return j == jail })
		outcomes, status, words := r.perform(ctx, r.sandbox, arguments(text, r.self, role), list)
		for i, outcome := range outcomes {
			got[at[i]] = outcome
		}
		if op := unknownOperation(words); status == statusRefusedText && slices.Contains(seatbelt.Optional, op) {
			return kernel.Proof{}, op, nil
		}
		if status != 0 {
			said[jail] = ": " + classify(Ended{Code: status, Said: words}).Detail
		}
	}
	if ctx.Err() != nil {
		return kernel.Proof{}, "", context.Cause(ctx)
	}
	return proof(made, control, got, said), "", nil
}

// input is what the text of a jail is made of.
func (r *runner) input(jail Jail, n names, proxy int, without []string) seatbelt.Input {
	in := seatbelt.Input{Profile: n.profile(), Self: r.self, TempDir: n.in("{s}/t"), NoFork: jail == noFork, Without: without}
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

// proof returns the result of attempts that came to outcomes outside of the jails and inside. said is why a jail
// made no attempt.
func proof(made []attempt, control, got, said []string) kernel.Proof {
	out := kernel.Proof{Made: true}
	failed := make([]string, len(probes))
	for i, a := range made {
		if failed[a.Probe] == "" {
			failed[a.Probe] = a.failure(control[i], got[i], said[probes[a.Probe].Jail])
		}
	}
	for i, p := range probes {
		row := kernel.ProbeResult{ID: p.ID, Axis: p.Axis, Fatal: p.Fatal, What: p.What, Got: failed[i]}
		if row.Got == "" {
			out.Passed = append(out.Passed, row)
		} else {
			out.Failed = append(out.Failed, row)
		}
	}
	return out
}

// failure says what happened in place of what was wanted, or "".
func (a attempt) failure(control, got, said string) string {
	want := map[string]string{"+": works, "-": "EPERM", "~": "a refusal"}[a.Sign]
	switch {
	case control == "ENOENT" && a.If == "case":
		return "" // this volume does not ignore case
	case control != works:
		got = "outside the jail: " + control
	case got == "":
		got = "no answer" + said
	case got == want, a.Sign == "~" && got != works:
		return ""
	default:
		got += ", not " + want
	}
	return a.Do + " " + strings.Join(a.Args, " ") + ": " + got
}

// longest is how long the attempts in one jail may take.
const longest = 10 * time.Second

// perform starts a program that makes attempts. When it returns, that and all of its group have ended. The
// outcomes are as many as the attempts: "" is none.
func perform(ctx context.Context, program string, args []string, list []attempt) (outcomes []string, status int, said string) {
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	asked, _ := json.Marshal(list)
	var out, words bytes.Buffer
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env, cmd.SysProcAttr, cmd.WaitDelay = []string{}, &syscall.SysProcAttr{Setpgid: true}, time.Second
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(asked), &out, &words
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	err := cmd.Run()
	if cmd.ProcessState == nil {
		return make([]string, len(list)), -1, err.Error()
	}
	cmd.Cancel() // what it has started
	if err != nil || json.Unmarshal(out.Bytes(), &outcomes) != nil || len(outcomes) != len(list) {
		return make([]string, len(list)), max(cmd.ProcessState.ExitCode(), -1), strings.TrimSpace(words.String())
	}
	return outcomes, 0, ""
}
