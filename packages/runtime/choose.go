package runtime

import (
	"fmt"
	"strconv"
	"strings"
)

// A MissingError says that no interpreter of this machine fits.
type MissingError struct {
	Range string // the versions that the package asks for; "" for any
	Found Found
	// Version is a version to install, such as 24 or 3.13; "" if none of the usual ones fits.
	Version string
}

func (e *MissingError) Error() string {
	name := map[Language]string{Node: "Node.js", Python: "Python"}[e.Found.Language]
	var out strings.Builder
	out.WriteString(strings.TrimSpace("the package needs " + name + " " + e.Range))
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
	return out.String() + "; " + e.get(name)
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

func (e *MissingError) get(name string) string {
	if e.Version == "" {
		return "install a version that fits"
	}
	for _, m := range e.Found.managers {
		if command := advice(m, e.Found.Language, e.Version); command != "" {
			return "to get one: " + command
		}
	}
	site := "https://nodejs.org"
	if e.Found.Language == Python {
		site = "https://www.python.org, or: uv python install " + e.Version
	}
	return fmt.Sprintf("install %s %s with the package manager of your system, or from %s", name, e.Version, site)
}

// Choose returns the interpreter for a range: the one that PATH gives if it fits, otherwise
// the newest that fits. fits reports whether a version is in the range; its error says why the
// range cannot be read. Choose does not call fits for an empty range, which every version fits. The
// error is a [*MissingError], or the error of fits.
func (f Found) Choose(rng string, fits func(rng, version string) (bool, error)) (Interpreter, error) {
	in := func(version string) (bool, error) {
		if strings.TrimSpace(rng) == "" {
			return true, nil
		}
		return fits(rng, version)
	}
	best := -1
	for i, candidate := range f.Interpreters {
		ok, err := in(candidate.Version)
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
	missing := &MissingError{Range: rng, Found: f}
	for _, version := range usual(f.Language) {
		ok, err := in(version + ".0")
		if err != nil {
			return Interpreter{}, err
		}
		if !ok {
			ok, _ = in(version + ".99") // a later release of the line
		}
		if ok {
			missing.Version = strings.TrimSuffix(version, ".99")
			break
		}
	}
	return Interpreter{}, missing
}

// usual returns versions to suggest, the best first: at first lines with long-term support
// in late 2026, then newer and older ones. For node, ".99" stands for a late release.
func usual(lang Language) (out []string) {
	if lang == Python {
		for _, minor := range []int{13, 12, 14, 11, 15, 10, 9, 8} {
			out = append(out, "3."+strconv.Itoa(minor))
		}
		return out
	}
	for _, major := range []int{24, 22, 26, 28, 30, 20, 18, 16, 14, 12} {
		out = append(out, strconv.Itoa(major)+".99")
	}
	return out
}
