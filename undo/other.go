//go:build !linux

package undo

import "github.com/mcp-jail/mcp-jail/undo/internal/journal"

type Restorer struct{ Steps []Step }

func NewRestorer(*Session, Selection) (*Restorer, error) { return nil, journal.ErrLinux }

func (*Restorer) Run(Store) ([]Outcome, string, error) { return nil, "", journal.ErrLinux }
