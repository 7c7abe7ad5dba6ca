#!/usr/bin/env node
// Starts the program mcp-jail of this system's package, and passes on its arguments, streams,
// signals and exit status. Each system has a package of its own, @mcp-jail/SYSTEM-PROCESSOR:
// npm installs the one that fits.
"use strict";

const { spawn } = require("node:child_process");
const { constants } = require("node:os");
const { dirname, join } = require("node:path");
const { isatty } = require("node:tty");

const systems = ["linux", "darwin", "win32"];
const processors = ["x64", "arm64"];
const name = `@mcp-jail/${process.platform}-${process.arch}`;

// fail says why the program cannot be started, and ends with the status of a host on which no
// jail can be built.
function fail(...lines) {
  console.error(`mcp-jail: ${lines.join("\n  ")}`);
  process.exit(3);
}

// find returns the path of the program.
function find() {
  if (!systems.includes(process.platform)) {
    fail(
      `it does not run on ${process.platform}, only on Linux, macOS and Windows.`,
      "Run your MCP client in Linux: in a virtual machine or a container.",
    );
  }
  if (!processors.includes(process.arch)) {
    fail(
      `there is no package for the processor ${process.arch}, only for ${processors.join(" and ")}.`,
      "Build it with Go: CGO_ENABLED=0 go install github.com/mcp-jail/mcp-jail/cmd/...@latest",
    );
  }
  try {
    return join(dirname(require.resolve(`${name}/package.json`)), "bin", process.platform === "win32" ? "mcp-jail.exe" : "mcp-jail");
  } catch {
    return fail(
      `its package ${name} is missing: optional dependencies were left out, or node_modules comes from another system.`,
      "Install it again: npm install --include=optional mcp-jail",
    );
  }
}

const program = find();
let child;

// A terminal sends these two to every process in the foreground, so the program has them already. A console
// of Windows does so with all of its events, and there child.kill would end the program at once.
const fromTerminal = ["SIGINT", "SIGQUIT"];
const inTerminal = [0, 1, 2].some((fd) => isatty(fd)); // process.stdin would open what the program reads
const onWindows = process.platform === "win32";
for (const signal of onWindows ? ["SIGINT", "SIGBREAK", "SIGHUP"] : ["SIGTERM", "SIGHUP", ...fromTerminal]) {
  process.on(signal, () => {
    if (!onWindows && (!inTerminal || !fromTerminal.includes(signal))) child.kill(signal);
  });
}

// There is no shell between, so no word becomes a command.
child = spawn(program, process.argv.slice(2), { argv0: "mcp-jail", stdio: "inherit", windowsHide: true });
child.on("error", (error) => fail(`${program} cannot be executed: ${error.message}`));
child.on("exit", (status, signal) => {
  if (signal === null) process.exit(status);
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
  // Node ignores a few signals.
  setTimeout(() => process.exit(128 + constants.signals[signal]), 100);
});
