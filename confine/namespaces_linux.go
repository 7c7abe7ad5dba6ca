package confine

import (
	"errors"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/confine/internal/kernel"
	"github.com/mcp-jail/mcp-jail/confine/internal/plan"
	"github.com/mcp-jail/mcp-jail/confine/internal/sys"
)

// refusedNamespaces reports whether a start failed, or would have failed, because this host
// forbids user namespaces. The answer is No only if the kernel refuses one again now, so that a
// temporary shortage is not taken for a prohibition, or if it refused what every jail does in one.
// For any other answer, Start returns the error.
func refusedNamespaces(err error) (kernel.Feature, error) {
	var gaps *plan.GapError
	var se *sys.Error
	switch {
	case errors.As(err, &gaps):
		return kernel.RefreshUserNamespaces(), err
	case !errors.As(err, &se) || !kernel.IsRefusal(se.Errno) || !slices.Contains(namespaceSteps, se.Step):
		return kernel.Feature{}, err
	}
	// AppArmor can let a process make a user namespace and then refuse every use of it.
	f := kernel.RefreshUserNamespaces()
	switch {
	case f.Answer == kernel.Unknown && se.Step == sys.Namespaces:
		err = plan.UserNamespaceGap(f)
	// run has tried it twice. Both errnos are those of a filter or a security module, and never of
	// a shortage.
	case f.Answer == kernel.Yes && se.Step != sys.Namespaces && (se.Errno == unix.EPERM || se.Errno == unix.EACCES || se.Errno == unix.ENOSYS):
		f = kernel.RefusedIn(se.Step, se.Errno)
	}
	return f, err
}

// namespaceSteps are the steps of every jail with namespaces, under each policy, that need them. A
// failure of another step is not a refusal of namespaces.
var namespaceSteps = []string{sys.Namespaces, sys.PrivateMounts, sys.OwnFilesystems, sys.Loopback}
