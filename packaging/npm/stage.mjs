// Writes the npm packages of a release, ready for npm pack:
//
//   node stage.mjs VERSION OUT linux-x64=PROGRAMS darwin-arm64=PROGRAMS ...
//
// PROGRAMS is a directory with the three programs for that system and processor, as node names
// them. OUT gets mcp-jail, and linux-x64 and so on, which are @mcp-jail/linux-x64 and so on.
import { chmodSync, cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const [version, out, ...platforms] = process.argv.slice(2);
if (!out || platforms.length === 0) {
  console.error("usage: node stage.mjs VERSION OUT SYSTEM-PROCESSOR=PROGRAMS...");
  process.exit(2);
}
const systems = { linux: "Linux", darwin: "macOS", win32: "Windows" };
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
  const [target, programs] = platform.split("=");
  const [system, processor] = target.split("-");
  if (!systems[system] || !programs) {
    console.error(`stage.mjs: ${platform} is no system with its programs`);
    process.exit(2);
  }
  const name = `@mcp-jail/${target}`;
  const dir = join(out, target);
  dependencies[name] = version;
  write(dir, {
    ...common,
    name,
    version,
    description: `The programs of mcp-jail for ${systems[system]} on ${processor}`,
    files: ["bin", "THIRD_PARTY_LICENSES"],
    os: [system],
    cpu: [processor],
    preferUnplugged: true,
  });
  mkdirSync(join(dir, "bin"), { recursive: true });
  for (const name of ["mcp-jail", "mcp-jail-cli", "mcp-jail-tls"]) {
    const program = system === "win32" ? `${name}.exe` : name;
    cpSync(join(programs, program), join(dir, "bin", program));
    chmodSync(join(dir, "bin", program), 0o755);
  }
  writeFileSync(join(dir, "README.md"), `The programs of mcp-jail for ${systems[system]} on ${processor}.\n`);
}
cpSync(join(here, "mcp-jail"), join(out, "mcp-jail"), { recursive: true });
write(join(out, "mcp-jail"), { ...launcher, version, files: ["bin", "THIRD_PARTY_LICENSES"], optionalDependencies: dependencies });
