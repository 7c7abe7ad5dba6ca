//go:build !linux

package undo

import (
	"errors"
	"os"
	"time"
)

// errLinux is the error of the functions that only a jail needs. Only those of Linux keep anything.
var errLinux = errors.New("undo works on Linux only")

func (Store) Begin(Head) (*Writer, error)             { return nil, errLinux }
func (Store) Session(string) (*Session, error)        { return nil, errLinux }
func (Store) Sessions() ([]*Session, []string, error) { return nil, nil, nil }
func (Store) Empty() bool                             { return true }
func (Store) Expire(time.Duration, int64) []string    { return nil }

type Writer struct{ Dir string }

func (*Writer) Files([]string) (_, _ *os.File, _ error) { return nil, nil, errLinux }
func (*Writer) BeginCall(Call) error                    { return errLinux }
func (*Writer) NoteCall(int)                            {}
func (*Writer) Close()                                  {}
func (*Writer) ID() string                              { return "" }

func (*Session) now(string) (state, error)       { return state{}, errLinux }
func (*Session) shown(*state) ([]byte, error)    { return nil, errLinux }
func (*Session) shownNow(string) ([]byte, error) { return nil, errLinux }

type restorer struct{ Steps []Step }

func NewRestorer(*Session, Selection, func(string) string) *restorer { return &restorer{} }

func (*restorer) Run() (string, error) { return "", errLinux }
