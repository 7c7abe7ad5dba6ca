// Prints which program npm chooses for generated package.json files: [file, name of the
// program, its target], with null where it chooses none. Its argument is the node_modules
// directory of npm.
const { join } = require('path')
const normalize = require(join(process.argv[2], 'npm-normalize-package-bin'))
const choose = require(join(process.argv[2], 'libnpmexec/lib/get-bin-from-manifest.js'))
let seed = 22
const random = n => (seed = (seed * 1103515245 + 12345) % 2147483648, Math.floor(seed / 65536) % n)
const pick = list => list[random(list.length)]
const target = () => pick(['a.js', './a.js', '/a.js', 'b.js', 'dist/../b.js', 'dist\\c.js', './dist//c.js', 'c/./d.js', '', 1, null])
const name = () => pick(['p', 'q', '@s/p', './p', 'x\\q', 'c:q', '..', '', 'Q'])
const bin = () => pick([target, () => [target(), target()].filter(t => typeof t === 'string'), object, object, object, object])()
const object = () => Object.fromEntries(Array.from({ length: random(4) }, () => [name(), target()]))
const out = []
for (let i = 0; i < 400; i++) {
  const manifest = { name: pick(['p', '@s/p', 'other']), bin: bin() }
  const text = JSON.stringify(manifest)
  const normal = normalize(JSON.parse(text))
  let program = null
  try { program = choose(normal) } catch {}
  out.push([text, program, program === null ? null : normal.bin[program]])
}
console.log('[' + out.map(line => '\n' + JSON.stringify(line)).join(',') + '\n]')
