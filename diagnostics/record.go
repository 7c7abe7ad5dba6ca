package diagnostics

import "time"

// RecordVersion is the version of the record's format.
const RecordVersion = 1

// Record is one session, as `mcp-jail why` reads it.
type Record struct {
	Version   int         `json:"version"`
	Time      time.Time   `json:"time"`
	Server    string      `json:"server"`
	Tool      string      `json:"tool,omitempty"`
	Profile   string      `json:"profile"` // digest of the profile: see Digest
	Warnings  []string    `json:"warnings,omitempty"`
	Waived    []string    `json:"waived,omitempty"` // one line for each gap that the user accepted
	Denials   []Denial    `json:"denials,omitempty"`
	Diagnoses []Diagnosis `json:"diagnoses,omitempty"`
}

// Encode returns the record as the content of its file.
func (r Record) Encode() ([]byte, error) { return nil, nil }

// DecodeRecord reads what Encode wrote.
func DecodeRecord(data []byte) (Record, error) { return Record{}, nil }

// Words tells the session in words, for `mcp-jail why`.
func (r Record) Words() string { return "" }
