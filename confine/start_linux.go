package confine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/confine/internal/gateway"
	"github.com/mcp-jail/mcp-jail/confine/internal/jail"
	planpkg "github.com/mcp-jail/mcp-jail/confine/internal/plan"
	"github.com/mcp-jail/mcp-jail/confine/internal/probe"
	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/confine/internal/step"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
	"golang.org/x/sys/unix"
)

// shimFor is the shim that was started ahead, where it fits, or a new one.
func (l Launcher) ClaimPrepared() *Prepared {
	if s := l.Prepared.claim(KindNamespaced); s != nil {
		return s
	}
	return l.Spawn(KindNamespaced)
}

// start gives the shim its order and waits for what comes of it.
func (s *Prepared) Start(ctx context.Context, plan *planpkg.Plan, stdio jail.Stdio) (*Process, error) {
	made, err := makeDirs(plan.Profile)
	if err != nil {
		s.cancel()
		return nil, err
	}
	order := plan.Spec
	if order.HostNS {
		s.Process.useHostNS(order.TempDir)
	}
	terminator, err := gateway.StartTLS(ctx, plan, &order)
	if err != nil {
		s.cancel()
		removeDirs(made)
		return nil, err
	}
	s.Process.Interceptor = terminator
	s.Process.plan = plan
	s.send(startRequest{plan: plan, order: order, stdio: stdio})
	select {
	case err = <-s.started:
	case <-ctx.Done():
		err = cancelled(ctx)
		s.Process.Kill()
	}
	if err == nil {
		return s.Process, nil
	}
	<-s.Process.done
	if terminator != nil {
		terminator.End()
	}
	removeDirs(made)
	return nil, err
}

// cancelled is the error of a start that was not waited for. Of one whose time was up it
// says what is known to keep starts waiting.
func cancelled(ctx context.Context) error {
	if ctx.Err() != context.DeadlineExceeded {
		return ctx.Err()
	}
	e := &step.Error{Step: "init", Detail: "it was not ready in the time that it had"}
	if why := context.Cause(ctx); why != ctx.Err() {
		e.Detail = why.Error()
	}
	if queued, limit := queuedSignals(); limit > 0 && queued+2*spec.InitThreads > limit {
		e.Detail += fmt.Sprintf(". %d of the %d signals that may be queued for this user are (SigQ in /proc/self/status), and each thread of the init is told by one: end what does not take its signals, or raise the limit (ulimit -i)", queued, limit)
	}
	return e
}

// queuedSignals is SigQ of proc(5) status: what is queued for the user, of how many.
func queuedSignals() (queued, limit int) {
	b, _ := os.ReadFile("/proc/self/status")
	_, rest, _ := strings.Cut(string(b), "\nSigQ:\t")
	fmt.Sscanf(rest, "%d/%d", &queued, &limit)
	return queued, limit
}

// makeDirs creates the directories that the profile asks for, with their
// parents, and returns those that were not there, deepest last. Those that no rule
// asked for (the private HOME, mcp-jail's own) and what leads to them are for the
// user alone.
func makeDirs(p *policy.Profile) (made []string, err error) {
	for _, e := range p.Entries {
		if !e.Make {
			continue
		}
		mode := fs.FileMode(0o777)
		if e.Origin != policy.OriginRule {
			mode = 0o700
		}
		var missing []string
		for dir := e.Path; ; dir = path.Dir(dir) {
			if _, err := os.Lstat(dir); err == nil || dir == "/" {
				break
			}
			missing = append(missing, dir)
		}
		slices.Reverse(missing)
		made = append(made, missing...)
		if err := makeDir(e.Path, mode); err != nil {
			removeDirs(made)
			return nil, &step.Error{Step: "create directory", Detail: e.Path + " (" + e.Rule + ")", Errno: step.Errno(err)}
		}
		if e.Origin != policy.OriginHome {
			continue
		}
		// Another user may have come first where every user can make something, as in /tmp.
		if err := hostfs.CheckPrivate("/", e.Path); err != nil {
			removeDirs(made)
			return nil, &step.Error{Step: "create directory", Detail: err.Error()}
		}
	}
	return made, nil
}

// makeDir makes a directory and what is missing on the way, which leads through no link.
func makeDir(p string, mode fs.FileMode) error {
	const flags = unix.O_PATH | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC
	at, err := unix.Open("/", flags, 0)
	for _, name := range strings.FieldsFunc(p, func(r rune) bool { return r == '/' }) {
		if err != nil {
			return err
		}
		next, missing := unix.Openat(at, name, flags, 0)
		if err = missing; err == unix.ENOENT {
			if err = unix.Mkdirat(at, name, uint32(mode)); err == nil || err == unix.EEXIST {
				next, err = unix.Openat(at, name, flags, 0)
			}
		}
		var st unix.Stat_t
		if err == unix.ENOTDIR && unix.Fstatat(at, name, &st, unix.AT_SYMLINK_NOFOLLOW) == nil && st.Mode&unix.S_IFMT == unix.S_IFLNK {
			err = unix.ELOOP
		}
		unix.Close(at)
		at = next
	}
	if err == nil {
		unix.Close(at)
	}
	return err
}

// removeDirs takes back what makeDirs made, where it is still empty.
func removeDirs(made []string) {
	for _, dir := range slices.Backward(made) {
		unix.Rmdir(dir)
	}
}

// refusal finds out whether a start failed, or would have, because this host
// forbids user namespaces. It is certain of that only where making them is
// refused once more, whatever is short at the moment; then the answer is No. The
// error is the one to report otherwise.
func RefusedNamespaces(err error) (probe.Feature, error) {
	var gaps *planpkg.GapError
	var se *step.Error
	switch {
	case errors.As(err, &gaps):
		return probe.Cache.Refresh("userns", probe.ProbeUserNamespaces), err
	case !errors.As(err, &se) || se.Step == step.Exec || !probe.IsRefusal(se.Errno):
		return probe.Feature{}, err
	}
	// With AppArmor they can be made, and nothing be done inside them.
	f := probe.Cache.Refresh("userns", probe.ProbeUserNamespaces)
	if f.Answer == probe.Unknown && se.Step == step.Namespaces {
		err = planpkg.UserNamespaceGap(f)
	}
	return f, err
}

// namespaces says whether user namespaces can be had.
func Namespaces() probe.Feature { return probe.Cache.Get("userns", probe.ProbeUserNamespaces) }
