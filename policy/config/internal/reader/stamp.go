package reader

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"time"

	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// A Stamp tells whether the files of a configuration have changed since it was taken. Take it
// before the files are read.
type Stamp struct {
	files []stampedFile
	at    time.Time
}

type stampedFile struct {
	path string
	info os.FileInfo // nil: the file cannot be looked at, or does not exist
	at   time.Time   // when the file was changed last: see hostfs.ChangeTime
}

// Precision bounds how coarse the times of a file system may be. A file that was written so
// shortly before the stamp may have been written again since, and still have the same time.
const Precision = 50 * time.Millisecond

// Now returns the stamp of no files.
func Now() Stamp { return Stamp{at: time.Now()} }

// Add adds a file to the stamp.
func (s *Stamp) Add(path string) {
	f := stampedFile{path: path}
	if info, err := os.Stat(path); err == nil {
		f.info, f.at = info, hostfs.ChangeTime(info)
	}
	s.files = append(s.files, f)
}

// Changed returns the first file that may have changed since the stamp was taken, and the time of
// the change: the file's modification time, or now if it is gone.
func (s Stamp) Changed() (path string, at time.Time, changed bool) {
	for _, f := range s.files {
		info, err := os.Stat(f.path)
		switch {
		case err != nil && f.info == nil:
		case err != nil:
			return f.path, time.Now(), true
		case f.info == nil || !os.SameFile(info, f.info) || info.Size() != f.info.Size() || !hostfs.ChangeTime(info).Equal(f.at),
			// It may have been written again within the same tick of its clock.
			f.at.After(s.at.Add(-Precision)):
			return f.path, info.ModTime(), true
		}
	}
	return "", time.Time{}, false
}

// Age returns the time from the latest change of a file to the stamp, at most an hour.
func (s Stamp) Age() time.Duration {
	age := time.Hour
	for _, f := range s.files {
		if f.info != nil {
			age = min(age, s.at.Sub(f.at))
		}
	}
	return age
}

// Digest returns an identifier of a policy, or of a table of the configuration. It does not
// depend on places in a file.
func Digest(value any) string {
	// By way of JSON, since only there can places be taken out by their names.
	text, err := json.Marshal(value)
	var plain any
	if err == nil {
		err = json.Unmarshal(text, &plain)
	}
	if err == nil {
		text, err = json.Marshal(withoutPlaces(plain))
	}
	if err != nil {
		return err.Error()
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}

// withoutPlaces returns a JSON value without the members that name a place in a file. It changes
// the value.
func withoutPlaces(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for name, member := range v {
			_, text := member.(string)
			switch {
			case text && (name == "Where" || name == "where" || name == "PresetWhere"):
				delete(v, name)
			default:
				v[name] = withoutPlaces(member)
			}
		}
	case []any:
		for i := range v {
			v[i] = withoutPlaces(v[i])
		}
	}
	return value
}
