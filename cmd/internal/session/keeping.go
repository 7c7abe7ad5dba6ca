package session

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

// UndoStore returns the store for the changes of a server. It lies beside the record of its last
// session, where the server cannot see it.
func UndoStore(host hostfs.Host, server string) undo.Store {
	return undo.Store{Dir: filepath.Join(records.Path(host, server), "undo"), Base: host.StateDir}
}

// keeping keeps the changes of a session. Only processes whose policy has undo take part.
type keeping struct {
	Store  undo.Store
	Server string // the name under which its things are kept
	Name   string // the name in its configuration

	Stateful bool // one process serves all calls
	Console  terminal.Console

	mu      sync.Mutex
	undo    policy.Undo  // of the last jail
	writer  *undo.Writer // nil before the first jail
	number  int          // of the last call
	running int          // calls
	failed  bool         // the journal of undo could not be written
}

// files returns the files for another process.
func (k *keeping) files(p *policy.Profile) (*confine.Kept, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.undo = p.Undo
	at := k.Store.Dir
	var err error
	if k.writer == nil {
		k.writer, err = k.Store.Begin(undo.Head{Server: k.Server})
	}
	if err == nil {
		at = k.writer.Dir
		kept := &confine.Kept{}
		if kept.Journal, kept.Data, err = k.writer.Files(writableRoots(p)); err == nil {
			return kept, nil
		}
	}
	return nil, fmt.Errorf("undo = %q: what server %q changes cannot be stored in %s: %w", k.undo.Mode, k.Name, at, err)
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
func (k *keeping) Start(p *policy.Profile, launcher confine.Launcher, start func(confine.Launcher) (*confine.Process, error)) (lifecycle.Process, error) {
	files, err := k.files(p)
	if err != nil {
		return nil, err
	}
	launcher.Kept = files
	process, err := start(launcher)
	if err != nil {
		closeFiles(files)
		return nil, err
	}
	return &keptProcess{Process: process, keeping: k, files: files, numbered: !k.Stateful || p.Undo.Mode == policy.UndoCall}, nil
}

func closeFiles(files *confine.Kept) {
	files.Journal.Close()
	files.Data.Close()
}

// keptProcess is a process whose changes are kept.
type keptProcess struct {
	*confine.Process
	keeping  *keeping
	files    *confine.Kept
	numbered bool // its changes can be told apart by the call

	mu   sync.Mutex
	call int // the number of the call that runs; 0: none, or one without a number
}

// Wait waits for the end of the process. If it has ended in its only call, what it has left is noted.
func (p *keptProcess) Wait() (confine.Exit, error) {
	exit, err := p.Process.Wait()
	closeFiles(p.files)
	if number := p.end(); number != 0 && !p.keeping.Stateful {
		p.keeping.noteCall(number)
	}
	return exit, err
}

// CallBegins implements lifecycle.CallObserver: the changes of the process from here on belong to
// a call. Calls that run at the same time, of one process or of several, have one number.
func (p *keptProcess) CallBegins(tool string, beside bool) {
	if p.numbered {
		p.mu.Lock()
		p.call = p.keeping.begin(tool, p.call == 0)
		p.mu.Unlock()
	}
	if !beside {
		p.tell(false)
	}
}

// CallEnds implements lifecycle.CallObserver.
func (p *keptProcess) CallEnds() {
	p.tell(true)
	p.end()
}

func (p *keptProcess) tell(ends bool) {
	if err := p.KeepCall(ends); err != nil && !errors.Is(err, os.ErrProcessDone) {
		p.keeping.Console.Sayf("undo: what server %q changes in this call could not be noted in time, so mcp-jail undo will ask about it (%s)", p.keeping.Name, err)
	}
}

// end says that no call of the process runs, and returns the number of the one that did.
func (p *keptProcess) end() (number int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if number, p.call = p.call, 0; number != 0 {
		p.keeping.end()
	}
	return number
}

// begin returns the number of a call that begins. first says that its process has no other one.
func (k *keeping) begin(tool string, first bool) int {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.writer == nil {
		return 0
	}
	if k.running == 0 {
		k.number++
	}
	if first {
		k.running++
	}
	k.write(undo.Call{Number: k.number, Tool: tool})
	return k.number
}

func (k *keeping) end() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.running--; k.running == 0 && k.writer != nil {
		k.write(undo.Call{})
	}
}

func (k *keeping) write(c undo.Call) {
	if err := k.writer.BeginCall(c); err != nil {
		k.failed = true
		k.Console.Sayf("undo: the journal of server %q cannot be written: %s", k.Name, err)
	}
}

func (k *keeping) noteCall(number int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.writer != nil {
		k.writer.NoteCall(number)
	}
}

// Close ends the keeping of the session. Unlike End, it removes nothing of other sessions.
func (k *keeping) Close() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.close()
}

// close reports whether a process has taken part. The caller holds k.mu.
func (k *keeping) close() bool {
	if k.writer == nil {
		return false
	}
	k.writer.Close()
	k.writer = nil
	return true
}

// End ends the keeping of the session. It removes the oldest kept sessions if they are too old or take
// too much room.
func (k *keeping) End() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.close() {
		return
	}
	gone := k.Store.Expire(policy.UndoDays*24*time.Hour, int64(k.undo.TotalMB)<<20)
	for _, id := range gone {
		k.Console.Sayf("undo: what was stored of session %s of server %q was removed (after %d days, or beyond undo_total_mb = %d)", id, k.Name, policy.UndoDays, k.undo.TotalMB)
	}
}

// changes says how much the server has changed, and how to see it; "" if nothing. log gets each change.
func (k *keeping) changes(log *Log) string {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.writer == nil {
		return ""
	}
	s, err := k.Store.Session(k.writer.ID())
	if err != nil {
		log.changed(nil, false)
		return ""
	}
	events := s.Events(undo.Selection{})
	log.changed(events, !s.Damaged && !k.failed)
	n := len(events)
	if n == 0 {
		return ""
	}
	changes := "1 change"
	if n > 1 {
		changes = fmt.Sprintf("%d changes", n)
	}
	return fmt.Sprintf("%s made %s in your files. To restore them: %s", show.Name(k.Name), changes, show.Typed("mcp-jail undo", k.Server))
}
