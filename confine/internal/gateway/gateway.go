//go:build linux || darwin

package gateway

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/confine/egress"
	"github.com/mcp-jail/mcp-jail/confine/egress/tlsworker"
	"github.com/mcp-jail/mcp-jail/confine/internal/kernel"
	planpkg "github.com/mcp-jail/mcp-jail/confine/internal/plan"
	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/confine/internal/sys"
	"github.com/mcp-jail/mcp-jail/policy"
)

// stepTLS is the step of a start that starts mcp-jail-tls.
const stepTLS = "requests"

// receiveTimeout is how long mcp-jail-tls may take to notice that the jail has ended.
const receiveTimeout = 200 * time.Millisecond

// FindTLS looks for mcp-jail-tls and for the host's bundles of certificate authorities, if the
// profile has rules about requests.
func FindTLS(f *kernel.Facts, p *policy.Profile) {
	if !planpkg.NeedsInterception(p.Net) {
		return
	}
	program, err := findTLS(p)
	if err != nil {
		f.TLSProgram = kernel.Unavailable(err.Error(), "")
		return
	}
	f.TLSProgram = kernel.Available(program)
	for _, name := range planpkg.SystemBundles {
		// The jail's bundle is mounted over the file itself, not over a symbolic link to it.
		if file, err := filepath.EvalSymlinks(name); err == nil && !slices.Contains(f.Bundles, file) {
			f.Bundles = append(f.Bundles, file)
		}
	}
}

func findTLS(p *policy.Profile) (program string, err error) {
	self, _ := os.Executable()
	if program, err = tlsworker.Find(self, os.Getenv("PATH"), p.Writer); err == nil {
		err = tlsworker.CheckRoots(p.Writer)
	}
	if err == nil && !isSelfContained(program) {
		err = fmt.Errorf("%s needs libraries, which its jail has not: build it with CGO_ENABLED=0", program)
	}
	return program, err
}

// Interceptor is the process mcp-jail-tls of one jail.
type Interceptor struct {
	*tlsworker.Worker
	End func() // calls Close, once
}

// Close closes the gateway of a jail that has ended, and then its interceptor. Either may be nil.
func Close(network *egress.Gateway, interceptor *Interceptor) {
	if network != nil {
		if interceptor != nil { // its last request must not keep the session from ending
			timeout := time.AfterFunc(receiveTimeout, interceptor.Kill)
			defer timeout.Stop()
		}
		network.Close()
	}
	if interceptor != nil {
		interceptor.End()
	}
}

// A Runner starts mcp-jail-tls in a jail of its own, with two files as its standard input and output.
type Runner func(ctx context.Context, program string, in, out *os.File) (tlsworker.Process, error)

// startWorker starts mcp-jail-tls, and has it trust the host's authorities.
func startWorker(ctx context.Context, run Runner, program string, o tlsworker.Options) (w *tlsworker.Worker, err error) {
	if o.Roots, err = hostRoots(); err != nil {
		return nil, err
	}
	o.Run = func(ctx context.Context, in, out *os.File) (tlsworker.Process, error) {
		return run(ctx, program, in, out)
	}
	if w, err = tlsworker.Start(ctx, o); err != nil {
		return nil, fmt.Errorf("%s: %w", program, err)
	}
	return w, nil
}

// systemDirs are where systems keep each authority in a file of its own.
var systemDirs = []string{"/etc/ssl/certs", "/etc/pki/tls/certs"}

// hostRoots returns the certificates of the authorities that the host trusts, in PEM. What a user of macOS adds to
// a keychain is not among them.
func hostRoots() ([]byte, error) {
	files, dirs := planpkg.SystemBundles, filepath.SplitList(os.Getenv("SSL_CERT_DIR"))
	if named := os.Getenv("SSL_CERT_FILE"); named != "" {
		files = []string{named}
	}
	var all bytes.Buffer
	var failed error
	for _, name := range files {
		b, err := readSmall(name, maxBundle)
		if certificates(&all, string(b)); err == nil {
			break
		}
		failed = cmp.Or(failed, err)
	}
	if all.Len() == 0 && len(dirs) == 0 {
		dirs = systemDirs
	}
	for _, dir := range dirs {
		entries, _ := os.ReadDir(dir)
		for _, e := range entries {
			b, _ := readSmall(filepath.Join(dir, e.Name()), maxBundle)
			certificates(&all, string(b))
		}
	}
	if all.Len() == 0 {
		return nil, fmt.Errorf("no certificate authority of the host can be read: %w", cmp.Or(failed, os.ErrNotExist))
	}
	return all.Bytes(), nil
}

// StartTLS starts mcp-jail-tls if the plan needs it, and adds its certificate authority to the
// jail's files. It returns nil if the plan does not need it. ended is called if the process ends before the jail.
func StartTLS(ctx context.Context, plan *planpkg.Plan, s *spec.Spec, run Runner, ended func(error)) (*Interceptor, error) {
	t, p := plan.TLS, plan.Profile
	if t.Program == "" {
		return nil, nil
	}
	secrets, err := readSecrets(ctx, p, true)
	if err != nil {
		return nil, refused(err)
	}
	program, err := startWorker(ctx, run, t.Program, tlsworker.Options{Setup: tlsworker.Setup{Rules: p.Net, Secrets: secrets, Leaks: leaksOf(p)}, Ended: ended})
	if err != nil {
		return nil, refused(err)
	}
	s.Files = slices.Clone(s.Files)
	for i := range s.Files {
		switch f := &s.Files[i]; {
		case slices.Contains(t.CABundles, f.Path):
			f.Content = authorities(p, program.CA(), append(slices.Clone(t.CABundles), planpkg.SystemBundles...), policy.AuthorityVariables)
		case f.Path == t.CAFile:
			f.Content = authorities(p, program.CA(), nil, []string{planpkg.NodeAuthorities})
		}
	}
	return &Interceptor{program, sync.OnceFunc(program.Close)}, nil
}

// CheckTLS returns the error of StartTLS about a secret. It starts nothing: what a command of the user's prints is not
// known.
func CheckTLS(plan *planpkg.Plan) error {
	if plan.TLS.Program == "" {
		return nil
	}
	if _, err := readSecrets(context.Background(), plan.Profile, false); err != nil {
		return refused(err)
	}
	return nil
}

func refused(err error) error {
	return &sys.Error{Step: stepTLS, Errno: sys.Errno(err), Detail: err.Error()}
}

// authorities returns the certificates of the first file that exists, of the files that the
// profile's variables name, and own. The launcher reads these files with rights that the server
// does not have, and the server may influence the variables. So only certificates pass.
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

// maxBundle is the largest bundle that is read, in bytes. The bundles of systems are smaller.
const maxBundle = 16 << 20

func certificates(w *bytes.Buffer, text string) {
	const begin, end = "-----BEGIN CERTIFICATE-----", "-----END CERTIFICATE-----"
	at := -1 // where the current certificate begins in w
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

// readSmall reads a regular file of at most so many bytes. It returns an error for any other file,
// and does not block on a pipe.
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
		return nil, errors.New("it is not a regular file, or too large")
	}
	return io.ReadAll(io.LimitReader(f, most))
}

// New returns the gateway of a jail. The rules, their limits and what concerns TLS are those of the profile, and
// the other options those of o. The interceptor is nil if no rule concerns requests.
func New(profile *policy.Profile, interceptor *Interceptor, run Runner, o egress.Options) *egress.Gateway {
	o.Rules = profile.Net
	proxy := &tlsworker.Proxy{Start: func(ctx context.Context) (*tlsworker.Worker, error) {
		program, err := findTLS(profile)
		if err != nil {
			return nil, err
		}
		return startWorker(ctx, run, program, tlsworker.Options{})
	}}
	o.StartTLS, o.EndTLS = proxy.StartTLS, proxy.Close
	if interceptor == nil {
		o.Rules = Rules(profile.Net)
		return egress.New(o)
	}
	o.Interceptor = interceptor
	return egress.New(o)
}
