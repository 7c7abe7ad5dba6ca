package jail

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

const (
	// Patience is how long an interpreter that is asked for its version may take.
	Patience = 3 * time.Second

	maxVersion = 256 // bytes of its answer
)

// AskVersion runs an interpreter with --version in a jail without a network, and returns the
// beginning of its answer. The interpreter reads its installation, and writes only a directory
// that is removed afterwards.
func AskVersion(ctx context.Context, host *hostfs.Host, waive []policy.Axis, file string) (string, error) {
	dir, err := os.MkdirTemp("", "mcp-jail-version-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	j := &Jail{
		Host: *host, Dir: dir, Name: "version", Purpose: "asking " + file + " for its version", Path: []string{"/usr/bin", "/bin"},
		Limits: policy.Limits{MemoryMB: 1024, Processes: 64, OpenFiles: 256, FileSizeMB: 1, MessageMB: 1},
		Waive:  waive, Patience: Patience, NoStderr: true,
	}
	if err := os.MkdirAll(j.Home(), 0o700); err != nil {
		return "", err
	}
	out := &firstBytes{most: maxVersion}
	exit, _, err := j.Run(ctx, out, file, "--version")
	switch {
	// The caller has given up, and not the interpreter.
	case ctx.Err() != nil:
		return "", ctx.Err()
	case errors.Is(err, context.DeadlineExceeded):
		return "", fmt.Errorf("%s --version: it did not end within %v", file, Patience)
	case err != nil:
		return "", err
	case exit.Code != 0:
		return "", fmt.Errorf("%s --version: exit status %d", file, exit.Code)
	}
	return string(out.kept), nil
}

// firstBytes keeps the first bytes that are written to it.
type firstBytes struct {
	most int
	kept []byte
}

func (b *firstBytes) Write(p []byte) (int, error) {
	b.kept = append(b.kept, p[:min(len(p), b.most-len(b.kept))]...)
	return len(p), nil
}
