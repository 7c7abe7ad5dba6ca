//go:build !linux

package journal

import (
	"errors"
	"os"
	"time"
)

// ErrLinux is the error of the functions that only a jail needs. There are jails on Linux only.
var ErrLinux = errors.New("undo works on Linux only")

func (Store) Begin(Head) (*Writer, error)          { return nil, ErrLinux }
func (Store) Sessions() ([]*Session, error)        { return nil, nil }
func (Store) Empty() bool                          { return true }
func (Store) Expire(time.Duration, int64) []string { return nil }

type Writer struct{ Dir string }

func (*Writer) Jail([]string) (*Files, error) { return nil, ErrLinux }
func (*Writer) Close()                        {}
func (*Writer) ID() string                    { return "" }
func (*Writer) Room(int64) (_, _ int64)       { return 0, 0 }

type Files struct{ Journal, Data *os.File }

func (*Files) BeginCall(Call) error { return ErrLinux }
func (*Files) Finish() bool         { return false }
func (*Files) Finished() bool       { return true }

func (*Session) Events(Selection) []Event     { return nil }
func (*Session) Diff(Selection, Event) string { return "" }
