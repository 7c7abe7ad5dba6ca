// Prints what node-semver, the package that npm carries, decides about pairs of a range and
// a version: [range, version, in the range, in the range as engines are checked], with null
// where the range is invalid. Its argument is the directory of that package.
const semver = require(process.argv[2])
let seed = 22
const random = n => (seed = (seed * 1103515245 + 12345) % 2147483648, Math.floor(seed / 65536) % n)
const pick = list => list[random(list.length)]

const number = () => pick(['0', '0', '1', '1', '2', '2', '3', '10', '18', '20'])
const pre = () => pick(['', '', '', '', '-0', '-alpha', '-alpha.1', '-beta.2', '-rc.10', '-1.2'])
const version = () => `${number()}.${number()}.${number()}${pre()}`
const part = () => pick([number, number, number, () => pick(['x', 'X', '*'])])()
const partial = () => pick([version, version, number, () => `${number()}.${number()}`,
  () => `${number()}.${pick(['x', '*'])}`, () => `${number()}.${number()}.x`, () => `${part()}.${part()}.${part()}`,
  () => pick(['*', 'x', '', 'v1.2.3', '=1.2', 'v2', '1.2.3+build.7', '01.2.3', '1.2.3.4', '1.2-beta'])])()
const operator = () => pick(['', '', '^', '^', '~', '~', '>=', '>=', '>', '<', '<=', '=', '~>', '> ', '^ ', '~ ', '>= '])
const set = () => pick([
  () => operator() + partial(), () => operator() + partial(), () => operator() + partial(),
  () => `${pick(['>=', '>'])}${partial()} ${pick(['<', '<='])}${partial()}`,
  () => `${partial()} - ${partial()}`,
  () => `${partial()}  -  ${partial()} <3`,
])()
const range = () => pick([set, set, set, () => `${set()} || ${set()}`, () => `${set()}||${set()}`, () => ` ${set()}\t`])()

const ranges = ['', '*', '||', '1 ||', '>', '<*', '>x', '>=*', '^*', '~x', '^', '~', '- 2', '1 -2', '> > 1', '> =1', 'latest', 'v1', '== 1.2', '==1.2',
  '^1.2.3-beta.2', '>=0.0.0', '>=0.0.0-0', '<0.0.0-0', '^0', '^0.0', '^0.0.3', '^0.1', '~0', '1.x.3', 'x.1', '^1.x.3', '1.2.3 - 1', '1.2.3-a+b - 2+c',
  '>=18', '>=18.0.0', '^18 || ^20 || >=22', '^20.19.0 || >=22.12.0', '>=20 <21', '20 || 22', '>= 18.17.0 <= 20', '9007199254740992', '1.2.3+', '+1',
  '1.2.3 = 4', '1.2.3||', '1 2', '1,2', '1.2.3 -  2.0.0', '0.x - x']
const versions = ['0.0.0', '0.0.0-0', '0.0.3', '0.1.0', '1.2.3', '1.2.3-beta.2', '1.2.4-alpha', '2.0.0', '2.0.0-rc.1', '18.0.0', '20.19.1', '22.0.0-nightly2025', '24.1.0']
const out = []
const ask = (r, v) => {
  const one = o => { try { new semver.Range(r, o) } catch { return null } return semver.satisfies(v, r, o) }
  out.push([r, v, one({}), one({ includePrerelease: true })])
}
for (const r of ranges) for (let i = 0; i < 4; i++) ask(r, pick(versions))
while (out.length < 1200) {
  const r = range(), m = r.match(/\d+\.\d+\.\d+/g)
  // Versions at the bounds of the range tell more than others.
  for (const v of [version(), m ? pick(m) : version(), m ? pick(m) + pick(['-0', '-alpha', '-beta.1']) : pick(versions)]) if (semver.valid(v)) ask(r, v)
}
console.log('[' + out.map(line => '\n' + JSON.stringify(line)).join(',') + '\n]')
