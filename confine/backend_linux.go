package confine

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/policy"
)

// shimFor is the shim that was started ahead, where it fits, or a new one.
func (l Launcher) shimFor(p *policy.Profile) *Shim {
	own := ownNetwork(p)
	if s := l.Ready.take(own); s != nil {
		return s
	}
	return l.spawn(own)
}

// start gives the shim its order and waits for what comes of it.
func (s *Shim) start(ctx context.Context, plan *Plan, stdio Stdio) (*Process, error) {
	made, err := makeDirs(plan.Profile)
	if err != nil {
		s.abandon()
		return nil, err
	}
	if plan.order.HostNames {
		plan.fillHostNames()
	}
	s.orders <- instruction{plan.order.encode(), stdio}
	select {
	case err := <-s.started:
		if err != nil {
			<-s.process.done
			removeDirs(made)
			return nil, refusedNamespaces(err)
		}
		return s.process, nil
	case <-ctx.Done():
		s.process.Kill()
		<-s.process.done
		removeDirs(made)
		return nil, ctx.Err()
	}
}

// makeDirs creates the directories that the profile asks for, with their
// parents, and returns those that were not there, deepest last. The private HOME
// and what leads to it are for the user alone.
func makeDirs(p *policy.Profile) (made []string, err error) {
	for _, e := range p.Entries {
		if !e.Make {
			continue
		}
		mode := fs.FileMode(0o777)
		if e.Origin == policy.OriginHome {
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
		if err := os.MkdirAll(e.Path, mode); err != nil {
			removeDirs(made)
			return nil, &StartError{Step: "create directory", Detail: e.Path + " (" + e.Rule + ")", Errno: errnoOf(err)}
		}
	}
	return made, nil
}

// removeDirs takes back what makeDirs made, where it is still empty.
func removeDirs(made []string) {
	for _, dir := range slices.Backward(made) {
		unix.Rmdir(dir)
	}
}

func errnoOf(err error) syscall.Errno {
	var errno syscall.Errno
	errors.As(err, &errno)
	return errno
}

// refusedNamespaces turns the error of a start into a gap where the cause is
// that this host forbids user namespaces: either they cannot be made, or (with
// AppArmor) nothing can be done inside them.
func refusedNamespaces(err error) error {
	var se *StartError
	if !errors.As(err, &se) || se.Step == StepExec {
		return err
	}
	if se.Step == stepNamespaces {
		switch se.Errno {
		case unix.EPERM, unix.ENOSPC, unix.EUSERS, unix.ENOSYS, unix.EINVAL, unix.EACCES:
			return userNamespaceGap(userNamespacesRefused(se.Errno))
		}
	}
	if se.Errno == unix.EPERM || se.Errno == unix.EACCES {
		if f := probed.get("userns", probeUserNamespaces); f.Answer == No {
			return userNamespaceGap(f)
		}
	}
	return err
}

const stepNamespaces = "namespaces"

func (plan *Plan) fillHostNames() {
	resolv, hosts := hostNetworkFiles()
	for i := range plan.order.Files {
		switch f := &plan.order.Files[i]; f.Path {
		case "/etc/resolv.conf":
			f.Content = resolv
		case "/etc/hosts":
			f.Content = hosts
		}
	}
}
