// Prints what node-semver, the package that npm carries, decides about pairs of a range and a release:
// [range, version, in the range as engines are checked], with null where the range is invalid. Its argument is
// the directory of that package. The ranges are those that packages write.
const semver = require(process.argv[2])
let seed = 22
const random = n => (seed = (seed * 1103515245 + 12345) % 2147483648, Math.floor(seed / 65536) % n)
const pick = list => list[random(list.length)]

const number = () => pick([0, 0, 1, 2, 10, 14, 16, 18, 20, 22, 24])
const version = () => `${number()}.${number()}.${number()}`
const partial = () => pick([version, version, number, number, () => `${number()}.${number()}`,
  () => `${number()}.${pick(['x', '*'])}`, () => `${number()}.x.x`, () => `${number()}.${number()}.x`, () => `v${version()}`])()
const operator = () => pick(['', '', '^', '^', '~', '>=', '>=', '>=', '>', '<', '<=', '=', '> ', '^ ', '>= '])
const ordered = () => [version(), version()].sort(semver.compare)
const set = () => pick([
  () => operator() + partial(), () => operator() + partial(), () => operator() + partial(),
  () => { const [a, b] = ordered(); return `${pick(['>=', '>'])}${a} ${pick(['<', '<='])}${b}` },
  () => ordered().join(' - '),
])()
const range = () => pick([set, set, set, () => `${set()} || ${set()}`, () => `${set()}||${set()} || ${set()}`, () => ` ${set()}\t`])()

const ranges = ['', '*', 'x', '>=*', '^0', '^0.0', '^0.0.3', '^0.1', '~0', '>=18', '>=18.0.0', '^18 || ^20 || >=22', '^20.19.0 || >=22.12.0',
  '>=20 <21', '20 || 22', '>= 18.17.0 <= 20', 'latest', 'lts/*', '>', '>= node', '1,2', '1.2.3.4']
const versions = ['0.0.3', '0.1.0', '1.2.3', '18.0.0', '20.19.1', '22.0.0', '24.1.0']
const out = []
const ask = (r, v) => {
  const o = { includePrerelease: true }
  let fits = null
  try { new semver.Range(r, o); fits = semver.satisfies(v, r, o) } catch {}
  out.push([r, v, fits])
}
for (const r of ranges) for (const v of versions) ask(r, v)
while (out.length < 600) {
  const r = range(), m = r.match(/\d+\.\d+\.\d+/g)
  for (const v of [version(), m ? pick(m) : pick(versions)]) ask(r, v) // versions at the bounds tell more
}
console.log('[' + out.map(line => '\n' + JSON.stringify(line)).join(',') + '\n]')
