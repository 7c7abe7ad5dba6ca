package gateway

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcp-jail/mcp-jail/confine/egress/tlsworker"
	planpkg "github.com/mcp-jail/mcp-jail/confine/internal/plan"
	"github.com/mcp-jail/mcp-jail/confine/internal/probe"
	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/confine/internal/step"
	"github.com/mcp-jail/mcp-jail/policy"
	"golang.org/x/sys/unix"
)

// stepRequests is the start of the process that ends TLS.
const StepTLS = "requests"

// findTerminator asks what only rules about requests need to know.
func FindTLS(f *probe.Host, p *policy.Profile) {
	if !planpkg.NeedsInterception(p.Net) {
		return
	}
	self, _ := os.Executable()
	program, err := tlsworker.Find(self, os.Getenv("PATH"), p.Writer)
	if err == nil {
		err = tlsworker.CheckRoots(p.Writer)
	}
	if err != nil {
		f.TLSProgram = probe.Unavailable(err.Error(), "")
		return
	}
	f.TLSProgram = probe.Available(program)
	for _, name := range planpkg.SystemBundles {
		// In a jail no link leads there: what is covered is the file itself.
		if file, err := filepath.EvalSymlinks(name); err == nil && !slices.Contains(f.Bundles, file) {
			f.Bundles = append(f.Bundles, file)
		}
	}
}

// terminator is the process that ends TLS for one jail, with what it was given.
type Interceptor struct {
	*tlsworker.Worker
	Secrets map[string]string
	End     func() // Close, once
}

// startTerminator starts it where the plan wants one, and puts its authority where
// the jail's programs look.
func StartTLS(ctx context.Context, plan *planpkg.Plan, order *spec.Spec) (*Interceptor, error) {
	t, p := plan.TLS, plan.Profile
	if t.Program == "" {
		return nil, nil
	}
	refused := func(err error) (*Interceptor, error) {
		return nil, &step.Error{Step: StepTLS, Errno: step.Errno(err), Detail: err.Error()}
	}
	secrets, err := readSecrets(ctx, p)
	if err != nil {
		return refused(err)
	}
	program, err := tlsworker.Start(tlsworker.Options{Program: t.Program, Rules: p.Net, Secrets: secrets, Connections: p.Limits.Connections})
	if err != nil {
		return refused(err)
	}
	order.Files = slices.Clone(order.Files)
	for i := range order.Files {
		switch f := &order.Files[i]; {
		case slices.Contains(t.CABundles, f.Path):
			f.Content = authorities(p, program.CA(), append(slices.Clone(t.CABundles), planpkg.SystemBundles...), planpkg.AuthorityVariables)
		case f.Path == t.CAFile:
			f.Content = authorities(p, program.CA(), nil, []string{planpkg.NodeAuthorities})
		}
	}
	return &Interceptor{program, secrets, sync.OnceFunc(program.Close)}, nil
}

// authorities are those of the first file that there is, those that the profile's
// variables name, and own. Of a file the jail gets certificates alone: it is read with
// rights that the server has not, and the server may be who says what it is.
func authorities(p *policy.Profile, own []byte, files, variables []string) string {
	var all bytes.Buffer
	add := func(name string) bool {
		b, err := readSmall(name, maxBundle)
		certificates(&all, string(b))
		return err == nil
	}
	for _, name := range files {
		if add(name) {
			break
		}
	}
	for _, v := range p.Env {
		if slices.Contains(variables, v.Name) && !slices.Contains(files, v.Value) {
			add(v.Value)
		}
	}
	all.Write(own)
	return all.String()
}

// maxBundle is more than a system's authorities have together.
const maxBundle = 16 << 20

// certificates writes those that are in text (RFC 7468), and nothing else of it.
func certificates(w *bytes.Buffer, text string) {
	const begin, end = "-----BEGIN CERTIFICATE-----", "-----END CERTIFICATE-----"
	at := -1 // in w, where one begins
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch {
		case line == begin:
			if at >= 0 {
				w.Truncate(at)
			}
			at = w.Len()
		case at < 0:
			continue
		case line != end && strings.Trim(line, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=") != "":
			w.Truncate(at)
			at = -1
			continue
		}
		w.WriteString(line + "\n")
		if line == end {
			at = -1
		}
	}
	if at >= 0 {
		w.Truncate(at)
	}
}

// readSmall reads a regular file. It waits for nobody, as who opens a pipe would.
func readSmall(name string, most int64) ([]byte, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, err
	}
	return readFile(f, most)
}

func readFile(f *os.File, most int64) ([]byte, error) {
	defer f.Close()
	if info, err := f.Stat(); err != nil {
		return nil, err
	} else if !info.Mode().IsRegular() || info.Size() > most {
		return nil, errors.New("it is no small file")
	}
	return io.ReadAll(io.LimitReader(f, most))
}

// openPlain opens the file at a canonical path; a symbolic link anywhere in it is an error
// (ELOOP). It goes step by step: not every kernel, nor every filter, has openat2.
func openPlain(name string) (*os.File, error) {
	const way = unix.O_PATH | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC
	fd, err := unix.Open("/", way, 0)
	dir, base := path.Split(path.Clean(name))
	for part := range strings.FieldsFuncSeq(dir, func(r rune) bool { return r == '/' }) {
		if err != nil {
			break
		}
		at := fd
		fd, err = unix.Openat(at, part, way, 0)
		unix.Close(at)
	}
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: name, Err: err}
	}
	defer unix.Close(fd)
	file, err := unix.Openat(fd, base, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: name, Err: err}
	}
	return os.NewFile(uintptr(file), name), nil
}

// secretTime bounds a command that prints a secret: it may ask its user.
const secretTime = time.Minute

// maxSecret is more than any has.
const maxSecret = 64 << 10

// readSecrets reads the values of a profile's secrets. They stay in the memory of this
// process and of the one that puts them in.
func readSecrets(ctx context.Context, p *policy.Profile) (map[string]string, error) {
	values := map[string]string{}
	for _, s := range p.Secrets {
		value, err := readSecret(ctx, s)
		if err != nil {
			return nil, fmt.Errorf("the secret %s from %s: %w", s.Env, s.Source(), err)
		}
		values[s.Env] = strings.TrimRight(value, "\r\n")
		if values[s.Env] == "" {
			return nil, fmt.Errorf("the secret %s from %s is empty", s.Env, s.Source())
		}
	}
	return values, nil
}

func readSecret(ctx context.Context, s policy.Secret) (string, error) {
	switch {
	case s.File != "":
		// The path is canonical: openPlain refuses a link that was put into it since.
		f, err := openPlain(s.File)
		if err != nil {
			return "", err
		}
		b, err := readFile(f, maxSecret)
		return string(b), err
	case s.Command != nil:
		return runSecret(ctx, s)
	}
	return os.Getenv(s.Env), nil
}

// runSecret runs the program that was found for a command, where no server could have
// put it: nothing is looked up anew.
func runSecret(ctx context.Context, s policy.Secret) (string, error) {
	if s.Program == "" {
		return "", fmt.Errorf("%s was not found, or cannot be executed", s.Command[0])
	}
	ctx, cancel := context.WithTimeout(ctx, secretTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, s.Program, s.Command[1:]...)
	cmd.Args[0], cmd.Dir, cmd.WaitDelay = s.Command[0], "/", time.Second
	cmd.Env = append(slices.DeleteFunc(os.Environ(), func(e string) bool {
		name, _, _ := strings.Cut(e, "=")
		return name == "PATH" || slices.Contains(s.Unset, name)
	}), "PATH="+s.Path)
	out, err := cmd.Output()
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case err != nil && s.Unset != nil:
		return "", fmt.Errorf("%w; it ran without %s, which lead to where a server may write", err, strings.Join(s.Unset, ", "))
	case err != nil:
		return "", err // without what it said, which could have the value in it
	case len(out) > maxSecret:
		return "", errors.New("it says too much")
	}
	return string(out), nil
}
