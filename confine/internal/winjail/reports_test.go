package winjail

import "testing"

// TestReportOf: of the messages of a job, two are about its limits. The numbers are those of winnt.h.
func TestReportOf(t *testing.T) {
	want := map[uint32]Report{3: ProcessesReached, 10: MemoryReached}
	for message := range uint32(16) {
		got, ok := reportOf(message)
		if r, known := want[message]; got != r || ok != known {
			t.Errorf("message %d: %v, %t", message, got, ok)
		}
	}
}
