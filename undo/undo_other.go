//go:build !linux

package undo

import (
	"errors"
	"os"
	"time"
)

// errLinux is the error of the functions that only a jail needs. There are jails on Linux only.
var errLinux = errors.New("undo works on Linux only")

func (Store) Begin(Head) (*Writer, error)          { return nil, errLinux }
func (Store) Sessions() ([]*Session, error)        { return nil, nil }
func (Store) Empty() bool                          { return true }
func (Store) Expire(time.Duration, int64) []string { return nil }

type Writer struct{ Dir string }

func (*Writer) Jail([]string) (*Files, error) { return nil, errLinux }
func (*Writer) Close()                        {}
func (*Writer) ID() string                    { return "" }
func (*Writer) Room(int64) (_, _ int64)       { return 0, 0 }

type Files struct{ Journal, Data *os.File }

func (*Files) BeginCall(Call) error { return errLinux }
func (*Files) Finish() bool         { return false }
func (*Files) Finished() bool       { return true }

type Restorer struct{ Steps []Step }

func NewRestorer(*Session, Selection) (*Restorer, error) { return nil, errLinux }

func (*Restorer) Run(Store) ([]Outcome, string, error) { return nil, "", errLinux }

func (*Session) Events(Selection) []Event     { return nil }
func (*Session) Diff(Selection, Event) string { return "" }
