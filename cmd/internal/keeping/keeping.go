// Package keeping keeps what the server of a session changes, for mcp-jail undo. Package undo has the
// files; this one knows sessions and their processes.
package keeping

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/mcp-jail/mcp-jail/cmd/internal/records"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/lifecycle"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
	"github.com/mcp-jail/mcp-jail/undo"
)

// Store returns the store for the changes of a server. It lies beside the record of its last
// session, where the server cannot see it.
func Store(host hostfs.Host, server string) undo.Store {
	return undo.Store{Dir: filepath.Join(records.Path(host, server), "undo"), Base: host.StateDir}
}

// Session keeps the changes of a session. Only processes whose policy has undo take part.
type Session struct {
	Store  undo.Store
	Server string // the name under which its things are kept
	Name   string // the name in its configuration

	Stateful bool // one process serves all calls
	Console  terminal.Console

	mu     sync.Mutex
	undo   policy.Undo  // of the last jail
	writer *undo.Writer // nil before the first jail
	files  []*undo.Files
	calls  int
}

func (k *Session) jail(p *policy.Profile) (*undo.Files, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.undo = p.Undo
	if k.writer == nil {
		var err error
		k.writer, err = k.Store.Begin(undo.Head{Server: k.Server})
		if err != nil {
			return nil, fmt.Errorf("undo = %q: what server %q changes cannot be kept in %s: %w", k.undo.Mode, k.Name, k.Store.Dir, err)
		}
	}
	files, err := k.writer.Jail(writableRoots(p))
	if err != nil {
		return nil, fmt.Errorf("undo = %q: what server %q changes cannot be kept in %s: %w", k.undo.Mode, k.Name, k.writer.Dir, err)
	}
	// Of the jails that have ended, nothing is left to do.
	k.files = append(slices.DeleteFunc(k.files, (*undo.Files).Finished), files)
	return files, nil
}

// room returns how many bytes another process of the session may keep, in all and in its journal:
// the part of the totals that the others have left. Processes that run at the same time do not
// see how much each of them takes later.
func (k *Session) room() (all, journal int64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.writer == nil {
		return 1, 1
	}
	return k.writer.Room(int64(k.undo.TotalMB) << 20)
}

func writableRoots(p *policy.Profile) (roots []string) {
	for _, e := range p.Entries {
		if e.Origin == policy.OriginRule && e.Rights&policy.Write != 0 && !slices.ContainsFunc(roots, func(r string) bool { return policy.Within(e.Path, r) }) {
			roots = append(roots, e.Path)
		}
	}
	return roots
}

// Start starts a process by start, and keeps what it changes.
func (k *Session) Start(p *policy.Profile, launcher confine.Launcher, start func(confine.Launcher) (*confine.Process, error)) (lifecycle.Process, error) {
	files, err := k.jail(p)
	if err != nil {
		return nil, err
	}
	launcher.Kept = &confine.Kept{Journal: files.Journal, Data: files.Data}
	launcher.Kept.Bytes, launcher.Kept.JournalBytes = k.room()
	process, err := start(launcher)
	if err == nil {
		if err = confine.Undumpable(); err != nil {
			process.Kill()
		}
	}
	if err != nil {
		files.Finish()
		return nil, err
	}
	return &keptProcess{Process: process, keeping: k, files: files, mode: p.Undo.Mode}, nil
}

// keptProcess is a process whose changes are kept.
type keptProcess struct {
	*confine.Process
	keeping *Session
	files   *undo.Files
	mode    string // see policy.Undo
}

// Wait waits for the end of the process, and then finishes its files.
func (p *keptProcess) Wait() (confine.Exit, error) {
	exit, err := p.Process.Wait()
	p.files.Finish()
	return exit, err
}

// CallBegins implements lifecycle.CallObserver: the changes of the process from here on belong to
// a call.
func (p *keptProcess) CallBegins(tool string, beside bool) {
	if p.keeping.Stateful && p.mode != policy.UndoCall {
		return // it is not known then which change belongs to which call
	}
	p.keeping.mu.Lock()
	p.keeping.calls++
	n := p.keeping.calls
	p.keeping.mu.Unlock()
	if p.files.BeginCall(undo.Call{Number: n, Tool: tool, Beside: beside}) != nil || p.mode != policy.UndoCall {
		return
	}
	if err := p.KeepOpen(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		p.keeping.Console.Sayf("undo: what call %d of server %q writes to files that it has open may count as an earlier call's: they could not be kept in time (%s)", n, p.keeping.Name, err)
	}
}

// Close ends the keeping of the session. Unlike End, it removes nothing of other sessions.
func (k *Session) Close() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.close()
}

// close reports whether a process has taken part. The caller holds k.mu.
func (k *Session) close() bool {
	if k.writer == nil {
		return false
	}
	for _, f := range k.files {
		f.Finish()
	}
	k.writer.Close()
	k.writer = nil
	return true
}

// End ends the keeping of the session. It removes the oldest kept sessions if they are too old or take
// too much room.
func (k *Session) End() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.close() {
		return
	}
	gone := k.Store.Expire(policy.UndoDays*24*time.Hour, int64(k.undo.TotalMB)<<20)
	for _, id := range gone {
		k.Console.Sayf("undo: what was kept of session %s of server %q was removed (after %d days, or beyond undo_total_mb = %d)", id, k.Name, policy.UndoDays, k.undo.TotalMB)
	}
}

// Changes says how much the server has changed, and how to see it; "" if nothing.
func (k *Session) Changes() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.writer == nil {
		return ""
	}
	s, err := k.Store.Session(k.writer.ID())
	if err != nil {
		return ""
	}
	n := len(s.Events(undo.Selection{}))
	if n == 0 {
		return ""
	}
	changes := "1 change"
	if n > 1 {
		changes = fmt.Sprintf("%d changes", n)
	}
	return fmt.Sprintf("server %q made %s in your files (`%s` lists them, `%s` restores your files)", k.Name, changes, show.Typed("mcp-jail undo --list", k.Server), show.Typed("mcp-jail undo", k.Server))
}
