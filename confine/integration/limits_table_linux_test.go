package integration

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/confine/internal/attacker"
	"github.com/mcp-jail/mcp-jail/confine/internal/jailtest"
	"github.com/mcp-jail/mcp-jail/confine/internal/kernel"
	"github.com/mcp-jail/mcp-jail/confine/internal/kernel/kerneltest"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

// A resource is a row of the table in docs/limits.md, with an attempt to have more of it than a jail may.
type resource struct {
	what          string
	with, without string // what bounds it with a cgroup, and without one; without "" both are with
	limits        policy.Limits
	try           attacker.Attempt
	got, held     attacker.Outcome // what comes of the attempt without a cgroup, and with one; without held both are got
	recent        bool             // before Linux 6.6 a kernel may not have it at all
}

// ended is the outcome of an attempt for which memory_mb ends the jail or the process.
const ended attacker.Outcome = "ended"

const (
	memory = "`memory_mb`, by the kernel"
	sample = "`memory_mb`, by samples"
	naught = "**nothing** but `open_files` times `processes`"
)

func resources() []resource {
	small := policy.Limits{MemoryMB: 100}
	return []resource{
		{what: "memory of processes", with: memory, without: sample, limits: small, try: attacker.Try("allocate", "200"), got: ended},
		{what: "files in memory: memfd, /tmp, /dev/shm", with: memory, without: sample, limits: small, try: attacker.Try("allocate-memfd", "200"), got: ended},
		{what: "segments of System V", with: memory, without: sample, limits: small, try: attacker.Try("allocate-sysv", "200"), got: ended},
		{what: "messages of System V", with: memory, without: sample, limits: small, try: attacker.Try("fill-messages", "200"), got: ended},
		{what: "semaphores of System V", with: memory, without: "32,000 sets of 17 (`semget`: EINVAL)", try: attacker.Try("semaphores", "18"), got: "EINVAL"},
		{what: "page tables", with: memory, without: sample, limits: small, try: attacker.Try("allocate-pages", "100000"), got: ended},
		{what: "processes and threads", with: "`processes`, by the kernel", without: "`processes`: a PID namespace, or RLIMIT_NPROC", limits: policy.Limits{Processes: 40}, try: attacker.Try("fork-wait", "400"), got: "EAGAIN"},
		{what: "descriptors of a process", with: "`open_files` (RLIMIT_NOFILE)", limits: policy.Limits{OpenFiles: 40}, try: attacker.Try("openfiles"), got: "EMFILE"},
		{what: "instances of inotify", with: "a quarter of the user's, by the user namespace", try: attacker.Try("inotify", fmt.Sprint(mostInotify()+1)), got: "EMFILE"},
		{what: "terminals", with: "128 (`devpts`)", try: attacker.Try("terminals", "129"), got: "128 ENOSPC"},
		{what: "filters of sockets", with: "blocked (ENOPROTOOPT)", try: attacker.Try("socket-option", fmt.Sprint(unix.SOL_SOCKET), fmt.Sprint(unix.SO_ATTACH_FILTER)), got: "ENOPROTOOPT"},
		{what: "secret memory", with: "blocked (`memfd_secret`: ENOSYS)", try: attacker.Try("memfd-secret"), got: "ENOSYS", recent: true},
		{what: "extended attributes", with: "blocked (`setxattr`: EOPNOTSUPP)", try: attacker.Try("memfd-attribute"), got: "ENOTSUP", recent: true},
		{what: "rules of Landlock", with: "blocked (`landlock_create_ruleset`: ENOSYS)", try: attacker.Try("ruleset"), got: "ENOSYS"},
		{what: "connections that wait at a TCP socket", with: "128, where the jail has a network and a /proc of its own (4096 before Linux 6.4)", try: attacker.Try("backlog"), got: backlog()},
		{what: "the queue of a TCP socket", with: "1 MB, where the jail has a network and a /proc of its own; by `SO_RCVBUF` and `SO_SNDBUF` twice this machine's `net.core.rmem_max` and `wmem_max`, if that is more", try: attacker.Try("queue-tcp", fmt.Sprint(3<<20)), got: "EAGAIN"},
		{what: "pages that a message keeps", with: "blocked (`MSG_ZEROCOPY`: EOPNOTSUPP)", try: attacker.Try("send", fmt.Sprint(unix.MSG_ZEROCOPY)), got: "ENOTSUP"},
		{what: "pages of files in pipes", with: "blocked (`splice`, `tee`: EINVAL); `sendfile` as the next row", try: attacker.Try("splice", "/proc/self/exe"), got: "EINVAL"},
		{what: "queues of sockets; pipes, eventfds, filters of seccomp, watches of epoll", with: memory, without: naught, limits: small, try: attacker.Try("queues", "1000"), got: "ok", held: ended},
		{what: "records in the kernel's log (`SECCOMP_RET_LOG`)", with: "**nothing**", try: attacker.Try("log", "20"), got: "ok"},
	}
}

// resourceTable returns the text between the markers in docs/limits.md.
func resourceTable() string {
	var b strings.Builder
	b.WriteString("\n| resource | with a cgroup | without one |\n|---|---|---|\n")
	for _, r := range resources() {
		without := r.without
		if without == "" {
			without = "the same"
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", r.what, r.with, without)
	}
	return b.String() + "\n"
}

// TestResourceTable: docs/limits.md has the table of resources. -update writes it.
func TestResourceTable(t *testing.T) {
	const file, begin, end = "../../docs/limits.md", "<!-- resources: made by go test ./confine/integration -run TestResourceTable -update -->\n", "<!-- resources: end -->"
	text, err := os.ReadFile(file)
	if err != nil {
		testkit.Skip(t, "documents", "the documents are not here: %v", err)
	}
	head, rest, found := strings.Cut(string(text), begin)
	table, tail, closed := strings.Cut(rest, end)
	switch {
	case !found || !closed:
		t.Fatalf("%s has no markers", file)
	case testkit.Update():
		err = os.WriteFile(file, []byte(head+begin+resourceTable()+end+tail), 0o644)
	case table != resourceTable():
		err = fmt.Errorf("%s has another table of resources: run this test with -update", file)
	}
	testkit.Works(t, "", err)
}

// TestJailResources: what bounds a resource is what the table says, with a cgroup and without one. Each attempt
// has a bound of its own. Those without a limit of their profile share a jail.
func TestJailResources(t *testing.T) {
	jailtest.Needs(t)
	kerneltest.Needs(t, "fresh_proc")
	most := 2 << 20
	for _, name := range []string{"rmem_max", "wmem_max"} {
		text := testkit.Get(os.ReadFile("/proc/sys/net/core/" + name))(t)
		most += 2 * attacker.Number(strings.TrimSpace(string(text)))
	}
	tries := []attacker.Attempt{attacker.Try("read", "/proc/sys/user/max_inotify_watches"), attacker.Try("queue-tcp", fmt.Sprint(most), "large")}
	want := []attacker.Outcome{fmt.Sprintf("ok %d\n", kernel.Detect().Inotify.Watches/4), "EAGAIN"}
	held := !kernel.LocateCgroup().None()
	var free []attacker.Attempt
	for _, r := range resources() {
		if r.limits == (policy.Limits{}) {
			tries, want = append(tries, r.try), append(want, r.got)
			if !r.recent || kernel.Detect().FullCopies.Answer == kernel.Yes {
				free = append(free, r.try)
			}
			continue
		}
		t.Run(r.what, func(t *testing.T) {
			t.Parallel()
			if r.limits.Processes > 0 {
				rootNeedsPidMax(t)
			}
			want := r.got
			if held && r.held != "" {
				want = r.held
			}
			s := jailtest.Begin(t, limited(t, r.limits), r.try)
			exit := s.Finish()
			got := s.Out.String()
			if exit.Signal == unix.SIGKILL && denied(s.Process, "memory").Target == fmt.Sprint("memory_mb = ", r.limits.MemoryMB) {
				got = ended
			}
			// TestJailMemory and TestJailReportsLimits have the controls.
			testkit.Contains(t, fmt.Sprintf("(%+v); denials %+v, %.300s", exit, s.Denials(), s.Errs.Text), got, want)
		})
	}
	for i, got := range jailtest.Attempts(t, jailtest.Profile(t), tries...) {
		testkit.Contains(t, tries[i].String(), got, want[i])
	}
	for i, got := range jailtest.Unconfined(t, "/", free...) {
		if attacker.Holds(got) {
			t.Errorf("the control, without a jail: %s: %s", free[i], got)
		}
	}
}

// backlog returns how many connections wait at a listener of a jail.
func backlog() attacker.Outcome {
	if kernel.Detect().FullCopies.Answer != kernel.Yes && os.Getuid() != 0 { // this kernel may be older than 6.4
		return "ok "
	}
	return "ok 128"
}

// mostInotify returns how many instances of inotify a jail may have.
func mostInotify() int { return max(kernel.Detect().Inotify.Instances/4, 1) }
