package tlsworker

import (
	"fmt"
	"os"
	"strings"

	"github.com/landlock-lsm/go-landlock/landlock"
	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
)

// enterLandlockDomain puts all threads of the process into a Landlock domain without
// rules. The domain denies all that this kernel's Landlock handles: opening files, ports, UNIX
// sockets of other processes, and signals to them. It is a second layer after the seccomp filter.
// On a kernel without Landlock, enterLandlockDomain does nothing.
func enterLandlockDomain() error {
	abi, err := ll.LandlockGetABIVersion()
	if err != nil {
		return nil
	}
	if abi < threadSyncABI {
		status, err := os.ReadFile("/proc/self/status")
		if err != nil {
			return err
		}
		if err := checkSignalQueue(string(status)); err != nil {
			return err
		}
	}
	errata, err := ll.LandlockGetErrata()
	if err != nil {
		errata = 0 // the kernel is older than the query
	}
	if err := domain(abi, errata).BestEffort().Restrict(); err != nil {
		return fmt.Errorf("landlock: %w", err)
	}
	return nil
}

const (
	// threadSyncABI is the first ABI in which the kernel itself restricts all threads.
	threadSyncABI = 8
	// scopeErratum is the bit of erratum 2. Its fix lets threads in different domains signal
	// one another if they belong to one process (landlock(7)).
	scopeErratum = 1 << (2 - 1)
)

// domain returns the accesses that are denied. Below threadSyncABI each thread has a domain of
// its own. Without the fix of scopeErratum a scope of signals would then keep Go from interrupting
// its own threads, so domain leaves the scopes out.
func domain(abi, errata int) landlock.Config {
	if abi < threadSyncABI && errata&scopeErratum == 0 {
		return landlock.V5
	}
	return landlock.V11
}

// checkSignalQueue returns an error if the kernel may be unable to queue one signal for
// each thread. Below threadSyncABI Go reaches its threads by real-time signals, and waits forever
// for a signal that was not queued (EAGAIN of tgkill(2)). The argument is the text of
// /proc/self/status.
func checkSignalQueue(status string) error {
	var threads, queued, limit int
	for line := range strings.Lines(status) {
		fmt.Sscanf(line, "Threads: %d", &threads)
		fmt.Sscanf(line, "SigQ: %d/%d", &queued, &limit)
	}
	if queued+2*threads > limit { // threads may start meanwhile
		return fmt.Errorf("%d of the %d signals that may be queued for this user are queued, and restricting %d threads takes one for each: end the processes that do not take their signals, or raise the limit (ulimit -i)", queued, limit, threads)
	}
	return nil
}
