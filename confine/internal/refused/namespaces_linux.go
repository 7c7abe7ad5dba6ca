package refused

import (
	"errors"
	"slices"

	"github.com/mcp-jail/mcp-jail/confine/internal/features"
	"github.com/mcp-jail/mcp-jail/confine/internal/plan"
	"github.com/mcp-jail/mcp-jail/confine/internal/step"
	"golang.org/x/sys/unix"
)

// Namespaces reports whether a start failed, or would have failed, because this host
// forbids user namespaces. The answer is No only if the kernel refuses one again now, so that a
// temporary shortage is not taken for a prohibition, or if it refused what every jail does in one.
// For any other answer, Start returns the error.
func Namespaces(err error) (features.Feature, error) {
	var gaps *plan.GapError
	var se *step.Error
	switch {
	case errors.As(err, &gaps):
		return features.RefreshUserNamespaces(), err
	case !errors.As(err, &se) || !features.IsRefusal(se.Errno) || !slices.Contains(namespaceSteps, se.Step):
		return features.Feature{}, err
	}
	// AppArmor can let a process make a user namespace and then refuse every use of it.
	f := features.RefreshUserNamespaces()
	switch {
	case f.Answer == features.Unknown && se.Step == step.Namespaces:
		err = plan.UserNamespaceGap(f)
	// run has tried it twice. Both errnos are those of a filter or a security module, and never of
	// a shortage.
	case f.Answer == features.Yes && se.Step != step.Namespaces && (se.Errno == unix.EPERM || se.Errno == unix.EACCES || se.Errno == unix.ENOSYS):
		f = features.RefusedIn(se.Step, se.Errno)
	}
	return f, err
}

// namespaceSteps are the steps of every jail with namespaces, under each policy, that need them. A
// failure of another step is not a refusal of namespaces.
var namespaceSteps = []string{step.Namespaces, step.PrivateMounts, step.OwnFilesystems, step.Loopback}
