package runtime

import (
	"fmt"
	"strings"
)

// A MissingError says that no interpreter of this machine fits.
type MissingError struct {
	Range string // the versions that the package asks for; "" for any
	Found Found
}

func (e *MissingError) Error() string {
	var out strings.Builder
	out.WriteString(strings.TrimSpace("the package needs " + map[Language]string{Node: "Node.js", Python: "Python"}[e.Found.Language] + " " + e.Range))
	if len(e.Found.Interpreters) == 0 {
		out.WriteString(", and there is none in PATH or of a version manager")
	} else {
		out.WriteString(", and what is here does not fit:")
		for i, f := range e.Found.Interpreters {
			if i > 0 {
				out.WriteString(",")
			}
			fmt.Fprintf(&out, " %s (%s, from %s)", f.Version, f.Path, strings.Join(f.Sources, " and "))
		}
	}
	for _, r := range e.Found.Refused {
		fmt.Fprintf(&out, "; %s is not used: %s", r.Path, strings.TrimPrefix(r.Reason, r.Path+" is refused: "))
	}
	return out.String() + "; install a version that fits"
}

// Unwrap returns why interpreters did not tell their version.
func (e *MissingError) Unwrap() (all []error) {
	for _, r := range e.Found.Refused {
		if r.Err != nil {
			all = append(all, r.Err)
		}
	}
	return all
}

// Choose returns the interpreter for a range: the one that PATH gives if it fits, otherwise
// the newest that fits. fits reports whether a version is in the range; its error says why the
// range cannot be read. Choose does not call fits for an empty range, which every version fits. The
// error is a [*MissingError], or the error of fits.
func (f Found) Choose(rng string, fits func(rng, version string) (bool, error)) (Interpreter, error) {
	best := -1
	for i, candidate := range f.Interpreters {
		ok, err := strings.TrimSpace(rng) == "", error(nil)
		if !ok {
			ok, err = fits(rng, candidate.Version)
		}
		if err != nil {
			return Interpreter{}, err
		}
		switch {
		case ok && candidate.Default:
			return candidate, nil
		case ok && (best < 0 || compareVersions(candidate.Version, f.Interpreters[best].Version) > 0):
			best = i
		}
	}
	if best >= 0 {
		return f.Interpreters[best], nil
	}
	return Interpreter{}, &MissingError{Range: rng, Found: f}
}
