// Writes the npm packages of a release, ready for npm pack:
//
//   node stage.mjs VERSION OUT x64=PROGRAMS arm64=PROGRAMS
//
// PROGRAMS is a directory with the three programs for Linux on that processor. OUT gets
// mcp-jail, and linux-x64 and linux-arm64, which are @mcp-jail/linux-x64 and so on.
import { chmodSync, cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const [version, out, ...platforms] = process.argv.slice(2);
if (!out || platforms.length === 0) {
  console.error("usage: node stage.mjs VERSION OUT PROCESSOR=PROGRAMS...");
  process.exit(2);
}
const here = dirname(fileURLToPath(import.meta.url));
const root = join(here, "..", "..");
const launcher = JSON.parse(readFileSync(join(here, "mcp-jail", "package.json"), "utf8"));
const { keywords, bin, engines, ...common } = launcher;

// write writes a package: its package.json, and the texts that each package has.
function write(dir, about) {
  mkdirSync(dir, { recursive: true });
  writeFileSync(join(dir, "package.json"), JSON.stringify(about, null, 2) + "\n");
  for (const text of ["LICENSE", "THIRD_PARTY_LICENSES"]) cpSync(join(root, text), join(dir, text));
}

const dependencies = {};
for (const platform of platforms) {
  const [processor, programs] = platform.split("=");
  const name = `@mcp-jail/linux-${processor}`;
  const dir = join(out, `linux-${processor}`);
  dependencies[name] = version;
  write(dir, {
    ...common,
    name,
    version,
    description: `The programs of mcp-jail for Linux on ${processor}`,
    files: ["bin", "THIRD_PARTY_LICENSES"],
    os: ["linux"],
    cpu: [processor],
    preferUnplugged: true,
  });
  mkdirSync(join(dir, "bin"), { recursive: true });
  for (const program of ["mcp-jail", "mcp-jail-cli", "mcp-jail-tls"]) {
    cpSync(join(programs, program), join(dir, "bin", program));
    chmodSync(join(dir, "bin", program), 0o755);
  }
  writeFileSync(join(dir, "README.md"), `The programs of mcp-jail for Linux on ${processor}.\n`);
}
cpSync(join(here, "mcp-jail"), join(out, "mcp-jail"), { recursive: true });
write(join(out, "mcp-jail"), { ...launcher, version, files: ["bin", "THIRD_PARTY_LICENSES"], optionalDependencies: dependencies });
