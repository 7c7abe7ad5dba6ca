// hostile-starts COUNT ECHO ENV: eight threads start programs, COUNT in all, while others rewrite
// the memory that execve reads. By turns it is the argument of ECHO, the environment of ENV, and
// all of that with the path, the name and the pointers. What is started prints to standard output.
// The last line on standard error says how many programs ended well, were killed, and did neither.
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { launchers = 8 };

struct words {
	char path[64], name[64], arg[64], evil[64], variable[64];
	char *argv[3], *envp[2];
	volatile int round;
	char stack[64 << 10];
} all[launchers];

static const char *echo, *env;
static long left, good, killed, other;

static void reset(struct words *w, int round)
{
	w->round = round;
	strcpy(w->path, echo);
	strcpy(w->name, "echo");
	strcpy(w->arg, "good");
	strcpy(w->evil, "evil");
	strcpy(w->variable, "GOOD=yes");
	w->argv[0] = w->name, w->argv[1] = w->arg, w->argv[2] = 0;
	w->envp[0] = w->variable, w->envp[1] = 0;
	if (round % 3 == 1)
		strcpy(w->path, env), strcpy(w->name, "env"), w->argv[1] = 0;
}

static int start(void *arg)
{
	struct words *w = arg;
	execve(w->path, w->argv, w->envp);
	_exit(1);
}

static void *launch(void *arg)
{
	struct words *w = arg;
	for (int round = 0; __atomic_fetch_sub(&left, 1, __ATOMIC_RELAXED) > 0; round++) {
		reset(w, round);
		// The new process has the memory of this one until it executes a program.
		int status, pid = clone(start, w->stack + sizeof w->stack, CLONE_VM | CLONE_VFORK | SIGCHLD, w);
		if (pid < 0 || waitpid(pid, &status, 0) < 0) {
			perror("clone");
			exit(1);
		}
		long *count = WIFSIGNALED(status) ? &killed : status == 0 ? &good : &other;
		__atomic_fetch_add(count, 1, __ATOMIC_RELAXED);
	}
	return 0;
}

// rewrite changes the words of one launcher for ever. It yields, so that on few processors the
// launchers get their turn.
static void *rewrite(void *arg)
{
	struct words *w = arg;
	for (unsigned i = 0;; i++) {
		memcpy(w->arg, i % 2 ? "evil" : "good", 4);
		memcpy(w->variable, i % 2 ? "EVIL" : "GOOD", 4);
		if (w->round % 3 == 2) {
			strcpy(w->path, i / 2 % 2 ? env : echo);
			strcpy(w->name, i / 2 % 2 ? "env" : "echo");
			((char *volatile *)w->argv)[1] = i % 3 == 0 ? w->arg : i % 3 == 1 ? w->evil : 0;
		}
		if (i % 61 == 0)
			sched_yield();
	}
	return 0;
}

int main(int argc, char **argv)
{
	if (argc != 4)
		return 2;
	left = atol(argv[1]), echo = argv[2], env = argv[3];
	struct timespec begin, end;
	clock_gettime(CLOCK_MONOTONIC, &begin);
	pthread_t threads[launchers], rewriter;
	for (int i = 0; i < launchers; i++) {
		reset(&all[i], 0);
		if (pthread_create(&rewriter, 0, rewrite, &all[i]) || pthread_create(&threads[i], 0, launch, &all[i]))
			return 1;
	}
	for (int i = 0; i < launchers; i++)
		pthread_join(threads[i], 0);
	clock_gettime(CLOCK_MONOTONIC, &end);
	double seconds = end.tv_sec - begin.tv_sec + (end.tv_nsec - begin.tv_nsec) / 1e9;
	fprintf(stderr, "\ngood %ld killed %ld other %ld in %.1f s\n", good, killed, other, seconds);
	return 0;
}
