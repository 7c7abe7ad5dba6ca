package records

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"
	"time"

	"github.com/mcp-jail/mcp-jail/internal/private"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// What the user was asked about a server in the client is in a directory of its own, which has the lock of that.
const (
	askedDir  = "asked"
	askedFile = "day.json"
)

// maxAsked is how many questions there are about a server on one day.
const maxAsked = 3

// Asked is what the user was asked about a server today.
type Asked struct {
	Day   string   `json:"day"`
	Count int      `json:"count"`
	No    []string `json:"no,omitempty"` // what was not allowed
}

// ReadAsked returns what the user was asked today.
func ReadAsked(host hostfs.Host, server string) (a Asked) {
	if d, err := Open(host, filepath.Join(server, askedDir)); err == nil {
		defer d.Close()
		a = d.asked()
	}
	return a
}

func (d Dir) asked() (a Asked) {
	today := time.Now().Format(time.DateOnly)
	text, err := d.ReadFile(askedFile, maxFile)
	if err != nil || json.Unmarshal(text, &a) != nil || a.Day != today {
		a = Asked{Day: today}
	}
	return a
}

// May reports whether there may be a question about something.
func (a Asked) May(what string) bool { return a.Count < maxAsked && !slices.Contains(a.No, what) }

// CountAsked counts a question. It returns false if there were too many today, or if the count cannot be kept.
func CountAsked(host hostfs.Host, server string) bool {
	counted := false
	err := changeAsked(host, server, func(a *Asked) {
		if counted = a.Count < maxAsked; counted {
			a.Count++
		}
	})
	return err == nil && counted
}

// NoteNo keeps that something was not allowed today.
func NoteNo(host hostfs.Host, server, what string) error {
	return changeAsked(host, server, func(a *Asked) {
		if !slices.Contains(a.No, what) {
			a.No = append(a.No, what)
		}
	})
}

// changeAsked changes the file. Sessions of one server do so one after the other.
func changeAsked(host hostfs.Host, server string, change func(*Asked)) error {
	d, err := makeDir(host, filepath.Join(server, askedDir))
	if err != nil {
		return err
	}
	defer d.Close()
	unlock, free := d.lock(private.Exclusive, patience)
	if !free {
		return errors.New("another session has it")
	}
	defer unlock()
	a := d.asked()
	change(&a)
	text, err := json.Marshal(a)
	if err != nil {
		return err
	}
	return d.Replace(askedFile, append(text, '\n'), private.How{})
}
