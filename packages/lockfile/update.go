package lockfile

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

const (
	lockWait   = 30 * time.Second // for another change, which takes milliseconds
	maxRetries = 20
)

// Update changes a lock file. It reads the file, calls change, and replaces the file in one
// step: a reader, and a crash, find either the old text or the new one. Changes of several
// processes follow one another, and none is lost. Update creates the file (mode 0644) and
// its directory (0700) if necessary, and writes nothing if the text stays the same or change
// returns an error. change may be called several times, each time with the file as it is.
func Update(name string, change func(*File) error) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	if _, err := Read(name); err != nil { // before anything is done in a directory of another user
		return err
	}
	real, err := readlink(name)
	if err != nil {
		return err
	}
	unlock, err := lockDir(filepath.Dir(real), lockWait)
	if errors.Is(err, errBusy) {
		return fmt.Errorf("%s was not changed: another process has held the lock of its directory for %s; end that process, or try again", name, lockWait)
	}
	if err != nil {
		return fmt.Errorf("%s was not changed: its directory cannot be locked: %w", name, err)
	}
	defer unlock()
	for range maxRetries {
		if done, err := updateOnce(name, real, change); done || err != nil {
			return err
		}
	}
	return fmt.Errorf("%s was not changed: another program changes it all the time", name)
}

// CanUpdate returns an error if Update could not change a lock file now, because it is not valid
// or its directory cannot be written. It creates the directory if necessary.
func CanUpdate(name string) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return fmt.Errorf("%s cannot be written: %w", name, err)
	}
	if _, err := Load(name); err != nil {
		return err
	}
	real, err := readlink(name)
	if err != nil {
		return err
	}
	tmp, err := createTemp(name, real)
	if err != nil {
		return err
	}
	return errors.Join(tmp.Close(), os.Remove(tmp.Name()))
}

// createTemp creates the file that replaces a lock file.
func createTemp(name, real string) (*os.File, error) {
	tmp, err := os.CreateTemp(filepath.Dir(real), "."+FileName+".*")
	if err != nil {
		return nil, fmt.Errorf("%s cannot be written: %w", name, err)
	}
	return tmp, nil
}

// updateOnce does one round. done is false if the file was changed meanwhile, by a program
// without the lock.
func updateOnce(name, real string, change func(*File) error) (done bool, err error) {
	before, err := Read(name)
	if err != nil {
		return false, err
	}
	f, err := Parse(before, name)
	if err != nil {
		return false, err
	}
	if err := change(f); err != nil {
		return false, err
	}
	after, err := f.Encode()
	if err != nil {
		return false, err
	}
	if bytes.Equal(before, after) {
		return true, nil
	}
	tmp, err := createTemp(name, real)
	if err != nil {
		return false, err
	}
	defer os.Remove(tmp.Name()) // of no effect after the rename
	_, err = tmp.Write(after)
	for _, step := range []func() error{func() error { return tmp.Chmod(0o644) }, tmp.Sync} {
		if err == nil {
			err = step()
		}
	}
	if closed := tmp.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return false, fmt.Errorf("%s was not changed: %w", name, err)
	}
	if now, err := Read(name); err != nil || !bytes.Equal(now, before) {
		return false, err
	}
	if err := os.Rename(tmp.Name(), real); err != nil {
		return false, err
	}
	return true, syncDir(filepath.Dir(real))
}
