//go:build linux

package main

import (
	"path/filepath"
	"strings"
	"testing"
)

const javaProgram = `
import java.net.*;
import java.nio.file.*;
import java.util.*;
import java.util.concurrent.*;
import java.util.stream.*;

public class Main {
	public static void main(String[] args) throws Exception {
		long sum = 0; // long enough to be compiled
		for (int i = 0; i < 50_000_000; i++) sum += i % 7;
		List<Future<Long>> parts = new ArrayList<>();
		ExecutorService pool = Executors.newFixedThreadPool(8);
		for (int i = 0; i < 8; i++) parts.add(pool.submit(() -> LongStream.range(0, 1000).sum()));
		for (Future<Long> part : parts) if (part.get() != 499500) throw new Error();
		pool.shutdown();
		Path file = Files.createTempFile("x", "y");
		Files.writeString(file, "text");
		Process child = new ProcessBuilder("cat", file.toString()).start();
		String text = new String(child.getInputStream().readAllBytes());
		try (ServerSocket server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
				Socket client = new Socket(server.getInetAddress(), server.getLocalPort())) {
			server.accept().close();
		}
		System.out.println(text + " " + (sum > 0) + " " + Files.readString(Path.of(args[0])));
	}
}
`

// TestJava tests a Java virtual machine, which compiles at run time, keeps a file in /tmp
// for its tools, and starts dozens of threads.
func TestJava(t *testing.T) {
	need(t, "node", "javac")
	t.Parallel()
	java := func(t *testing.T, w *world) recipe {
		w.plant(t, w.base, map[string]string{"server/package.json": "{}", "server/Main.java": javaProgram, "work/in.txt": "read"})
		return nodeServer(t, w, "reader")
	}
	checkRecipe(t, java, func(t *testing.T, w *world, s *clientSession) toolResult {
		main := filepath.Join(w.base, "server", "Main.java")
		r := s.tool("run", map[string]any{"argv": []string{"java", main, filepath.Join(w.work, "in.txt")}})
		if !r.IsError && strings.TrimSpace(r.texts()) != "text true read" {
			t.Errorf("%s", r.texts())
		}
		return r
	})

	w := newWorld(t)
	s := nodeSession(t, w)
	w.plant(t, w.work, map[string]string{"Main.java": javaProgram, "in.txt": "read"})
	s.mustRun("javac", "Main.java")
	s.mustRun("sh", "-c", "java Main in.txt && ls -d /tmp/hsperfdata_*")
	// ZGC keeps its heap in a memfd of the maximum size of the heap, by default a quarter of
	// the machine.
	s.mustRun("java", "-XX:+UseZGC", "-Xmx512m", "Main", "in.txt")
	s.mustFail("File too large", "java", "-XX:+UseZGC", "-Xmx2g", "Main", "in.txt")
	s.close()
}
