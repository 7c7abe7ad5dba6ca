package hostfs

import (
	"path"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// The disks of macOS find a name under other spellings: another letter case, or another Unicode
// form of the same letters. The kernel compares the rules of a jail with the spelling that the
// directory lists, so a canonical path there has that spelling, byte for byte. The functions of this
// file do nothing on other systems.

// dataVolume is where macOS mounts the volume with all that is not the system. Firmlinks show parts of
// it in their usual places too, such as /Users.
const dataVolume = "/System/Volumes/Data"

// spelled returns the name of an object of a canonical directory as the directory lists it.
func (f *LinkResolver) spelled(dir, name string, info FileInfo) string {
	h := f.host
	if h.OS != "darwin" || h.ReadDir == nil {
		return name
	}
	if h.recording != nil { // it records the answer, and not the whole directory
		h = &h.recording.host
	}
	entries, known := f.spellings[dir]
	if !known {
		entries, _ = h.ReadDir(dir) // without a listing, the name stays as it is
		if f.spellings == nil {
			f.spellings = map[string][]DirEntry{}
		}
		f.spellings[dir] = entries
	}
	listed := listedName(h, entries, dir, name, info)
	if f.host.recording != nil {
		f.host.recording.add("spelling of "+name, askSpelling(name, info), dir, digestBytes([]byte(listed), nil))
	}
	return listed
}

// listedName returns the name among entries that leads to the same object as name. It returns name if
// there is none, or if several could be meant.
func listedName(h *Host, entries []DirEntry, dir, name string, info FileInfo) string {
	if contains(entries, name) {
		return name
	}
	same := func(e DirEntry) bool {
		other, err := h.Lstat(path.Join(dir, e.Name))
		return err == nil && info.ID.Ino != 0 && other.ID == info.ID
	}
	key := spellingKey(name)
	for _, e := range entries {
		if spellingKey(e.Name) == key && same(e) {
			return e.Name
		}
	}
	// A filesystem may know more spellings than spellingKey, all of them beyond ASCII.
	found := ""
	for _, e := range entries {
		if (isASCII(name) && isASCII(e.Name)) || !same(e) {
			continue
		}
		if found != "" {
			return name // two names of one object
		}
		found = e.Name
	}
	if found == "" {
		return name
	}
	return found
}

// spellingKey is equal for names that differ in their case or their Unicode form alone.
func spellingKey(name string) string { return strings.ToLower(norm.NFD.String(name)) }

func isASCII(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r >= utf8.RuneSelf })
}

func askSpelling(name string, info FileInfo) func(*Host, string) uint64 {
	return func(h *Host, dir string) uint64 {
		entries, _ := h.ReadDir(dir)
		return digestBytes([]byte(listedName(h, entries, dir, name, info)), nil)
	}
}

// firmlinked returns the usual name of an object on the data volume of macOS, or the path itself.
func (f *LinkResolver) firmlinked(p string, info FileInfo) string {
	usual, inside := strings.CutPrefix(p, dataVolume)
	if f.host.OS != "darwin" || !inside || !strings.HasPrefix(usual, "/") || info.ID.Ino == 0 {
		return p
	}
	if s := f.Lstat(usual); s.Err == nil && s.Info.ID == info.ID {
		dir, name := Split(usual)
		return path.Join(dir, f.spelled(dir, name, info))
	}
	return p
}
