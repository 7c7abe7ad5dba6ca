package winpath

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
)

// A Way walks to files of others, such as those of a project, before anything else looks at them. Neither
// of its functions follows a link at the end of a path.
type Way struct {
	Lstat    func(path string) (fs.FileMode, error)
	Readlink func(path string) (string, error)
}

// An AwayError refuses a path that leads to another machine, or may do so. Windows signs the user in on
// that machine before it says whether there is such a file.
type AwayError struct {
	Path string // as it was asked for
	Link string // what leads away; "" if the path itself does
	To   string // where it leads; "" if that cannot be known
	Err  error  // why not, or nil
}

func (e *AwayError) Error() string {
	switch {
	case e.Err != nil:
		return fmt.Sprintf("%s is not looked at: where %s leads is not known (%v); take it away", e.Path, e.Link, e.Err)
	case OfWSL(e.To) && e.Link == "":
		return fmt.Sprintf("%s is not looked at: Windows asks the network for it where there is no WSL, and else starts that Linux; copy it to a drive of this machine", e.Path)
	case OfWSL(e.To):
		return fmt.Sprintf("%s is not looked at: the link %s leads to WSL (%s), for which Windows asks the network where there is none, and else starts that Linux; take the link away, or copy to its place what it leads to", e.Path, e.Link, e.To)
	case e.Link == "":
		return fmt.Sprintf("%s is not looked at: it is on another machine, and Windows would sign you in there; copy it to a drive of this machine", e.Path)
	}
	return fmt.Sprintf("%s is not looked at: the link %s leads to another machine (%s), and Windows would sign you in there; take the link away, or copy to its place what it leads to", e.Path, e.Link, e.To)
}

func (e *AwayError) Unwrap() error { return e.Err }

// maxLinks is the bound of Windows for the links of one path.
const maxLinks = 63

var errLoop = errors.New("too many links")

// Check returns an [*AwayError] if a path leads to another machine. It asks part by part, and so it asks
// nothing of another machine. The directories that the path shares with base are not looked at: Windows has
// gone through them to the working directory, and base is that. Both are absolute.
//
// A drive letter that stands for a directory of another machine is taken for a drive of this one: the user
// has signed in there.
func (w Way) Check(base, path string) error {
	root, names := split(base)
	here := append([]string{root}, names...)
	next, link := strings.ReplaceAll(path, "/", `\`), ""
	for range maxLinks {
		target, at, err := w.firstLink(here, next)
		if err != nil {
			e := &AwayError{Path: path, Link: at, Err: err}
			if errors.Is(err, errAway) {
				*e = AwayError{Path: path, Link: link, To: next}
			}
			return e
		}
		if target == "" {
			return nil
		}
		next, link = target, at
	}
	return &AwayError{Path: path, Link: link, Err: errLoop}
}

// errAway is the error of a path whose root is no drive of this machine.
var errAway = errors.New("another machine")

// firstLink returns the first link of a path and the path that takes its place, or "" if there is none.
func (w Way) firstLink(here []string, path string) (next, link string, err error) {
	root, names := split(path)
	shared := common(here, append([]string{root}, names...))
	if root == "" || shared == 0 && isAway(root) {
		return "", "", errAway
	}
	for i := max(0, shared-1); i < len(names); i++ {
		at := root + strings.Join(names[:i+1], `\`)
		if file, _, stream := strings.Cut(names[i], ":"); stream {
			at = strings.TrimSuffix(at, names[i]) + file // the stream of a link is that of its target
		}
		target, err := w.target(at, names[i])
		if err != nil {
			return "", at, err
		}
		if target == "" {
			continue
		}
		if target, err = placed(target, root, root+strings.Join(names[:i], `\`)); err != nil {
			return "", at, err
		}
		if rest := strings.Join(names[i+1:], `\`); rest != "" {
			target = strings.TrimRight(target, `\`) + `\` + rest
		}
		return target, at, nil
	}
	return "", "", nil
}

// target returns what a link says, or "" for what is no link and for what does not exist.
func (w Way) target(at, name string) (string, error) {
	if isDevice(name) {
		return "", nil
	}
	mode, err := w.Lstat(at)
	if err != nil || mode&(fs.ModeSymlink|fs.ModeIrregular) == 0 {
		return "", nil // nothing goes through what does not exist, nor through what has no name
	}
	target, err := w.Readlink(at)
	if err != nil && mode&fs.ModeSymlink == 0 && errors.Is(err, fs.ErrNotExist) {
		return "", nil // such as a file that OneDrive keeps elsewhere: Windows follows no name in it
	}
	if err == nil && target == "" {
		err = errors.New("it is empty")
	}
	return target, err
}

// placed returns the whole path of a link's target. root and dir are those of the link.
func placed(target, root, dir string) (string, error) {
	target = strings.ReplaceAll(target, "/", `\`)
	switch {
	case strings.HasPrefix(target, `\??\`):
		return `\\?\` + target[4:], nil
	case strings.HasPrefix(target, `\\`), len(target) > 2 && target[1] == ':' && target[2] == '\\':
		return target, nil
	case strings.HasPrefix(target, `\`):
		return root + strings.TrimLeft(target, `\`), nil
	case len(target) > 1 && target[1] == ':':
		return "", errors.New("it depends on the working directory of a drive")
	}
	return strings.TrimRight(dir, `\`) + `\` + target, nil
}

// split takes a path apart. The root ends with a backslash. It is a drive, a volume, the share of another
// machine, or "" for a path that has none of them. Names that go up are taken out, as Windows does before
// it looks at a path.
func split(path string) (root string, names []string) {
	path = strings.ReplaceAll(path, "/", `\`)
	if rest, ok := strings.CutPrefix(path, `\\?\`); ok && len(rest) > 1 && rest[1] == ':' {
		path = rest
	}
	switch {
	case len(path) > 1 && isLetter(path[0]) && path[1] == ':':
		root, path = strings.ToUpper(path[:2])+`\`, path[2:]
	case strings.HasPrefix(path, `\\`):
		parts := strings.SplitN(path[2:], `\`, 3)
		if root, path = `\\`+strings.Join(parts[:min(2, len(parts))], `\`)+`\`, ""; len(parts) == 3 {
			path = parts[2]
		}
	}
	for name := range strings.SplitSeq(path, `\`) {
		switch name {
		case "", ".":
		case "..":
			names = names[:max(0, len(names)-1)]
		default:
			names = append(names, name)
		}
	}
	return root, names
}

// isAway reports whether a root may be that of another machine. Those of volumes are not. Those of WSL are:
// where there is no WSL, Windows asks the network for a machine of that name.
func isAway(root string) bool {
	return strings.HasPrefix(root, `\\`) && !strings.HasPrefix(strings.ToLower(root), `\\?\volume{`)
}

// OfWSL reports whether a path has the form of those by which Windows shows the files of a Linux in WSL.
func OfWSL(p string) bool {
	p = strings.ToLower(strings.ReplaceAll(p, "/", `\`))
	return strings.HasPrefix(p, `\\wsl$\`) || strings.HasPrefix(p, `\\wsl.localhost\`)
}

func common(a, b []string) (n int) {
	for n < len(a) && n < len(b) && strings.EqualFold(a[n], b[n]) {
		n++
	}
	return n
}
