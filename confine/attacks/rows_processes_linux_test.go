package attacks

// processAttacks are attacks on processes of the host and on the jail's init, on privileges, and
// on descriptors and variables that a careless launcher leaves open.
func processAttacks() []attackGroup {
	leaks := []world{wallDescriptors}
	return []attackGroup{
		{"Processes of the host", []attack{
			{what: "signal one, also by thread and by descriptor", hostNSSince: 6, forms: []string{"signal PID 0", "signal PID 18", "signal-thread PID", "queue-signal PID", "pidfd-signal PID"}},
			{what: "see that it is there", forms: []string{"stat /proc/PID", "read /proc/PID/cmdline", "read /proc/PID/status", "read /proc/PID/comm", "exists-pid PID", "session-of PID", "pidfd-open PID", "all-procs", "readlink /proc/PID/exe"}},
			{what: "trace it", forms: []string{"seize PID", "call ptrace 0x4206 PID 0 0"}},
			{what: "read or write its memory", forms: []string{"peek PID", "poke PID", "open /proc/PID/mem", "write /proc/PID/mem", "read /proc/PID/maps", "open /proc/PID/pagemap", "move-pages PID", "list /proc/PID/map_files", "reaches EINVAL process_vm_readv PID 0 0 0 0 1", "reaches EINVAL process_vm_writev PID 0 0 0 0 1"}},
			{what: "its environment, descriptors, root and directory", forms: []string{
				"read /proc/PID/environ", "list /proc/PID/fd", "read /proc/PID/auxv", "list /proc/PID/root/", "list /proc/PID/cwd/", "open /proc/PID/exe", "open /proc/PID/fd/2", "pidfd-getfd PID", "read /proc/PID/io", "read /proc/PID/mountinfo", "readlink /proc/PID/root",
			}},
			{what: "compare it with oneself (kcmp)", forms: []string{"kcmp PID"}},
			{what: "its limits, priority and processors", forms: []string{"set-limit PID", "nice PID", "ionice PID", "processors PID", "scheduler PID", "call setpriority 0 PID 5", "call ioprio_set 1 PID 0x4004", "call prlimit64 PID 7 0 #16"}},
			{what: "the priority of all processes of the user", forms: []string{"reaches ESRCH setpriority 2 54321 0", "reaches ESRCH ioprio_set 3 54321 0x4004"}},
			{what: "what the kernel does to it (oom_score_adj, coredump_filter, timerslack)", forms: []string{"write /proc/PID/oom_score_adj", "write /proc/PID/coredump_filter", "write /proc/PID/timerslack_ns", "write /proc/PID/clear_refs", "write /proc/PID/comm"}},
			{what: "enter its namespaces", forms: []string{"setns /proc/PID/ns/mnt", "setns /proc/PID/ns/net", "setns /proc/PID/ns/uts", "setns /proc/PID/ns/pid", "open /proc/PID/ns/user", "pidfd-setns PID"}},
			{what: "measure it (perf)", forms: []string{"perf PID"}},
		}},
		{"The jail's own init (the control is made on the process that started it)", []attack{
			// Without Landlock's scope the end of the jail is all that comes of it: the kernel
			// neither stops nor kills an init for those in its namespace.
			{what: "signal it", since: 6, forms: []string{"signal INIT 0", "signal INIT 18", "pidfd-signal INIT", "signal-thread INIT", "queue-signal INIT"}},
			{what: "trace it, read or write its memory", forms: []string{"seize INIT", "peek INIT", "poke INIT", "open /proc/INIT/mem", "write /proc/INIT/mem", "read /proc/INIT/maps", "open /proc/INIT/pagemap", "read /proc/INIT/auxv", "list /proc/INIT/map_files", "call ptrace 0x4206 INIT 0 0", "kcmp INIT"}},
			{what: "its descriptors: the spec, the status pipe", forms: []string{
				"open /proc/INIT/fd/0", "open /proc/INIT/fd/1", "write /proc/INIT/fd/1", "readlink /proc/INIT/fd/0", "list /proc/INIT/fdinfo", "pidfd-getfd INIT", "open /proc/INIT/task/INIT/fd/1",
			}},
			{what: "its root, directory, environment, program, namespaces", forms: []string{
				"list /proc/INIT/root/", "list /proc/INIT/cwd/", "read /proc/INIT/environ", "open /proc/INIT/exe", "readlink /proc/INIT/exe", "setns /proc/INIT/ns/mnt", "setns /proc/INIT/ns/uts", "readlink /proc/INIT/ns/mnt", "list /proc/INIT/task/INIT/root/", "pidfd-setns INIT",
			}},
			{what: "its limits, its priority", forms: []string{"set-limit INIT", "nice INIT", "ionice INIT", "call prlimit64 INIT 7 0 #16", "write /proc/INIT/oom_score_adj"}},
			{what: "which numbers its descriptors have", allowed: "to root, numbers and nothing else: neither what they are nor a way to them", forms: []string{"list /proc/INIT/fd"}},
			{what: "on which processors its thread runs, and when", forms: []string{"processors INIT", "scheduler INIT"}},
		}},
		{"Privileges", []attack{
			{what: "become another user", forms: []string{"setuid", "setgid", "setgroups"}},
			{what: "get a capability back", forms: []string{"capset", "ambient", "securebits"}},
			{what: "run a set-id program, or one with file capabilities", forms: []string{"ids-of SETID", "ids-of CAPFILE", "gains"}},
			{what: "change the host's name or clock", forms: []string{
				"reaches EFAULT sethostname 1 4", "reaches EFAULT setdomainname 1 4", "reaches EFAULT settimeofday 1 0", "reaches EFAULT clock_settime 0 1", "reaches EINVAL sethostname 0 -1",
			}},
			{what: "raise one's own limits", forms: []string{"call setpriority 0 0 -5", "call ioprio_set 1 0 0x2000"}},
		}},
		{"What was left open", []attack{
			{what: "a directory outside, an open socket, the user's terminal: inherited descriptors", walls: leaks, forms: []string{
				"descriptor DIRFD", "read-beneath DIRFD secret", "descriptor SOCKETFD", "descriptor TTYFD", "any-descriptor", "open /proc/self/fd/DIRFD",
			}},
			{what: "the descriptors on which the spec came and the status goes", walls: leaks, forms: []string{"descriptor 3", "descriptor 4", "open /proc/self/fd/3", "write /proc/self/fd/4"}},
			{what: "a token in the environment of the launcher", walls: []world{wallEnvironment}, forms: []string{"variable MCPJAIL_ATTACK_TOKEN"}},
		}},
		{"What belongs to a user, not to a path", []attack{
			{what: "shared memory of System V and POSIX", forms: []string{"shmget IPCKEY", "shm-attach IPCKEY", "shm-any SHMID", "read HOSTSHM", "call shmget IPCKEY 0 0", "read-mapped HOSTSHM"}},
			{what: "semaphores and message queues of System V, queues of POSIX", forms: []string{"semaphore IPCKEY", "messages IPCKEY", "mqopen QUEUE", "call semget IPCKEY 0 0", "call msgget IPCKEY 0", "call mq_open @QUEUE 0", "list /dev/mqueue"}},
			{what: "a queue of POSIX of one's own, which is counted as the user's", forms: []string{"mqmake QUEUE-made"}},
			{what: "the user's keys", forms: []string{"key-find KEYNAME", "key-add", "keyring", "read /proc/keys", "read /proc/key-users", "call keyctl 0 -4 0", "call keyctl 0 -3 1", "reaches EFAULT add_key 1 1 1 1 -4", "reaches EFAULT request_key 1 1 1 -4"}},
			{what: "type into a terminal", forms: []string{"type", "sticky-input", "terminal-of TERMINAL"}},
			{what: "the user's terminals by name", forms: []string{"write TERMINAL", "open TERMINAL", "stat TERMINAL", "chmod TERMINAL"}},
			{what: "paste from the console, change a line discipline", forms: []string{"paste", "line-discipline", "console"}},
		}},
	}
}
