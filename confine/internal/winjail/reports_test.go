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

// TestHas: a report counts where the job itself has the limit, and not one inside it alone.
func TestHas(t *testing.T) {
	for r, in := range map[Report]Input{ProcessesReached: {Processes: 1}, MemoryReached: {MemoryMB: 1}} {
		if !in.Has(r) || in.Has(ProcessesReached+MemoryReached-r) || (Input{NoChildren: true}).Has(r) {
			t.Errorf("%d: %+v", r, in)
		}
	}
}
